"""Theorem: the program for lists with ports does with a packet what the judge does, up to where the judge counts it; but where the judge
counts it as one from a source on no list, it asks `filterd_by_port` about the packet (`asked`), and nowhere else.

The two are compiled from one source, so they do the same by the same steps, in other registers. That is what is proved: both are run
side by side, from where ways meet to where ways meet, with whatever is the same in both (a register of the one, a word on the stack of
the other) as one unknown number. They go the same ways, read the same words in the same order, call the same functions with the same
arguments and write the same; what is the same where they come to is what is known there. That must be so however one comes there, so
steps are taken anew until nothing changes any more.
"""

from collections import deque
from dataclasses import dataclass

import z3

import specification as spec
import specification_ports as by
from bytecode import ALU32, ALU64, ARGUMENTS, CALL, EXIT, JUMP, LOAD, STORE
from machine import Machine, Pointer, State, Unproved, known, number_of, put
from settings import OUTBOUND
from theorem import all_follow, can_be, follows, obligations
from words import WORD, is_known, low, unknown, wide, word

ASKED = "filterd_by_port"
PROCESSOR = 8
# The register that points to the stack.
STACK = 10
# If this does not settle it, nothing does.
MOST_STEPS = 5000


@dataclass(frozen=True)
class Event:
    """Something that the other program must do as well: a load, a store, a call."""

    what: str
    numbers: tuple


class Follower(Machine):
    """Tells of all that it does. What it is answered is named after how much it did before, so that the other program gets the same."""

    def tells(self, state, what, *numbers):
        state.reads += (Event(what, numbers),)
        return len(state.reads)

    def load(self, state, this):
        base = state.registers.get(this.source)
        if not isinstance(base, Pointer) or base.region != "SETTINGS":
            return super().load(state, this)
        # Settings do not change. Only received frames are asked for by ports.
        if z3.eq(z3.simplify(base.offset + this.offset), word(8 * OUTBOUND)):
            return self.world.settings(OUTBOUND)
        return wide(low(z3.Function("settings", WORD, WORD)(z3.simplify(base.offset + this.offset)), 8 * this.size))

    def of_table(self, state, name, at, size):
        return wide(unknown(f"loaded{self.tells(state, f'a load of {size} from {name}', at)}", 8 * size))

    def of_frame(self, state, at, size):
        """It does not change either."""
        return wide(z3.Function(f"frame{size}", WORD, z3.BitVecSort(8 * size))(at))

    def joined(self, states):
        return states

    def store(self, state, this):
        base = state.registers[this.target]
        if base.region == "stack":
            return super().store(state, this)
        value = state.registers[this.source] if this.kind == STORE else word(this.immediate)
        self.tells(state, f"a store of {this.size} to {base.region}", z3.simplify(base.offset + this.offset), low(value, 8 * this.size))

    def call(self, state, this):
        what = this.symbol or this.immediate
        if what == PROCESSOR:
            return super().call(state, this)
        given = [state.registers[register] for register in range(1, ARGUMENTS[what] + 1)]
        if what == self.world.hook.load_bytes:
            context, at, into, size = given
            number = self.tells(state, "a copy of the frame", context, low(at, 32), low(size, 32))
            for byte in range(known(low(size, 32))):
                put(state.stack, known(into.offset) + byte, unknown(f"copied{number}.{byte}", 8), 1)
        else:
            number = self.tells(state, f"a call of {what}", *given)
        for register in range(1, 6):
            state.registers.pop(register, None)
        state.registers[0] = unknown(f"answer{number}")


def lower_keys(values):
    """What the lower halves of these numbers are."""
    return tuple(key(low(value, 32)) if z3.is_expr(value) else None for value in values)


def shared_halves(found):
    """The lower halves that several numbers have which are not the same: one of the two programs may have the whole of what the other has
    put into half a word."""
    wholes = {}
    for values in found:
        wholes.setdefault(lower_keys(values), set()).add(tuple(None if value is None else key(value) for value in values))
    return {lower for lower, those in wholes.items() if len(those) > 1}


