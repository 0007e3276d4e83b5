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
    """From where on nothing but the reason matters: where that is (a register, or a place on the stack), and whether it is one to drop.
    Where those who are to be dropped and others come to the same place, the latter stands in a place, too: as 1 or 0."""

    state: State
    where: tuple
    drops: bool | tuple

    def value(self, state):
        """What a state has there that comes here."""
        return value_at(state, self.where)

    def reason(self, state):
        return low(self.value(state), 32)

    def is_drop(self, state):
        """Is a state that comes here to be dropped?"""
        return z3.BoolVal(self.drops) if isinstance(self.drops, bool) else value_at(state, self.drops) == 1

    def allows(self, reason, state):
        """May a state come here that has this reason?"""
        is_number = z3.BoolVal(True) if isinstance(self.drops, bool) else z3.ULE(value_at(state, self.drops), 1)
        return z3.And(is_number, self.is_drop(state) == spec.is_drop(reason))

    def begins_as(self, state):
        """Does a state that comes here know the same but for the reason?"""
        return all(same(self.state.registers[register], state.registers.get(register))
                   for register in self.state.registers if ("register", register) not in (self.where, self.drops)) and all(
            same(value, state.stack.get(at)) for at, value in self.state.stack.items() if isinstance(value, Pointer))

    def with_any_reason(self):
        state, reason = self.state.copy(), unknown("reason", 32)
        put_at(state, self.where, reason)
        if not isinstance(self.drops, bool):
            put_at(state, self.drops, z3.If(spec.is_drop(reason), word(1, 32), word(0, 32)))
        return state


def value_at(state, where):
    kind, at = where
    return state.registers[at] if kind == "register" else number_of([state.stack[at + byte] for byte in range(4)])


def put_at(state, where, number):
    """This number, of 32 bits."""
    kind, at = where
    if kind == "register":
        state.registers[at] = wide(number)
    else:
        put(state.stack, at, number, 4)


def same(one, other):
    if isinstance(one, Pointer) and isinstance(other, Pointer):
        return (one.region, one.offset.get_id()) == (other.region, other.offset.get_id())
    return z3.is_expr(one) and z3.is_expr(other) and one.get_id() == other.get_id()


def places(cuts):
    """Where frames come that have no source: there the reason is the only number that differs with it."""
    found = {}
    for cut in (cut for cut in cuts if cut.kind in REASONS):
        found.setdefault(cut.state.at, []).append(cut)
    return {at: place(cuts) for at, cuts in found.items()}


TO_DROP = "too many tags"


def place(cuts):
    """The one to which all of these come."""
    where = where_all_have(cuts, REASONS.get)
    if where is None:
        raise Refuted(f"the reasons of what is {[cut.kind for cut in cuts]} are others", None)
    are_to_drop = {cut.kind == TO_DROP for cut in cuts}
    drops = are_to_drop.pop() if len(are_to_drop) == 1 else where_all_have(cuts, lambda kind: int(kind == TO_DROP))
    # Of numbers on the stack nothing else is known.
    states = [cut.state for cut in cuts]
    stack = {at: value for at, value in states[0].stack.items()
             if isinstance(value, Pointer) and all(same(value, state.stack.get(at)) for state in states)}
    place = Place(states[0].copy(stack=stack), where, drops)
    if drops is None or not all(place.begins_as(cut.state) for cut in cuts):
        raise Unproved(f"two kinds of frames are counted otherwise from {cuts[0].state.at}")
    return place


def where_all_have(cuts, number_of_kind):
    """The one place where each of them has the number of its kind."""
    places = [{where for where, value in cut.numbers() if is_known(value) and value.as_long() == number_of_kind(cut.kind)} for cut in cuts]
    common = set.intersection(*places)
    return common.pop() if len(common) == 1 else None


def prove(program, world, settings, cuts):
    """From each of the places, and that frames without a source come there with their reason."""
    for place in places(cuts).values():
        reason = unknown("reason", 32)
        machine = Machine(program, world, prunes=True)
        begin = place.with_any_reason()
        facts = [*world.facts, z3.ULT(reason, 32), place.allows(reason, begin)]
        ends = machine.run(begin)
        obligations(machine, *facts)
        for end in ends:
            answered(world, settings, end, wide(reason), [*facts, end.when])


def answered(world, settings, end, reason, facts):
    """What the program returns, and what it has written."""
    all_follow(list(claims(world, settings, end, reason)), facts)


def claims(world, settings, end, reason):
    action = spec.enforcement(settings, unknown("clock0"))
    yield "the verdict", low(end.registers[0], 32) == spec.verdict(reason, action, world.hook)
    is_sent = world.hook.is_sent
    if any(write.table != world.COUNTERS for write in end.writes) or len(end.writes) not in ((0, 2) if is_sent else (1, 2)) or end.reads:
        yield "nothing but counters is touched", z3.BoolVal(False)
        return
    if len(end.writes) < 2:
        yield "only what passes is counted once, or not at all if it is sent", z3.Not(spec.is_drop(reason, is_sent))
        counted = [(spec.counter_of_pass(settings, world.processor, reason), world.segments)]
    else:
        yield "only drops are counted in packets and bytes", spec.is_drop(reason, is_sent)
        reason = word(spec.OUTBOUND) if is_sent else reason
        slot = world.number_of_slot()(spec.place_of_slot(settings, world.interface))
        slot = z3.If(z3.ULT(world.interface, 1 << 16), slot, word(0, 8))
        counters = spec.counters_of_drop(settings, world.processor, slot, action, reason)
        counted = zip(counters, [world.segments, world.bytes_received])
    before = world.table(world.COUNTERS)
    for write, (at, more) in zip(end.writes, counted):
        yield "the counter", write.at == at
        yield "what is counted", write.value == before(at) + more
