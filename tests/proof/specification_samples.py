"""Drops that are told in full (`filterd watch`), as filter-common/src/sampling.rs tells them. Of each stratum of drops one is told, and
stands for all of it: its weight. Where it stands in the next one is chosen at random. A stratum is as large as it must be lest more
drops than the budget are told in a window of time.

A processor's state is seven words of its row of counters.
"""

from dataclasses import dataclass

import z3

import specification as spec
from words import low, wide, word

NAMES = "window", "left", "position", "size", "used", "lost", "label"
WINDOW_BITS, LARGEST = 5, 1 << 16
# A sample: five words, and so many bytes of the frame.
HEAD, SNAP = 5, 128
RECORD, NO_LABEL = 8 * HEAD + SNAP, 256


def place(settings, processor, name):
    return (spec.row(settings, processor) + spec.FIRST_OF_SAMPLES + NAMES.index(name)) * 8


@dataclass
class Met:
    """What becomes of a drop that is not simply passed over: whether one is chosen, for how many it stands, and the state then."""

    is_chosen: z3.BoolRef
    weight: z3.BitVecRef
    state: dict


def meet(state, jiffies, budget, random):
    """In a new window a stratum begins: half as large if few were told in the one before, and with one drop if there was none before.
    Then the first drop is passed over unless it is the one. A stratum that is done doubles once the budget is used up."""
    now, random = z3.LShR(jiffies, WINDOW_BITS), wide(low(random, 32))
    is_new = state["window"] != now
    smaller = z3.If(z3.ULT(state["used"], z3.LShR(budget, 1)), z3.LShR(state["size"], 1), state["size"])
    begun = z3.If(z3.And(now == state["window"] + 1, smaller != 0), smaller, word(1))
    first = random & begun - 1
    passes = z3.And(is_new, first != 0)
    waiting = {"window": now, "left": first - 1, "position": first, "size": begun, "used": word(0)}

    pick = lambda new, name: z3.If(is_new, new, state[name])
    weight, used = pick(begun, "size"), pick(word(0), "used") + 1
    # Of a new one the first is chosen, or none is yet.
    behind = weight - 1 - pick(word(0), "position")
    doubles = z3.And(z3.UGE(used, budget), z3.ULT(weight, LARGEST))
    size = z3.If(doubles, weight << 1, weight)
    position = z3.LShR(random, 16) & size - 1
    chosen = {"window": now, "left": behind + position, "position": position, "size": size,
              "used": z3.If(doubles, z3.LShR(budget, 1), used)}
    return Met(z3.Not(passes), weight, {name: z3.If(passes, waiting[name], chosen[name]) for name in chosen})


def captured(length):
    """So many bytes of a frame are told, if it has any."""
    return z3.If(z3.UGT(length, SNAP), word(SNAP), length)


def head(clock, met, state, settings, interface, number, length):
    """The words of a sample."""
    label = z3.If(settings.lists == 0, word(NO_LABEL), state["label"])
    what = label << 32 | wide(low(number, 32)) << 16 | captured(length)
    return [clock, met.weight, state["lost"], interface << 32 | length, what]