def high(number):
    return z3.Extract(63, 32, number)


def key(value):
    """What tells whether two values are the same."""
    region, number = (value.region, value.offset) if isinstance(value, Pointer) else (None, value)
    # Kept, lest another get the number of one that is gone.
    KEPT.append(z3.simplify(number))
    return region, KEPT[-1].get_id()


KEPT = []


def places_of(live, state):
    """What a program knows where it is: the registers that are still needed, and what is on its stack, in words as they are complete."""
    found = {("register", number): state.registers[number] for number in live if number in state.registers}
    for at in sorted(state.stack):
        for size in () if ("stack", at - 4, 8) in found else (8, 4):
            bytes_ = [state.stack.get(number) for number in range(at, at + size)]
            if isinstance(bytes_[0], Pointer):
                found["stack", at, 8] = bytes_[0]
            elif at % size == 0 and all(z3.is_expr(byte) for byte in bytes_) and not (size == 8 and are_two(number_of(bytes_))):
                found["stack", at, size] = number_of(bytes_)
                break
    return found


def are_two(number):
    """Is it one number in the lower half of a word, and the rest of an older one above it?"""
    return z3.is_app_of(number, z3.Z3_OP_CONCAT) and not is_known(number.arg(0))


def held(ways, number):
    """What those have who come by these ways. What somebody has not written on his stack he does not read: nothing that the judge does
    follows from it (theorem `judgement`), nor what the other does, if the same is missing on the same ways."""
    places = {place for way in ways for place in way[number]}
    bytes_ = lambda place: set(range(place[1], place[1] + place[2])) if place[0] == "stack" else set()
    meets = lambda place: any(other != place and bytes_(other) & bytes_(place) for other in places)
    return sorted(place for place in places if not meets(place) or all(place in way[number] for way in ways))


def meetings(machine):
    """Where ways meet, but for those places from which all go on to the next one by calculating alone: the other program may calculate
    before its ways meet."""
    return {at for at in machine.joins if not only_calculates(machine, at)}


def only_calculates(machine, at):
    while True:
        this = machine.program.instructions[at]
        of_stack = this.kind == LOAD and this.source == STACK or this.kind == STORE and this.target == STACK
        if this.code != JUMP and this.kind not in (ALU32, ALU64) and not of_stack:
            return False
        (at,) = machine.program.following(at)
        if at in machine.joins:
            return True


