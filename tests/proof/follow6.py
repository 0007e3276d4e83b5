"""Theorem: the function that is asked what follows from an IPv6 hit answers that what is allowed passes, and neighbour discovery, and a
reply where replies do, and that all else stands; counts each of the latter two once where lists are counted for, for the list whose
label stands where it is told that the source is listed; and writes nothing else. Which source is allowed says the theorem `allowed6`,
and what is a reply `replies`.

It reads the packet anew, so this is about every IPv6 frame.
"""

from dataclasses import replace

import z3

import labelled
import labelled6
import labels
import parts
import specification as spec
import specification6 as six
from allowed6 import ALLOWED6
from bytecode import LOAD
from follow4 import REPLIES, replies
from judgement6 import ALLOWED, BY_LEVELS, BY_OTHER, NEIGHBOURS, REPLY, STANDS
from loads import read_in_order
from machine import Machine, Pointer, Read, Unproved, World
from parts import Arrival
from settings import OF_FRAMES
from theorem import all_follow, can_be, obligations
from words import WORD, low, unknown, wide, word

# Whether a source is allowed: `filterd_allows6` answers 1 if so, and else 0.
IS_ALLOWED6 = z3.Function("allowed6", WORD, WORD, z3.BoolSort())


def allows6(_, registers):
    high, beneath = registers[1], registers[2]
    return (), z3.If(IS_ALLOWED6(high, beneath), word(1), word(0)), Read(ALLOWED6, z3.Concat(high, beneath))


SUMMARIES = {**labels.SUMMARIES, ALLOWED6: allows6, REPLIES: replies}
# What is known of a packet once it is read: its source, and whether it is neighbour discovery.
HIGH, LOW, NEIGHBOUR = unknown("high"), unknown("low"), unknown("neighbour", 1)
# What the function is called with.
BY, NUMBER, PLACE = unknown("by", 32), unknown("number"), unknown("place", 32)


def prove(function, world, settings):
    """Of whatever it is called with, about an IPv6 packet. First it reads the packet, and asks for no setting before it has."""
    called_with = {"by": BY, "number": NUMBER, "place": PLACE, **told_apart()}
    arrivals = [arrival for hook in world.hook.kinds() for arrival in arrived(function, World(settings, hook), called_with)]
    at, live = arrivals[0].state.at, Machine(function, world).live
    if any(arrival.state.at != at for arrival in arrivals):
        raise Unproved("some packets are read otherwise than others")
    any_ = {"high": HIGH, "low": LOW, "neighbour": NEIGHBOUR, **called_with}
    # A place on the stack may have a pointer for some of what the function is called with, and a number for all else.
    for by_other in (True, False) if have_other_pointers(arrivals) else (None,):
        is_so = [] if by_other is None else [(BY == BY_OTHER) == by_other]
        came = [arrival for arrival in arrivals if can_be(*arrival.facts, *is_so)]
        for arrival in came:
            all_follow([("by what it is listed", goal) for goal in is_so], arrival.facts)
        same = parts.handed_on(live[at], came, list(any_))
        of_any(function, world, settings, parts.beginning(at, same, any_), is_so)


def arrived(function, world, called_with):
    """Who has been read, of one kind of frames."""
    machine = Machine(function, world, summaries=SUMMARIES)
    begin = machine.beginning()
    begin.registers.update({2: wide(BY), 3: NUMBER, 4: wide(PLACE)})
    source = world.source
    facts = [*world.facts, source.is_ipv6]
    ends = machine.run(begin, is_of_setting)
    obligations(machine, *facts)
    is_neighbour = z3.If(six.is_neighbour_discovery(world.frame, world.length), word(1, 1), word(0, 1))
    numbers = {"high": source.high, "low": source.low, "neighbour": is_neighbour, **called_with}
    return [Arrival(end, numbers, [*facts, end.when]) for end in ends if can_be(*facts, end.when)]



def have_other_pointers(arrivals):
    """Has one of them a pointer on the stack where another has none?"""
    pointers = [{at for at, value in arrival.state.stack.items() if isinstance(value, Pointer)} for arrival in arrivals]
    return any(ones != pointers[0] for ones in pointers)


