"""Theorem: once a source is known to be IPv6, the judge comes to the reason that the specification gives, and has read each word of the
tables once for each prefix that it asks for, in the order that moving entries rely on.

It is proved in four parts, each begun with nothing known but a few numbers: what the levels say; the /64; any one of the shorter
lengths; any one of the longer ones. For the lengths the judge goes in circles, so the last two are steps of an induction: who begins
a round as is claimed, ends it so. The lengths asked are the lowest bits of what is left, one after the other, so all of them; and all
numbers below that of the longer ones.
"""

from collections.abc import Callable
from dataclasses import dataclass

import z3

import labelled6
import parts
import specification as spec
import specification6 as six
from bytecode import LOAD
from loads import by_places, read_in_order
from machine import Machine, Pointer, Unproved, Write
from parts import Arrival
from settings import LENGTH_WORDS, LENGTHS6, MOST_LENGTHS, NAMES
from theorem import all_follow, follows
from words import WORD, low, unknown, wide, word

HIT = "filterd_follow6"
# What that answers.
STANDS, REPLY, ALLOWED, NEIGHBOURS = range(4)
ANSWER = unknown("followed", 32)
# By what a source is listed: a prefix up to /64 by its tag.
BY_LEVELS, BY_OTHER = range(2)
# Lengths that the levels may leave to the table, but for /64: /15 to /63, and how many these are.
SHORTER, MOST_SHORTER = word((1 << 50) - 2), 49
# How many bits a number has. Lemma `counting_bits` says what is assumed of it.
COUNT = z3.Function("count", WORD, WORD)
TABLE, CIRCLES = "table", ("shorter", "longer")


def follow(world, registers):
    """The function that is asked what follows from a hit: theorem `follow6`. That it was called is told as if it were written."""
    if registers[1] != Pointer("context", word(0)):
        raise Unproved(f"{HIT} is called with something else than the packet")
    call = Write(HIT, z3.Concat(low(registers[4], 32), low(registers[2], 32)), registers[3])
    return (call,), wide(ANSWER)


@dataclass(frozen=True)
class Hit:
    """What whoever is asked what follows is told of a hit: what found it, and so what its number and its place are."""

    by: int
    tells: Callable = lambda number, place: z3.BoolVal(True)