class Twins:
    def __init__(self, judge, ports, world, places):
        """`places` are those from which each of the two counts."""
        self.world, self.places = world, places
        self.machines = [Follower(program, world) for program in (judge, ports)]
        self.meetings = [meetings(machine) for machine in self.machines]
        # Of two places, in this program and in that: those who come there, by whence; and what was said of it when it was last run.
        self.came, self.said = {}, {}
        # Of which of the unknown numbers it is known that they are not 0.
        self.some = {}

    def prove(self):
        waiting = deque([((0, 0), self.machines[0].beginning(), self.machines[1].beginning())])
        for _ in range(MOST_STEPS):
            if not waiting:
                return
            where, *states = waiting.popleft()
            for other in self.came:
                self.came[other] = {whence: ways for whence, ways in self.came[other].items() if whence[0] != where}
            targets = {}
            for number, (target, ways) in enumerate(self.onward(where, states)):
                self.came.setdefault(target, {})[where, number] = ways
                targets[target] = None
            for target in targets:
                said, states = self.of_all(target)
                if said != self.said.get(target):
                    self.said[target] = said
                    waiting = deque(other for other in waiting if other[0] != target)
                    waiting.append((target, *states))
        raise Unproved("the two do not settle")

    def asked(self):
        """The states in which the one asks, while the other waits where it counts."""
        asks = lambda at: self.asks(None, self.machines[1].program.instructions[at])
        found = [target for target in self.came if asks(target[1])]
        if not found or any(target[0] not in self.places[0] for target in found):
            raise Unproved(f"{ASKED} is asked elsewhere than where the judge counts what is unlisted")
        return [self.of_all(target)[1][1] for target in found]

    def onward(self, where, states):
        """Where both go on to from there, with what. Who has come to where both count has been looked at."""
        if all(self.waits(number, state) for number, state in enumerate(states)):
            return
        ends = [[state] if self.waits(number, state) else self.ends(number, state) for number, state in enumerate(states)]
        others = {key(end.when): end for end in ends[1]}
        for one in ends[0]:
            twin = others.get(key(one.when))
            for other in [twin] if twin else ends[1]:
                if twin or can_be(one.when, other.when):
                    yield from self.together(one, other)

    def together(self, one, other):
        """Who has done less goes on, to where ways meet next: not all that one does before they meet the other does before."""
        both = [one, other]
        if any(machine.program.instructions[end.at].code == EXIT for machine, end in zip(self.machines, both)):
            raise Unproved("one of the two ends without having counted")
        behind = (len(one.reads) > len(other.reads)) - (len(one.reads) < len(other.reads))
        if behind:
            number = 0 if behind < 0 else 1
            if self.waits(number, both[number]):
                more = both[1 - number].reads[len(both[number].reads)]
                follows(f"only one does before it counts: {more.what}", z3.BoolVal(False), one.when, other.when)
                return
            for further in self.ends(number, both[number]):
                if can_be(further.when, both[1 - number].when):
                    yield from self.together(*((further, other) if number == 0 else (one, further)))
            return
        self.does_the_same(one, other)
        self.counts_the_same(one, other)
        yield (one.at, other.at), [places_of(machine.live[end.at], end) for machine, end in zip(self.machines, both)]

    def waits(self, number, state):
        """Where one counts it waits for the other."""
        return state.at in self.places[number] or self.asks(state, self.machines[number].program.instructions[state.at])

    def ends(self, number, state):
        machine = self.machines[number]
        return machine.run(state, lambda state, this: state.at in self.meetings[number] or self.waits(number, state))

    def asks(self, state, this):
        return this.code == CALL and this.symbol == ASKED

    def does_the_same(self, one, other):
        for event, twin in zip(one.reads, other.reads):
            if event.what != twin.what:
                follows(f"{event.what}, and not {twin.what}", z3.BoolVal(False), one.when, other.when)
        for event, twin in zip(one.reads, other.reads):
            for this, that in zip(event.numbers, twin.numbers, strict=True):
                if key(this) != key(that):
                    follows(f"the same {event.what}", this == that, one.when, other.when)

    def counts_the_same(self, one, other):
        """Where the judge counts a packet, the other counts it for the same reason, or asks once more if it has none."""
        mine, others = self.places[0].get(one.at), self.places[1].get(other.at)
        asks = self.asks(other, self.machines[1].program.instructions[other.at])
        if mine and asks:
            is_asked = mine.value(one) == spec.UNLISTED
            follows("who is on a list is not asked for by ports", is_asked, one.when, other.when)
            if other.registers[1] != Pointer("context", word(0)):
                raise Unproved(f"{ASKED} is asked about something else than the packet")
        elif mine and others:
            follows("the reason is the same", mine.reason(one) == others.reason(other), one.when, other.when)
            value = mine.value(one)
            # What the judge drops is on a list (theorem `judgement`), or has too many tags.
            if not z3.is_true(mine.is_drop(one)) and not self.is_some(value):
                is_asked = z3.Or(mine.is_drop(one), value != spec.UNLISTED)
                follows("who is on no list is asked for by ports", is_asked, one.when, other.when)
            follows("the same is dropped", mine.is_drop(one) == others.is_drop(other), one.when, other.when)
            if not others.begins_as(other):
                raise Unproved(f"{other.at} counts otherwise than {one.at}")

    def of_all(self, target):
        """What is said of all who come there, and the states in which they are."""
        ways = list(self.came[target].values())
        said, states, classes = {}, [], {}
        halves = shared_halves([[way[number].get(place) for way in ways] for number in range(len(target)) for place in held(ways, number)])
        for number, at in enumerate(target):
            state = State(at, {})
            for place in held(ways, number):
                values = [way[number].get(place) for way in ways]
                said[number, place], value = self.of_some(values, classes, target, halves)
                if place[0] == "register":
                    state.registers[place[1]] = value
                else:
                    put(state.stack, place[1], value, place[2])
            states.append(state)
        return said, states

    def is_some(self, value):
        """Is this number never 0, not even its lower half?"""
        lower = low(value, 32)
        return lower.as_long() != 0 if is_known(lower) else lower.get_id() in self.some

    def of_some(self, values, classes, target, halves):
        """The one value that all of them have, or an unknown one that is the same wherever all have the same."""
        keys = tuple(None if value is None else key(value) for value in values)
        first = next(value for value in values if value is not None)
        regions = {one[0] for one in keys if one}
        if len(regions) > 1 and None in regions:
            # Nobody reads a pointer there, but a number may be the same in both.
            said = classes.setdefault(keys, f"same{len(classes)}")
            return f"anything, {said}", unknown(f"{said} at {target[0]} and {target[1]}")
        # A pointer into one of several tables is one into the same of these in both.
        tables = "tables", *(one and one[0] for one in keys)
        region = regions.pop() if len(regions) == 1 else f"one of {classes.setdefault(tables, len(classes))}"
        number = z3.simplify(first.offset if region else first)
        if len(set(keys)) == 1 and (is_known(number) or number.eq(wide(self.world.processor))):
            said = str(number)
        else:
            said = classes.setdefault(keys, f"same{len(classes)}")
            number = unknown(f"{said} at {target[0]} and {target[1]}")
            if not region and lower_keys(values) in halves:
                half = classes.setdefault(("lower", lower_keys(values)), f"half{len(classes)}")
                number = z3.Concat(high(number), unknown(f"{half} at {target[0]} and {target[1]}", 32))
                said += f", {half}"
            lower = low(number, 32)
            if not region and None not in keys and all(map(self.is_some, values)):
                said += ", never 0"
                self.some[lower.get_id()] = lower
            else:
                self.some.pop(lower.get_id(), None)
        return (region, said), Pointer(region, number) if region else number


