"""Theorem: whatever a frame is, the judge finds in it the source that the specification finds, and goes on accordingly.

The judge is run until it first reaches for its settings: up to there it has looked at nothing but the frame. What it still needs
there is all that the rest of it knows, so the rest is run from there, once for each place, with any source.
"""

from dataclasses import dataclass

import z3

import flow
from counting import REASONS, same
from bytecode import CONSTANT, LOAD
from machine import Machine, Pointer, State, Unproved, known, number_of, put
from settings import OF_FRAMES, OUTBOUND
from theorem import Refuted, can_be, example, follows, holds, obligations
from words import is_known, unknown, wide


@dataclass
class Cut:
    """Where the judge knows the source: the condition for a frame to come here, and the state in which it does."""

    kind: str
    state: State

    def numbers(self):
        """What is in registers, and in halves of words on the stack, but for pointers: each with its place."""
        yield from ((("register", at), value) for at, value in self.state.registers.items() if not isinstance(value, Pointer))
        for at in sorted(at for at in self.state.stack if at % 4 == 0):
            bytes_ = [self.state.stack.get(byte) for byte in range(at, at + 4)]
            if all(z3.is_expr(byte) for byte in bytes_):
                yield ("stack", at), number_of(bytes_)

    def with_others(self, other):
        """What is known of these and of others."""
        known = self.state.registers
        if self.state.at != other.state.at or known.keys() != other.state.registers.keys():
            raise Unproved(f"frames that are {self.kind} are judged otherwise than others")
        if not all(same(value, other.state.registers[register]) for register, value in known.items()):
            raise Unproved(f"more is known of some frames that are {self.kind}")
        stack = {at: value for at, value in self.state.stack.items() if same(value, other.state.stack.get(at))}
        return Cut(self.kind, self.state.copy(stack=stack))


def reaches_for_settings(state, this):
    return this.code == CONSTANT and this.symbol is not None


def where_all_meet(program):
    """Where all ways of a judge behind the driver have met, and it asks whether frames are sent: there it has a verdict. It asks that
    before, too, for the address, but not on every way."""
    asks = [at for at, this in enumerate(program.instructions) if this.symbol == "SETTINGS"
            and 8 * OUTBOUND in (this.immediate, program.instructions[at + 2].immediate)]
    return {at for at in asks if flow.is_passed_by_all(program, at)}


def looks_further(program):
    """Where a program that looks for the source first looks at something else. Behind the driver two settings belong to that, which say
    whether frames have an Ethernet header and whether they are sent, and fields of the context do."""
    hook, met = program.hook, where_all_meet(program)
    if not hook.is_late:
        return reaches_for_settings

    def stop(state, this):
        if state.at in met:
            return True
        if this.code == CONSTANT:
            return this.symbol not in (None, "SETTINGS")
        base = state.registers.get(this.source)
        if this.kind != LOAD or not isinstance(base, Pointer):
            return False
        at = z3.simplify(base.offset + this.offset)
        if base.region == "SETTINGS":
            return not is_known(at) or at.as_long() not in [8 * number for number in OF_FRAMES]
        return base.region == "context" and hook.field_at(known(at)) not in hook.of_source

    return stop


def prove(program, world):
    """The cuts, of which each is proved to be reached by the frames of one kind, and by all of these."""
    machine = Machine(program, world)
    ends = machine.run(machine.beginning(), looks_further(program))
    obligations(machine, *world.facts)
    source = world.source
    kinds = {"IPv4": source.is_ipv4, "IPv6": source.is_ipv6, "no IP": source.not_ip, "malformed": source.malformed,
             "too many tags": source.too_many_tags}
    follows("a frame is of one kind", z3.PbEq([(kind, 1) for kind in kinds.values()], 1), *world.facts)
    met = where_all_meet(program)
    cuts = merged([cut(machine, world, end, kind, source) for end in ends for kind, end in of_kinds(machine, world, end, kinds, met)])
    if sorted(found.kind for found in cuts) != sorted(kinds):
        raise Refuted(f"the judge parts frames into {[found.kind for found in cuts]}", None)
    return cuts