class Lookup:
    """Looks an IPv6 source up in the tables of a set. Where it ends, and what is claimed of it there, is for those who know why it is
    looked up."""

    summaries = {}

    def __init__(self, program, world, settings):
        self.program, self.world, self.settings = program, world, settings
        machine = Machine(program, world)
        self.live = machine.live
        self.of_levels, self.of_table = settings.set + "LEVELS", settings.set + "SIX"
        self.table = world.table(self.of_table)
        self.high, self.low = unknown("high"), unknown("low")
        # Nobody comes to a length whom `net64` has not seen to have a table.
        self.on = settings.has_table6 != 0
        # The last two, since others are the parser's.
        self.heads = dict(zip(parts.heads(machine)[-len(CIRCLES):], CIRCLES))

    def part(self, begin, facts, reads, reason, hit, stays, onward):
        """All ends of one part: at an end of the whole with `reason`, of those who are to stay; or where the next one begins, under
        the condition for it. Who has come there? `hit` tells more of those who are listed."""
        arrived = {point: [] for point in (TABLE, *CIRCLES)}
        stops = lambda state, this: self.is_end(state.at) or state.at in self.heads or self.asks_for_table(state, this)
        for end, here in parts.runs(self.program, self.world, self.summaries, begin, stops, facts):
            simpler = by_places(self.world, read_in_order(end, reads, here))
            if self.is_end(end.at):
                all_follow([("nobody ends who is to be looked for further", stays), *self.claims(end, reason, hit)], here, simpler)
                continue
            point = self.heads.get(end.at, TABLE)
            if point not in onward:
                follows(f"nobody comes to {point} from here", z3.BoolVal(False), *here)
                continue
            condition, numbers = onward[point]
            all_follow([(f"only those come to {point} for whom there is more to ask", condition)], here, simpler)
            if end.writes:
                raise Unproved("something is written before the reason is known")
            arrived[point].append(Arrival(end, numbers, here))
        return arrived

    def asks_for_table(self, state, this):
        if this.kind != LOAD or not isinstance(state.registers.get(this.source), Pointer):
            return False
        base = state.registers[this.source]
        at = z3.simplify(base.offset + this.offset)
        return base.region == "SETTINGS" and z3.is_bv_value(at) and at.as_long() == 8 * self.settings.of_set(NAMES["has_table6"])

    def any(self, name):
        return {"high": self.high, "low": self.low}.get(name, unknown(name))

    def circle(self, arrivals, names, round_, stride=None):
        """One round, begun by anybody who can."""
        numbers, at = {name: self.any(name) for name in names}, arrivals[0].state.at

        def begun(same):
            onward = round_(parts.beginning(at, same, numbers), **numbers)
            return onward.pop(round_.__name__), onward

        return parts.circle(self.live[at], arrivals, names, begun, stride)

    def reason(self, *cases):
        """The first that holds, or none."""
        reason = word(spec.UNLISTED, 32)
        for condition, number in reversed(cases):
            reason = z3.If(condition, word(number, 32), reason)
        return reason

    def levels(self, begin):
        found = six.levels(self.high, self.world.table(self.of_levels), self.settings)
        on = self.settings.last_level_start != 0
        numbers = {"high": self.high, "low": self.low, "lengths": found.lengths, "beyond": found.beyond}
        told = z3.Or(found.nothing, found.everything)
        reads = [(self.of_levels, at) for at in found.words]
        return self.part(begin, [], reads, self.reason((z3.And(on, found.everything), spec.OTHER6)), self.told(found),
                         z3.Or(z3.Not(on), told), {TABLE: (z3.And(on, z3.Not(told)), numbers)})

    def net64(self, begin, high, low, lengths, beyond):
        probe = six.net64(high, self.table, self.settings)
        off, to_64 = z3.Not(self.on), self.settings.to_64
        found = z3.And(lengths & to_64 & 1 != 0, probe.found)
        left, in_use = lengths & to_64 & word(2**64 - 2), to_64 & word(2**64 - 2)
        facts = [z3.ULE(beyond, 1), *six.are_buckets(probe, self.settings), self.settings.shorter == COUNT(in_use),
                 z3.ULE(COUNT(left), COUNT(in_use)), z3.ULE(COUNT(left), MOST_SHORTER)]
        more = z3.And(self.on, z3.Not(found))
        asked = word(0)
        onward = {
            "shorter": (z3.And(more, left != 0, self.can_ask(left, asked), z3.ULE(beyond, 1)),
                        {"high": high, "low": low, "left": left, "asked": asked, "beyond": beyond}),
            "longer": (z3.And(more, left == 0, beyond == 1), {"high": high, "low": low, "number": word(0)}),
        }
        reason = self.reason((off, spec.UNLISTED), (found, spec.NET64))
        return self.part(begin, facts, self.reads(probe), reason, self.seen(six.NET64, six.shuffled(high, self.settings), probe),
                         z3.Or(off, found, z3.And(left == 0, beyond == 0)), onward)

    def can_ask(self, left, asked):
        """No limit ends the circle while something is left to ask for."""
        return z3.And(left & ~SHORTER == 0, z3.ULE(asked, MOST_SHORTER), z3.ULE(COUNT(left), MOST_SHORTER),
                      z3.ULE(COUNT(left) + asked, self.settings.shorter), z3.ULE(COUNT(left) + asked, MOST_SHORTER))

    def shorter(self, begin, high, low, left, asked, beyond):
        bit, rest = left & -left, left & left - 1
        probe = six.shorter(high, bit, self.table, self.settings)
        facts = [self.on, *six.are_buckets(probe, self.settings), left != 0, self.can_ask(left, asked), z3.ULE(beyond, 1),
                 COUNT(rest) == COUNT(left) - 1, COUNT(left) != 0, (COUNT(rest) == 0) == (rest == 0)]
        onward = {
            "shorter": (z3.And(z3.Not(probe.found), rest != 0, self.can_ask(rest, asked + 1)),
                        {"high": high, "low": low, "left": rest, "asked": asked + 1, "beyond": beyond}),
            "longer": (z3.And(z3.Not(probe.found), rest == 0, beyond == 1), {"high": high, "low": low, "number": word(0)}),
        }
        hit = self.seen(six.SHORTER, six.of_shorter(high, bit, self.settings), probe)
        return self.part(begin, facts, self.reads(probe), self.reason((probe.found, spec.OTHER6)), hit,
                         z3.Or(probe.found, z3.And(rest == 0, beyond == 0)), onward)

    def longer(self, begin, high, low, number):
        probe = six.longer(high, low, number, self.table, self.settings)
        is_one = z3.ULT(number, self.settings.longer)
        found = z3.And(is_one, probe.found)
        onward = {"longer": (z3.And(is_one, z3.Not(found), z3.ULT(number + 1, MOST_LENGTHS)),
                             {"high": high, "low": low, "number": number + 1})}
        is_last = z3.UGE(number + 1, self.settings.longer)
        return self.part(begin, [self.on, z3.ULT(number, MOST_LENGTHS)], self.reads(probe),
                         self.reason((found, spec.OTHER6)), Hit(BY_OTHER), z3.Or(found, is_last), onward)

    def told(self, found):
        """The levels tell it: where."""
        told = labelled6.place(*labelled6.told(self.world.table(self.of_levels), found))
        return Hit(BY_LEVELS, lambda _, place: place == told)

    def seen(self, by, number, probe):
        """The table holds this number: in which home."""
        home = labelled6.home(self.table, probe, self.settings)
        return Hit(by, lambda put, at: z3.And(put == number, at == home))

    def reads(self, probe):
        return [(self.of_table, at) for at in probe.words]

    def prove(self, begin):
        """All parts of it."""
        at_table = self.levels(begin)[TABLE]
        if not at_table:
            raise Unproved("nobody asks the table of IPv6")
        at, numbers = at_table[0].state.at, {name: self.any(name) for name in ("high", "low", "lengths", "beyond")}
        same = parts.handed_on(self.live[at], at_table, list(numbers))
        from_64 = self.net64(parts.beginning(at, same, numbers), **numbers)
        from_shorter = self.circle(from_64["shorter"], ["high", "low", "left", "asked", "beyond"], self.shorter)
        stride = ("SETTINGS", 8 * self.settings.of_set(LENGTHS6), 8 * LENGTH_WORDS, "number")
        self.circle(from_64["longer"] + from_shorter["longer"], ["high", "low", "number"], self.longer, stride)