def asked(program, world, states, places):
    """What the program makes of the answer: the reason in it, for which it counts the packet and nothing else. What else is in the answer
    is not looked at."""
    told = unknown("told")
    of = lambda _, registers: ((), told)
    reason = low(told, 32) & 0xFF
    facts = [*world.facts, z3.Or(reason == spec.UNLISTED, z3.And(z3.ULE(spec.ADDRESS4, reason), z3.ULE(reason, by.LATER_FRAGMENT)))]
    for state in states:
        machine = Machine(program, world, summaries={ASKED: of})
        for end in machine.run(state, lambda state, this: state.at in places):
            place, here = places.get(end.at), [*facts, end.when]
            if place is None:
                raise Unproved(f"{program.name} ends without having counted")
            claims = [("the reason", place.reason(end) == reason), ("only a hit is dropped", place.allows(reason, end)),
                      ("nothing is written or read", z3.BoolVal(not end.writes and not end.reads))]
            all_follow(claims, here)
            if not place.begins_as(end):
                raise Unproved(f"{program.name} comes to {end.at} otherwise than other frames do")
        obligations(machine, *facts)


def prove(judge, ports, world, places):
    twins = Twins(judge, ports, world, places)
    twins.prove()
    asked(ports, world, twins.asked(), places[1])
