"""Theorem: the function that is asked for drops to be told in full, while somebody watches, writes the words of this processor's row that
no reason has, and nothing else of any table; and one sample into the ring, of this packet, if one is chosen and there is room: as the
specification says, whole, and given up once.

What calls it writes the same words, and only while somebody watches: that is seen in the theorems about these (`machine.is_of_samples`),
which hold whether somebody watches or not. So watching changes no verdict and no counter.
"""

import z3

import specification as spec
import specification_samples as samples
from frames import FrameMachine, of_any_frame
from machine import Pointer, Unproved, World, Write, known
from theorem import all_follow, obligations
from words import low, unknown, wide, word

RING, SAMPLED, COPIED, GIVEN_UP = "SAMPLES", "sample", "bytes of the frame", "given up"
RANDOM, JIFFIES, RESERVE, SUBMIT, CONTEXT = 7, 118, 131, 132, Pointer("context", word(0))
HAS_ROOM = z3.Bool("room")
NO_WAKEUP = 1


class Sampler(FrameMachine):
    """Knows the ring."""

    MAY_BE = {SAMPLED: HAS_ROOM}

    def is_of_samples(self, *_):
        """Here they are told."""
        return False

    def call_helper(self, state, number):
        if number == RANDOM:
            return unknown("random")
        if number == JIFFIES:
            return unknown("jiffies")
        if number == RESERVE:
            ring, size, flags = (state.registers[register] for register in range(1, 4))
            if ring != Pointer(RING, word(0)) or known(size) != samples.RECORD or known(flags) != 0:
                raise Unproved("another ring, or place for something else")
            return Pointer(SAMPLED, word(0))
        if number == SUBMIT:
            record, flags = state.registers[1], state.registers[2]
            state.writes += (Write(GIVEN_UP, record.offset, flags),)
            return z3.FreshConst(z3.BitVecSort(64), "nothing")
        return super().call_helper(state, number)

    def load_bytes(self, state):
        """Into the sample."""
        context, at, into, size = (state.registers[register] for register in range(1, 5))
        if context != CONTEXT or known(low(at, 32)) != 0 or into.region != SAMPLED:
            raise Unproved("another part of the frame, or into something else")
        size = low(size, 32)
        state.writes += (Write(COPIED, into.offset, wide(size)),)
        return z3.If(z3.ULE(size, self.world.received), word(0), word(-22))


def prove(program, world, settings):
    world = of_any_frame(world)
    machine, number = Sampler(program, world, prunes=True), unknown("number")
    begin = machine.beginning()
    begin.registers[2] = number
    table = world.table(World.COUNTERS)
    state = {name: table(samples.place(settings, world.processor, name)) for name in samples.NAMES}
    budget, length = settings.samples, wide(world.received)
    met = samples.meet(state, unknown("jiffies"), budget, unknown("random"))
    is_chosen = z3.And(budget != 0, met.is_chosen)
    lost = z3.If(HAS_ROOM, word(0), state["lost"] + met.weight)
    after = {name: z3.If(budget == 0, value, met.state.get(name, value)) for name, value in state.items()}
    after["lost"] = z3.If(is_chosen, lost, state["lost"])
    head = samples.head(unknown("clock0"), met, state, settings, wide(world.interface), number, length)
    ends = machine.run(begin)
    obligations(machine, *world.facts)
    for end in ends:
        here = [*world.facts, end.when]
        all_follow(list(claims(world, settings, end, table, after, z3.And(is_chosen, HAS_ROOM), head)), here)


def claims(world, settings, end, table, after, is_told, head):
    of = lambda name: [write for write in end.writes if write.table == name]
    counters, sampled, copied, given = map(of, (World.COUNTERS, SAMPLED, COPIED, GIVEN_UP))
    yield "nothing else is written", z3.BoolVal(len(end.writes) == sum(map(len, (counters, sampled, copied, given))) and not end.reads)
    for write in counters:
        yield "a word of samples, of this processor's row", spec.is_of_samples(settings, world.processor, write.at)
    for name, value in after.items():
        at = samples.place(settings, world.processor, name)
        yield f"the word {name}", last(counters, at, table(at)) == value
    yield "what is told", is_told == bool(given)
    if not given:
        yield "no part of a sample", z3.BoolVal(not sampled and not copied)
        return
    yield "it is given up once, and last", z3.BoolVal(len(given) == len(copied) == 1 and follows_all(given[0], [*sampled, *copied], end))
    yield "whoever looks is not woken", z3.And(given[0].at == 0, given[0].value == NO_WAKEUP)
    length = wide(world.received)
    yield "what of the frame", z3.And(copied[0].at == 8 * samples.HEAD, z3.Implies(length != 0, copied[0].value == samples.captured(length)))
    yield "no more than there is room for", z3.And(z3.ULE(1, copied[0].value), z3.ULE(copied[0].value, samples.SNAP))
    for number, value in enumerate(head):
        yield f"word {number} of a sample", last(sampled, word(8 * number), word(0)) == value
    yield "each is in it", z3.And([z3.And(z3.ULE(write.at, 8 * (samples.HEAD - 1)), z3.Extract(2, 0, write.at) == 0) for write in sampled])


def last(writes, at, before):
    """What stands there afterwards."""
    for write in writes:
        before = z3.If(write.at == at, write.value, before)
    return before


def follows_all(given, others, end):
    """Does it come after these?"""
    at = lambda one: next(number for number, write in enumerate(end.writes) if write is one)
    return all(at(other) < at(given) for other in others)