def told_apart():
    """What the compiler keeps in the place of what the function is called with: which of three it is, and what only two of them tell."""
    is_ = lambda condition: z3.If(condition, word(1, 32), word(0, 32))
    by_levels, by_other = BY == BY_LEVELS, BY == BY_OTHER
    return {"by levels": is_(by_levels), "by other": is_(by_other), "held": is_(z3.Not(z3.Or(by_levels, by_other))),
            "kind or place": z3.If(by_levels, PLACE, BY)}


def is_of_setting(state, this):
    """Is it a setting that is loaded here, other than those that are needed to read a packet?"""
    base = state.registers.get(this.source)
    is_setting = this.kind == LOAD and isinstance(base, Pointer) and base.region == "SETTINGS"
    at = z3.simplify(base.offset + this.offset) if is_setting else None
    return is_setting and not any(z3.eq(at, word(8 * number)) for number in OF_FRAMES)


def of_any(function, world, settings, begin, is_so):
    """From there on, where nothing of the packet is known but that."""
    is_allowed = z3.And(spec.may_overlap(world.table("OVERLAP"), settings), IS_ALLOWED6(HIGH, LOW))
    is_neighbour = NEIGHBOUR == 1
    is_reply = z3.And(settings.match_new != 0, low(unknown("replies"), 32) != 0)
    told = lambda value: word(value, 32)
    answer = z3.If(is_allowed, told(ALLOWED), z3.If(is_neighbour, told(NEIGHBOURS), z3.If(is_reply, told(REPLY), told(STANDS))))
    counts_not = z3.Or(is_allowed, is_neighbour)
    reason = z3.If(counts_not, word(six.NEIGHBOUR, 32), word(spec.OTHER6, 32))
    label, facts = list_of(world, settings)
    kind = z3.If(is_reply, word(labelled.REPLY), labelled.kind_of_drop(settings, unknown("clock0")))
    counter = labelled.counter(settings, world.processor, label, kind)
    reads = [("OVERLAP", [word(0)]), (ALLOWED6, [z3.Concat(HIGH, LOW)]), (REPLIES, [word(0)])]
    facts = [*settings.label_facts, *facts, *is_so]
    for end, here in parts.runs(function, world, SUMMARIES, begin, lambda *_: False, facts, are_alike=True):
        # What looks up for which list a hit counts reads tables, too.
        asked = tuple(read for read in end.reads if read.table in (table for table, _ in reads))
        read_in_order(replace(end, reads=asked), reads, here)
        claims = [("what it answers", low(end.registers[0], 32) == answer),
                  ("what stands counts for a list", z3.Or(bool(end.writes), counts_not, settings.lists == 0)),
                  *(("for which list", write.at == counter) for write in end.writes),
                  *labels.claims(world, settings, end.writes, reason)]
        all_follow(claims, here)


def list_of(world, settings):
    """The label of a source that is told to be listed so, and what is known of it: no answer for a prefix is above 256, and one slot
    at most of a bucket has a prefix. Where no levels are in use, nobody is listed."""
    told = labelled6.of_told(world.table("LEVEL_LABELS"), HIGH, PLACE, settings)
    is_held = z3.Or(BY == six.NET64, BY == six.SHORTER)
    seen, is_unique = labelled6.of_home(world.table("SIX_LABELS"), world.table("SIX"), NUMBER, wide(BY), PLACE, settings)
    asked = labels.LABEL6(wide(BY), NUMBER, word(0))
    held = z3.If(PLACE == labelled6.UNSEEN, z3.If(asked == labelled6.NONE, labelled.OTHER, low(asked, 8)), seen)
    by_place = z3.If(settings.last_level_start == 0, labelled.OTHER, z3.If(BY == BY_LEVELS, told, held))
    label = z3.If(BY == BY_OTHER, labels.OTHER6(HIGH, LOW), by_place)
    is_any = z3.Or(is_held, BY == BY_LEVELS, BY == BY_OTHER)
    return label, [is_any, z3.ULE(asked, labelled6.NONE), z3.Implies(is_held, z3.And(is_unique, settings.has_table6 != 0))]