class Judge(Lookup):
    """From where an IPv6 source is known to one of the places from which it is counted."""

    summaries = {HIT: follow}

    def __init__(self, program, world, settings, places):
        super().__init__(program, world, settings)
        self.places = places
        world.facts.append(z3.ULE(ANSWER, NEIGHBOURS))

    def is_end(self, at):
        return at in self.places

    def claims(self, end, reason, hit):
        """The reason, and that the function is asked once on a hit, and never else."""
        place = self.places[end.at]
        found = z3.If(reason == spec.UNLISTED, reason, self.followed(reason))
        yield "the reason", place.reason(end) == found
        yield "only a hit is dropped", place.allows(found, end)
        yield "what follows is asked of a hit, and of nothing else", (reason != spec.UNLISTED) == bool(end.writes)
        for write in end.writes:
            if write.table != HIT or len(end.writes) > 1:
                raise Unproved("something is written before it is counted")
            yield "by what it is listed", low(write.at, 32) == hit.by
            yield "the prefix up to /64, and where it is listed", hit.tells(write.value, z3.Extract(63, 32, write.at))
        if not place.begins_as(end):
            raise Unproved(f"{self.program.name} comes to {end.at} otherwise than other frames do")

    def followed(self, reason):
        """The reason after what the function answers."""
        for answer, passes in ((REPLY, spec.REPLY), (ALLOWED, spec.ALLOWED), (NEIGHBOURS, six.NEIGHBOUR)):
            reason = z3.If(ANSWER == answer, word(passes, 32), reason)
        return reason


def prove(program, world, settings, cut, places):
    Judge(program, world, settings, places).prove(cut.state)
