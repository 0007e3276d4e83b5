"""A program taken in parts: each begins with nothing known but what the one before has been proved to hand on, so that none multiplies
the ways of another, and a circle is one round of it.
"""

import copy
from dataclasses import dataclass

import z3

from machine import Machine, Pointer, State, Unproved, number_of, put
from theorem import follows, holds, obligations
from words import WORD, is_known, wide, word


@dataclass
class Arrival:
    """Somebody has come to where a part ends: the state, what each of the numbers is that the next part knows, and what is known
    of all who come so."""

    state: State
    numbers: dict
    facts: list


@dataclass(frozen=True)
class Same:
    """What a register or a word of the stack has, however one came: a number or a pointer that is always the same, or one of the
    numbers, by name. A pointer may go on by so many bytes in each round."""

    name: str | None = None
    known: int = 0
    region: str | None = None
    stride: tuple | None = None
    is_any: bool = False

    def fits(self, value, arrival):
        if self.is_any:
            return not isinstance(value, Pointer)
        if isinstance(value, Pointer) != (self.region is not None):
            return False
        if self.region is not None and value.region != self.region:
            return False
        wanted, number = self.value_of(arrival.numbers), value
        if isinstance(value, Pointer):
            wanted, number = wanted.offset, value.offset
        return z3.is_true(z3.simplify(wanted == number)) or holds(wanted == number, *arrival.facts)

    def value_of(self, numbers):
        if self.is_any:
            return z3.FreshConst(WORD, "any")
        if self.name:
            return wide(numbers[self.name])
        number = word(self.known)
        if self.stride:
            number += self.stride[0] * numbers[self.stride[1]]
        return Pointer(self.region, z3.simplify(number)) if self.region else number


def heads(machine):
    """Where ways come back to, in the order in which one comes there."""
    order, program = machine.order, machine.program
    found = {to for at in order for to in program.following(at) if order[to] <= order[at]}
    return sorted(found, key=order.get)


def runs(program, world, summaries, begin, stops, facts, machine=Machine, are_alike=False):
    """Where one part ends, and the facts that hold there. Ends that are alike but for numbers may be taken for one."""
    world = copy.copy(world)
    world.facts = [*world.facts, *facts]
    machine = machine(program, world, prunes=True, summaries=summaries)
    ends = machine.run(begin, stops)
    obligations(machine, *world.facts)
    return [(end, [*world.facts, end.when]) for end in (machine.alike(ends) if are_alike else ends)]


def handed_on(live, arrivals, numbers, stride=None, others=()):
    """What all of them have in the registers that are still needed, and on the stack. `stride` tells of pointers in motion: into
    which region, from where on, by how many bytes for each of which number. `others` is said of what nothing else is known of."""
    found = {}
    for key, value in held(live, arrivals[0].state).items():
        guesses = [Same(name=name) for name in numbers]
        if not isinstance(value, Pointer) and is_known(value):
            # What goes round may begin with a number that something else always is: the first has it that still needs it.
            taken = [name for name in numbers if Same(name=name) in found.values()]
            guesses = [Same(name=name) for name in numbers if name not in taken]
            guesses += [Same(known=value.as_long()), *(Same(name=name) for name in taken)]
        if isinstance(value, Pointer) and is_known(value.offset):
            at, moves = value.offset.as_long(), None
            if stride and (value.region, True) == (stride[0], stride[1] <= at):
                moves = stride[2:]
            guesses = [Same(known=at, region=value.region, stride=moves)]
        elif isinstance(value, Pointer):
            guesses = []
        for guess in [*guesses, *others]:
            if all_fit(live, guess, key, arrivals):
                found[key] = guess
                break
        else:
            if key[0] == "register":
                raise_unless_fit(live, guesses, key, arrivals)
    return found


def raise_unless_fit(live, guesses, key, arrivals):
    """A counterexample is anybody who comes here with something else than what seems to be meant."""
    what = f"register {key[1]} brings along at {arrivals[0].state.at} what nothing is known of"
    for guess in guesses:
        for arrival in arrivals:
            value, wanted = held(live, arrival.state).get(key), guess.value_of(arrival.numbers)
            if z3.is_expr(value) and z3.is_expr(wanted):
                follows(what, value == wanted, *arrival.facts)
    raise Unproved(what)


def circle(live, came, names, round_, stride=None, others=()):
    """What goes on, where rounds are gone that all begin alike: as those who `came` first do, and those who come back."""
    back, before = [], None
    while True:
        same = handed_on(live, [*came, *back], names, stride, others)
        if same == before:
            raise Unproved("a circle does not come back to where it began")
        before = same
        back, onward = round_(same)
        if all(all_fit(live, what, key, back) for key, what in same.items()):
            return onward


def all_fit(live, guess, key, arrivals):
    values = [held(live, arrival.state).get(key) for arrival in arrivals]
    return all(value is not None and guess.fits(value, arrival) for value, arrival in zip(values, arrivals))


# What lies on the stack, by its bytes.
SIZES = {"stack": 8, "half": 4}


def held(live, state):
    """The registers that are still needed, and the words of the stack, or halves of them."""
    registers = {("register", register): state.registers[register] for register in sorted(live) if register in state.registers}
    stack, behind = {}, min(state.stack, default=0)
    for at in sorted(state.stack):
        bytes_ = [state.stack.get(number) for number in range(at, at + 8)]
        if isinstance(bytes_[0], Pointer):
            stack["stack", at] = bytes_[0]
            continue
        for kind, size in SIZES.items():
            part = bytes_[:size]
            if at >= behind and at % size == 0 and all(byte is not None and not isinstance(byte, Pointer) for byte in part):
                stack[kind, at], behind = number_of(part), at + size
                break
    return registers | stack


def beginning(at, same, numbers):
    """A state in which all of that is so, and nothing else is known."""
    state = State(at, {})
    for (kind, place), what in same.items():
        value = what.value_of(numbers)
        if kind == "register":
            state.registers[place] = value
        else:
            put(state.stack, place, value, SIZES[kind])
    return state
