"""Theorem: the function that is asked what follows from an IPv6 hit answers that neighbour discovery passes and all else stands, counts
each of the latter once for a list where lists are counted for, and writes nothing else.

It reads the packet anew, so this is about every IPv6 frame.
"""

import z3

import labels
import specification as spec
import specification6 as six
from judgement6 import HIT, NEIGHBOURS, STANDS
from machine import Machine
from theorem import all_follow, obligations
from words import low, unknown, word


def prove(function, world, settings):
    """Of whatever it is called with, about an IPv6 packet."""
    machine = Machine(function, world, prunes=True, summaries=labels.SUMMARIES)
    begin = machine.beginning()
    begin.registers.update({2: unknown("by"), 3: unknown("number"), 4: unknown("place")})
    world.facts.append(spec.source(world.frame, world.length).is_ipv6)
    ends = machine.run(begin)
    obligations(machine, *world.facts)
    is_neighbour = six.is_neighbour_discovery(world.frame, world.length)
    reason = z3.If(is_neighbour, word(six.NEIGHBOUR, 32), word(spec.OTHER6, 32))
    for end in ends:
        answer = z3.If(is_neighbour, word(NEIGHBOURS, 32), word(STANDS, 32))
        claims = [("what it answers", low(end.registers[0], 32) == answer),
                  ("what stands counts for a list", z3.Or(bool(end.writes), is_neighbour, settings.lists == 0)),
                  *labels.claims(world, settings, end.writes, reason)]
        all_follow(claims, [*world.facts, end.when])
