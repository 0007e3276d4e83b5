"""Theorem: whatever the reason is, the judge answers what follows from it, counts that in this processor's row, and writes nothing
else.
"""

from dataclasses import dataclass

import z3

import specification as spec
from machine import Machine, Pointer, State, Unproved, number_of, put
from theorem import Refuted, all_follow, obligations
from words import is_known, low, unknown, wide, word

REASONS = {"no IP": spec.NOT_IP, "malformed": spec.MALFORMED, "too many tags": spec.TOO_MANY_TAGS}


@dataclass
class Place:
    """From where on nothing but the reason matters: where that is (a register, or a place on the stack), and whether it is one to drop."""

    state: State
    where: tuple
    drops: bool

    def value(self, state):
        """What a state has there that comes here."""
        kind, at = self.where
        return state.registers[at] if kind == "register" else number_of([state.stack[at + byte] for byte in range(4)])

    def reason(self, state):
        return low(self.value(state), 32)

    def allows(self, reason):
        return spec.is_drop(reason) if self.drops else z3.Not(spec.is_drop(reason))

    def begins_as(self, state):
        """Does a state that comes here know the same but for the reason?"""
        return all(same(self.state.registers[register], state.registers.get(register))
                   for register in self.state.registers if ("register", register) != self.where) and all(
            same(value, state.stack.get(at)) for at, value in self.state.stack.items() if isinstance(value, Pointer))

    def with_any_reason(self):
        (kind, at), state, reason = self.where, self.state.copy(), unknown("reason", 32)
        if kind == "register":
            state.registers[at] = wide(reason)
        else:
            put(state.stack, at, reason, 4)
        return state


def same(one, other):
    if isinstance(one, Pointer) and isinstance(other, Pointer):
        return (one.region, one.offset.get_id()) == (other.region, other.offset.get_id())
    return z3.is_expr(one) and z3.is_expr(other) and one.get_id() == other.get_id()


def what_is_known(cut):
    """Where that is, what kind of frames come there, and what each register and the stack bring along."""
    of = lambda value: (value.region, value.offset.get_id()) if isinstance(value, Pointer) else value.get_id()
    registers, stack = ({at: of(value) for at, value in values.items()} for values in (cut.state.registers, cut.state.stack))
    return cut.kind, cut.state.at, registers, stack


def places(cuts):
    """Where frames come that have no source: there the reason is the only number that differs with it."""
    found = {}
    for cut in (cut for cut in cuts if cut.kind in REASONS):
        number = REASONS[cut.kind]
        has_it = [where for where, value in cut.numbers() if is_known(value) and value.as_long() == number]
        if len(has_it) != 1:
            raise Refuted(f"the reason of what is {cut.kind} is not {number}", None)
        place = Place(cut.state, has_it[0], cut.kind == "too many tags")
        other = found.setdefault(cut.state.at, place)
        if (other.where, other.drops) != (place.where, place.drops) or not other.begins_as(cut.state):
            raise Unproved(f"two kinds of frames are counted otherwise from {cut.state.at}")
    return found


def prove(program, world, settings, cuts):
    """From each of the places, and that frames without a source come there with their reason."""
    for place in places(cuts).values():
        reason = unknown("reason", 32)
        machine = Machine(program, world, prunes=True)
        facts = [*world.facts, z3.ULT(reason, 32), place.allows(reason)]
        ends = machine.run(place.with_any_reason())
        obligations(machine, *facts)
        for end in ends:
            answered(world, settings, end, wide(reason), [*facts, end.when])


def answered(world, settings, end, reason, facts):
    """What the program returns, and what it has written."""
    all_follow(list(claims(world, settings, end, reason)), facts)


def claims(world, settings, end, reason):
    action = spec.enforcement(settings, unknown("clock0"))
    yield "the verdict", low(end.registers[0], 32) == spec.verdict(reason, action, world.hook)
    if any(write.table != world.COUNTERS for write in end.writes) or len(end.writes) not in (1, 2) or end.reads:
        yield "nothing but counters is touched", z3.BoolVal(False)
        return
    if len(end.writes) == 1:
        yield "only what passes is counted once", z3.Not(spec.is_drop(reason))
        counted = [(spec.counter_of_pass(settings, world.processor, reason), world.segments)]
    else:
        yield "only drops are counted in packets and bytes", spec.is_drop(reason)
        slot = world.number_of_slot()(spec.place_of_slot(settings, world.interface))
        slot = z3.If(z3.ULT(world.interface, 1 << 16), slot, word(0, 8))
        counters = spec.counters_of_drop(settings, world.processor, slot, action, reason)
        counted = zip(counters, [world.segments, world.bytes_received])
    before = world.table(world.COUNTERS)
    for write, (at, more) in zip(end.writes, counted):
        yield "the counter", write.at == at
        yield "what is counted", write.value == before(at) + more
