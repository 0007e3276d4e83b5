"""Theorems of the sets of a clause: its functions answer by what the tables of its slot hold a source, as the specification finds it
there; read each of their words once (IPv6: for each prefix that is asked for) and in order; and write nothing. All is proved of the
first slot, and of the others that they have the same functions, but for the names of maps and functions and the place of settings.

The lookups are those in the set to block. Of IPv6 prefixes each length is asked by a function of its own (`shorter`, `longer`).
"""

from dataclasses import replace

import z3

import specification as spec
import specification6 as six
import specification_ports as by
from allowed import looks_up
from bytecode import EXIT, LOAD, Program
from judgement6 import COUNT, Lookup
from loads import read_in_order
from machine import Machine, Read
from settings import FIRST, MOST_LENGTHS, SET_WORDS, SETS
from theorem import all_follow, follows, obligations
from words import WORD, low, unknown, wide, word

FIRST_CLAUSE, ADD = "C0_", 0x07
KINDS = "4", "6", "shorter", "longer", "count4", "count6", "of_six"


def name(kind, slot=0):
    return f"filterd_c{slot}_{kind}"


def four(function, world, settings):
    """The same lookup as in the set to allow, and the answer is the reason."""
    looks_up(function, world, settings, lambda answer, reason: answer == reason)


def probe(function, world, settings, arguments, found, facts=()):
    """Whether the table holds a prefix of one length; without a table it holds none."""
    machine = Machine(function, world, prunes=True)
    begin = machine.beginning()
    begin.registers.update(arguments)
    world.facts += facts
    ends = machine.run(begin)
    obligations(machine, *world.facts)
    for end in ends:
        here = [*world.facts, end.when]
        read_in_order(end, [(settings.set + "SIX", at) for at in found.words], here)
        answer = z3.If(z3.And(settings.has_table6 != 0, found.found), word(1, 32), word(0, 32))
        all_follow([("it writes nothing", z3.BoolVal(not end.writes)), ("the answer", low(end.registers[0], 32) == answer)], here)


def shorter(function, world, settings):
    network, bit = unknown("network"), unknown("bit")
    found = six.shorter(network, bit, world.table(settings.set + "SIX"), settings)
    probe(function, world, settings, {1: network, 2: bit}, found)


def longer(function, world, settings):
    """Of a length that there may be."""
    high, below, number = unknown("high"), unknown("low"), unknown("number")
    # Of such a number these bits are all there are.
    found = six.longer(high, below, wide(low(number, 6)), world.table(settings.set + "SIX"), settings)
    probe(function, world, settings, {1: high, 2: below, 3: number}, found, [z3.ULT(number, MOST_LENGTHS)])


# What the functions of one length answer (theorems `shorter` and `longer`): of a network and the bit of a length; of a source and the
# number of a length.
HOLDS_SHORTER = z3.Function("holds a shorter one", WORD, WORD, z3.BoolSort())
HOLDS_LONGER = z3.Function("holds a longer one", WORD, WORD, WORD, z3.BoolSort())


class Six(Lookup):
    """From where the function is called that asks the levels and the /64, and these of each length, to where it answers."""

    def __init__(self, function, world, settings):
        super().__init__(function, world, settings)
        self.summaries = {name("shorter"): self.asked_shorter, name("longer"): self.asked_longer}

    def asked_shorter(self, _, registers):
        return self.asked("shorter", HOLDS_SHORTER, registers[1], registers[2])

    def asked_longer(self, _, registers):
        return self.asked("longer", HOLDS_LONGER, registers[1], registers[2], wide(low(registers[3], 32)))

    def asked(self, kind, holds, *given):
        """That it was asked is told as if it were read."""
        return (), z3.If(holds(*given), word(1), word(0)), Read(name(kind), z3.Concat(*given))

    def shorter(self, begin, high, low, left, asked, beyond):
        """Any one of these lengths: the longest that is left."""
        bit, rest = left & -left, left & left - 1
        found = HOLDS_SHORTER(high, bit)
        facts = [self.on, left != 0, self.can_ask(left, asked), z3.ULE(beyond, 1),
                 COUNT(rest) == COUNT(left) - 1, COUNT(left) != 0, (COUNT(rest) == 0) == (rest == 0)]
        numbers = {"high": high, "low": low, "left": rest, "asked": asked + 1, "beyond": beyond}
        goes_on = z3.And(z3.Not(found), rest != 0, self.can_ask(rest, asked + 1))
        onward = {"shorter": (goes_on, numbers),
                  "longer": (z3.And(z3.Not(found), rest == 0, beyond == 1), {"high": high, "low": low, "number": word(0)})}
        return self.part(begin, facts, [(name("shorter"), [z3.Concat(high, bit)])], self.reason((found, spec.OTHER6)), word(0),
                         z3.Or(found, z3.And(rest == 0, beyond == 0)), onward)

    def longer(self, begin, high, low, number):
        """Any one beyond /64, by its number."""
        is_one = z3.ULT(number, self.settings.longer)
        found = z3.And(is_one, HOLDS_LONGER(high, low, number))
        onward = {"longer": (z3.And(is_one, z3.Not(found), z3.ULT(number + 1, MOST_LENGTHS)),
                             {"high": high, "low": low, "number": number + 1})}
        is_last = z3.UGE(number + 1, self.settings.longer)
        return self.part(begin, [self.on, z3.ULT(number, MOST_LENGTHS)], [(name("longer"), [z3.Concat(high, low, number)])],
                         self.reason((found, spec.OTHER6)), word(0), z3.Or(found, is_last), onward)

    def is_end(self, at):
        return self.program.instructions[at].code == EXIT

    def claims(self, end, reason, _):
        yield "it writes nothing", z3.BoolVal(not end.writes)
        yield "the answer", low(end.registers[0], 32) == reason


def sixes(function, world, settings):
    lookup = Six(function, world, settings)
    begin = Machine(function, world).beginning()
    begin.registers.update({1: lookup.high, 2: lookup.low})
    lookup.prove(begin)


def are_alike(functions):
    """`functions` has each by its name."""
    for slot in range(1, by.SLOTS):
        for kind in KINDS:
            is_alike = of_slot(functions[name(kind)], slot) == functions[name(kind, slot)]
            follows(f"{name(kind, slot)} is as that of the first slot", z3.BoolVal(is_alike))


# The settings of the first clause: their first byte, and how many they are.
BEGIN, SIZE = 8 * (FIRST + SETS.index(FIRST_CLAUSE) * SET_WORDS), 8 * SET_WORDS


def of_slot(function, slot):
    """A function of the first slot as it must be for this one. What is loaded from behind a place by a number between the first and the
    last byte of its settings is a setting, and so is what such a number is added for: no map of theirs has anything so near that has
    not a smaller place."""
    renamed = lambda symbol: symbol and symbol.replace(FIRST_CLAUSE, f"C{slot}_").replace("_c0_", f"_c{slot}_")

    def of(this):
        number = "offset" if this.kind == LOAD else "immediate" if this.code == ADD else None
        moved = {number: getattr(this, number) + slot * SIZE} if number and BEGIN <= getattr(this, number) < BEGIN + SIZE else {}
        return replace(this, symbol=renamed(this.symbol), **moved)

    return Program(name_of_slot(function.name, slot), tuple(map(of, function.instructions)))


def name_of_slot(function, slot):
    return function.replace("_c0_", f"_c{slot}_")