def merged(cuts):
    """One for each kind: with what is known of all frames of that kind, however they came. It is less than what is known of some."""
    kinds = {}
    for one in cuts:
        first = kinds.setdefault(one.kind, one)
        kinds[one.kind] = first if first is one else first.with_others(one)
    return list(kinds.values())


def of_kinds(machine, world, end, kinds, met):
    """Of which kind are the frames that end here? It is guessed by what the judge knows, and proved of all of them. Where all meet, those
    are that have no source, and of each of them is told what is known."""
    if end.at not in met:
        kind = guess(machine, world, end)
        follows(f"the judge takes what is {kind} for something else, or the reverse", kinds[kind], end.when, *world.facts)
        return [(kind, end)]
    follows("the judge takes what has a source for something else", z3.Or([kinds[kind] for kind in REASONS]), end.when, *world.facts)
    parts = [(kind, end.copy(when=z3.And(end.when, kinds[kind]))) for kind in REASONS]
    return [(kind, known_of(part, world)) for kind, part in parts if can_be(part.when, *world.facts)]


def known_of(end, world):
    """The same with numbers in the place of what is always the same for those who end here."""
    _, model = example(end.when, *world.facts)

    def constant(value):
        """Such a number, or what was there."""
        if model is None or is_known(value):
            return value
        number = model.eval(value, model_completion=True)
        return number if holds(value == number, end.when, *world.facts) else value

    for register, value in end.registers.items():
        if z3.is_expr(value):
            end.registers[register] = constant(value)
    for at in [at for at in end.stack if at % 4 == 0]:
        bytes_ = [end.stack.get(at + byte) for byte in range(4)]
        if all(map(z3.is_expr, bytes_)):
            put(end.stack, at, constant(number_of(bytes_)), 4)
    return end


def cut(machine, world, end, kind, source):
    """What is known there."""
    parts = {"IPv4": [("address", source.address)], "IPv6": [("high", source.high), ("low", source.low)]}.get(kind, [])
    registers = {register: carried(machine.program, end, register, parts, world, kind)
                 for register in machine.live[end.at] if register in end.registers}
    # A number on the stack that is always the same may be the reason.
    stack = {at: value for at, value in end.stack.items() if isinstance(value, Pointer) or is_known(value)}
    return Cut(kind, State(end.at, registers, stack))


def guess(machine, world, end):
    """A reason, or one word of a source, or two."""
    values = [end.registers[register] for register in machine.live[end.at] if register in end.registers]
    numbers = [value for value in values if not isinstance(value, Pointer)]
    if not numbers:
        numbers = [number_of([end.stack[at + byte] for byte in range(4)]) for at in end.stack if is_half(end.stack, at)]
    reasons = [kind for kind, reason in REASONS.items() if any(is_known(value) and value.as_long() == reason for value in numbers)]
    unknowns = [value for value in numbers if not is_known(value) and value.get_id() != wide(world.processor).get_id()]
    return reasons[0] if len(reasons) == 1 else "IPv4" if len(unknowns) == 1 else "IPv6"


def is_half(stack, at):
    return at % 4 == 0 and all(z3.is_expr(stack.get(at + byte)) and is_known(stack[at + byte]) for byte in range(4))


def carried(program, end, register, parts, world, kind):
    """What a register brings along: a pointer, a number that is always the same, or a part of the source."""
    value = end.registers[register]
    if isinstance(value, Pointer) or is_known(value) or value.get_id() == wide(world.processor).get_id():
        return value
    wrong = []
    for name, part in parts:
        try:
            follows(f"the {name} of {kind}", value == wide(part), end.when, *world.facts)
            return wide(unknown(name, part.size()))
        except Refuted as refuted:
            wrong.append(refuted)
    if not parts:
        return unknown(f"register{register}")
    raise wrong[0]
