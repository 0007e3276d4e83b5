"""Theorem: the function that is asked what follows from an IPv6 hit answers that what is allowed passes, and neighbour discovery, and a
reply where replies do, and that all else stands; counts each of the latter two once for a list where lists are counted for; and writes
nothing else. Which source is allowed says the theorem `allowed6`, and what is a reply `replies`.

It reads the packet anew, so this is about every IPv6 frame.
"""

from dataclasses import replace

import z3

import labels
import specification as spec
import specification6 as six
from allowed6 import ALLOWED6
from follow4 import REPLIES, replies
from judgement6 import ALLOWED, NEIGHBOURS, REPLY, STANDS
from loads import read_in_order
from machine import Machine, Read
from theorem import all_follow, obligations
from words import WORD, low, unknown, word

# Whether a source is allowed: `filterd_allows6` answers 1 if so, and else 0.
IS_ALLOWED6 = z3.Function("allowed6", WORD, WORD, z3.BoolSort())


def allows6(_, registers):
    high, beneath = registers[1], registers[2]
    return (), z3.If(IS_ALLOWED6(high, beneath), word(1), word(0)), Read(ALLOWED6, z3.Concat(high, beneath))


def prove(function, world, settings):
    """Of whatever it is called with, about an IPv6 packet."""
    machine = Machine(function, world, summaries={**labels.SUMMARIES, ALLOWED6: allows6, REPLIES: replies})
    begin = machine.beginning()
    begin.registers.update({2: unknown("by"), 3: unknown("number"), 4: unknown("place")})
    source, overlap = spec.source(world.frame, world.length), world.table("OVERLAP")
    world.facts.append(source.is_ipv6)
    ends = machine.run(begin)
    obligations(machine, *world.facts)
    is_neighbour = six.is_neighbour_discovery(world.frame, world.length)
    is_allowed = z3.And(spec.may_overlap(overlap, settings), IS_ALLOWED6(source.high, source.low))
    is_reply = z3.And(settings.match_new != 0, low(unknown("replies"), 32) != 0)
    number = lambda value: word(value, 32)
    answer = z3.If(is_allowed, number(ALLOWED), z3.If(is_neighbour, number(NEIGHBOURS), z3.If(is_reply, number(REPLY), number(STANDS))))
    counts_not = z3.Or(is_allowed, is_neighbour)
    reason = z3.If(counts_not, number(six.NEIGHBOUR), number(spec.OTHER6))
    reads = [("OVERLAP", [word(0)]), (ALLOWED6, [z3.Concat(source.high, source.low)]), (REPLIES, [word(0)])]
    for end in ends:
        # What looks up for which list a hit counts reads tables, too.
        asked = tuple(read for read in end.reads if read.table in (table for table, _ in reads))
        read_in_order(replace(end, reads=asked), reads, [*world.facts, end.when])
        claims = [("what it answers", low(end.registers[0], 32) == answer),
                  ("what stands counts for a list", z3.Or(bool(end.writes), counts_not, settings.lists == 0)),
                  *labels.claims(world, settings, end.writes, reason)]
        all_follow(claims, [*world.facts, end.when])
