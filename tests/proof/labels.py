"""Theorem: counting a hit for its list writes one counter of this processor's row, and nothing else. For which list is not proved.

No verdict depends on labels: what stands in them is any words, here as in the other theorems.
"""

import z3

import specification as spec
from machine import Machine, State, Write
from theorem import follows, obligations
from words import unknown, word

COUNTERS, ROW = "LISTS", 8192

FUNCTION = "filterd_count_address4"


def place(world, settings):
    """Where this processor's row begins."""
    return spec.own_number(settings, world.processor) * ROW


def claims(world, settings, writes, reason):
    """At most one counter, of a hit only, and only where lists are counted for."""
    if any(write.table != COUNTERS for write in writes) or len(writes) > 1:
        yield "nothing is written but a counter of a list", z3.BoolVal(False)
    for write in writes:
        yield "a counter of a list is in this processor's row", z3.ULT(write.at - place(world, settings), ROW)
        yield "a packet counts once for a list", write.value == world.table(COUNTERS)(write.at) + 1
        yield "what passes counts for no list", spec.is_drop(reason)
        yield "nothing counts for lists where that is off", settings.lists != 0


def counted(world, _):
    """What the function writes, for whoever calls it. Nobody asks for its answer."""
    at = place(world, world.all_settings) + (unknown("label") & (ROW - 1))
    return (Write(COUNTERS, at, world.table(COUNTERS)(at) + 1),), None


SUMMARIES = {FUNCTION: counted}


def prove(function, world, settings):
    """Of whatever it is called with."""
    machine = Machine(function, world, prunes=True)
    begin = machine.beginning()
    begin.registers.update({1: unknown("shuffled"), 2: unknown("counted")})
    world.facts.append(settings.lists != 0)
    ends = machine.run(begin)
    obligations(machine, *world.facts)
    for end in ends:
        for what, goal in claims(world, settings, end.writes, word(spec.ADDRESS4)):
            follows(what, goal, *world.facts, end.when)
