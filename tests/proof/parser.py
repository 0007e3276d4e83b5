"""Theorem: whatever a frame is, the judge finds in it the source that the specification finds, and goes on accordingly.

The judge is run until it first reaches for its settings: up to there it has looked at nothing but the frame. What it still needs
there is all that the rest of it knows, so the rest is run from there, once for each place, with any source.
"""

from dataclasses import dataclass

import z3

import specification as spec
from counting import REASONS
from bytecode import CONSTANT, LOAD
from machine import Machine, Pointer, State, known, number_of
from settings import BARE
from theorem import Refuted, follows, obligations
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


def reaches_for_settings(state, this):
    return this.code == CONSTANT and this.symbol is not None


def looks_further(hook):
    """Where a program that looks for the source first looks at something else. Behind the driver one setting belongs to that, which says
    whether frames have an Ethernet header, and fields of the context do."""
    if not hook.is_late:
        return reaches_for_settings

    def stop(state, this):
        if this.code == CONSTANT:
            return this.symbol not in (None, "SETTINGS")
        base = state.registers.get(this.source)
        if this.kind != LOAD or not isinstance(base, Pointer):
            return False
        at = z3.simplify(base.offset + this.offset)
        if base.region == "SETTINGS":
            return not is_known(at) or at.as_long() != 8 * BARE
        return base.region == "context" and hook.field_at(known(at)) not in hook.of_source

    return stop


def prove(program, world):
    """The cuts, of which each is proved to be reached by the frames of one kind, and by all of these."""
    machine = Machine(program, world)
    ends = machine.run(machine.beginning(), looks_further(world.hook))
    obligations(machine, *world.facts)
    source = spec.source(world.frame, world.length, world.removed)
    kinds = {"IPv4": source.is_ipv4, "IPv6": source.is_ipv6, "no IP": source.not_ip, "malformed": source.malformed,
             "too many tags": source.too_many_tags}
    follows("a frame is of one kind", z3.PbEq([(kind, 1) for kind in kinds.values()], 1), *world.facts)
    cuts = [cut(machine, world, end, source, kinds) for end in ends]
    if sorted(found.kind for found in cuts) != sorted(kinds):
        raise Refuted(f"the judge parts frames into {[found.kind for found in cuts]}", None)
    return cuts


def cut(machine, world, end, source, kinds):
    """Of which kind are the frames that end here? It is guessed by what the judge knows, and proved of all of them."""
    kind = guess(machine, world, end)
    follows(f"the judge takes what is {kind} for something else, or the reverse", kinds[kind], end.when, *world.facts)
    parts = {"IPv4": [("address", source.address)], "IPv6": [("high", source.high), ("low", source.low)]}.get(kind, [])
    registers = {register: carried(machine.program, end, register, parts, world, kind)
                 for register in machine.live[end.at] if register in end.registers}
    # A number on the stack that is always the same may be the reason.
    stack = {at: value for at, value in end.stack.items() if isinstance(value, Pointer) or kind in REASONS and is_known(value)}
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
