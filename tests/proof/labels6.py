"""Theorem: the function that is asked for the label of an IPv6 prefix answers the one that stands beside it, in the slot that has it,
else in its way of the stash, or that nobody has it; the function that counts a hit of which it is not told what made it one counts for
the list that the levels tell, else for that of the longest shorter prefix that has a label, then for that of the shortest longer one.

They may ask tables anew: whoever has moved or left since the packet was judged is found where he is now, or counts for nobody. The
parts, and the induction over the lengths, are those of `judgement6.py`.
"""

import z3

import labelled
import labelled6
import labels
import specification as spec
import specification6 as six
from bytecode import EXIT
from judgement6 import COUNT, MOST_SHORTER, Lookup
from machine import Machine
from settings import LENGTH_WORDS, LENGTHS6, MOST_LENGTHS
from theorem import all_follow, obligations
from words import low, unknown, wide, word

# Up to /64 a prefix is asked for by its tag, a longer one by this.
LONGER = 0


def prove_asking(function, world, settings):
    """Of any number of each kind; there is a table, for callers know of somebody in it."""
    number, more = unknown("number"), unknown("more", 32)
    world.facts += [settings.has_table6 != 0, *settings.label_facts]
    table, beside = (world.table(settings.set + kind) for kind in ("SIX", "SIX_LABELS"))
    probes = [six.probe(number, six.TAG_BITS, six.NET64, six.NET64, table, settings),
              six.probe(number, six.TAG_BITS, six.SHORTER, six.SHORTER, table, settings),
              six.of_hash(number, wide(more), table, settings)]
    for kind, probe in zip((six.NET64, six.SHORTER, LONGER), probes):
        machine = Machine(function, world)
        begin = machine.beginning()
        # What stands above the lower half of a register is anything.
        halves = lambda lower: z3.Concat(unknown("above", 32), lower)
        begin.registers.update({1: halves(word(kind, 32)), 2: number, 3: halves(more)})
        ends = machine.run(begin)
        facts = [*world.facts, *six.are_buckets(probe, settings), labelled6.is_unique(table, probe)]
        obligations(machine, *facts)
        for end in machine.alike(ends):
            label = labelled6.of_probe(beside, table, probe, settings)
            claims = [("the label", low(end.registers[0], 32) == label), ("a label, or none", z3.ULE(label, labelled6.NONE)),
                      ("asking writes nothing", z3.BoolVal(not end.writes))]
            all_follow(claims, [*facts, end.when])


class Counting(Lookup):
    """From where the function is called that counts a hit."""

    summaries = labels.SUMMARIES
    NAMES = ["high", "low", "counted"]

    def by_64(self):
        """Is it known that its /64 made it a hit, and what label has that? Here no /64 did."""
        return z3.BoolVal(False), labelled.OTHER

    def is_end(self, at):
        return self.program.instructions[at].code == EXIT

    def any(self, name):
        return wide(unknown("counted", 32)) if name == "counted" else super().any(name)

    def claims(self, end, label, _):
        yield "it counts where lists are counted for", (self.settings.lists != 0) == bool(end.writes)
        more = labels.amount(self.world, self.any("counted"))
        yield from labels.claims(self.world, self.settings, end.writes, word(spec.ADDRESS4), more)
        for write in end.writes:
            counter = labelled.counter(self.settings, self.world.processor, label, self.any("counted") & 3)
            yield "for which list", write.at == counter

    def levels(self, begin):
        table, settings = self.world.table(self.of_levels), self.settings
        found, on = six.levels(self.high, table, settings), settings.last_level_start != 0
        told, in_use = z3.Or(found.nothing, found.everything), settings.to_64 & word(2**64 - 2)
        left = found.lengths & in_use
        facts = [*settings.label_facts, settings.shorter == COUNT(in_use), z3.ULE(COUNT(left), COUNT(in_use)),
                 z3.ULE(COUNT(left), MOST_SHORTER)]
        beside, told_at = self.world.table(settings.set + "LEVEL_LABELS"), labelled6.place(*labelled6.told(table, found))
        label = labelled6.of_told(beside, self.high, told_at, settings)
        is_64, of_64 = self.by_64()
        label = z3.If(z3.And(on, is_64), of_64, z3.If(z3.And(on, found.everything), label, labelled.OTHER))
        more, numbers = z3.And(on, z3.Not(is_64), z3.Not(told)), {name: self.any(name) for name in self.NAMES}
        onward = {
            "shorter": (z3.And(more, left != 0, self.can_ask(left, word(0))),
                        {**numbers, "left": left, "asked": word(0), "beyond": found.beyond}),
            "longer": (z3.And(more, left == 0, found.beyond == 1), {**numbers, "number": word(0)}),
        }
        reads = [(self.of_levels, at) for at in found.words]
        stays = z3.Or(z3.Not(on), is_64, told, z3.And(left == 0, found.beyond == 0))
        return self.part(begin, facts, reads, label, None, stays, onward)

    def answered(self, kind, number, more=word(0)):
        """Has it a label, and which."""
        answer = labels.LABEL6(word(kind), number, more)
        return z3.ULT(answer, 256), low(answer, 8)

    def shorter(self, begin, high, low, counted, left, asked, beyond):
        bit, rest = left & -left, left & left - 1
        has, label = self.answered(six.SHORTER, six.of_shorter(high, bit, self.settings))
        facts = [left != 0, self.can_ask(left, asked), z3.ULE(beyond, 1),
                 COUNT(rest) == COUNT(left) - 1, COUNT(left) != 0, (COUNT(rest) == 0) == (rest == 0)]
        numbers = {"high": high, "low": low, "counted": counted}
        onward = {
            "shorter": (z3.And(z3.Not(has), rest != 0, self.can_ask(rest, asked + 1)),
                        {**numbers, "left": rest, "asked": asked + 1, "beyond": beyond}),
            "longer": (z3.And(z3.Not(has), rest == 0, beyond == 1), {**numbers, "number": word(0)}),
        }
        stays = z3.Or(has, z3.And(rest == 0, beyond == 0))
        return self.part(begin, facts, [], z3.If(has, label, labelled.OTHER), None, stays, onward)

    def longer(self, begin, high, low, counted, number):
        has, label = self.answered(LONGER, *six.hashed(high, low, number, self.settings))
        is_one = z3.ULT(number, self.settings.longer)
        found = z3.And(is_one, has)
        onward = {"longer": (z3.And(is_one, z3.Not(found), z3.ULT(number + 1, MOST_LENGTHS)),
                             {"high": high, "low": low, "counted": counted, "number": number + 1})}
        stays = z3.Or(found, z3.UGE(number + 1, self.settings.longer))
        return self.part(begin, [z3.ULT(number, MOST_LENGTHS)], [], z3.If(found, label, labelled.OTHER), None, stays, onward)

    def prove(self, begin):
        first = self.levels(begin)
        from_shorter = self.circle(first["shorter"], [*self.NAMES, "left", "asked", "beyond"], self.shorter)
        stride = ("SETTINGS", 8 * self.settings.of_set(LENGTHS6), 8 * LENGTH_WORDS, "number")
        self.circle(first["longer"] + from_shorter["longer"], [*self.NAMES, "number"], self.longer, stride)


def prove_counting(function, world, settings):
    """Of any source, and whatever became of its packet."""
    counting = Counting(function, world, settings)
    begin = Machine(function, world).beginning()
    begin.registers.update({1: counting.high, 2: counting.low, 3: counting.any("counted")})
    counting.prove(begin)
