"""Theorem: the function that looks an IPv6 source up in the set to allow answers 1 if the specification finds it in the tables of that
set, and else 0; reads each of their words once for each prefix that it asks for, and in order; and writes nothing.

The parts, and the induction over the lengths, are those of the same lookup in the set to block (`judgement6.py`).
"""

import z3

import specification as spec
from bytecode import EXIT
from judgement6 import Lookup
from machine import Machine
from words import word

ALLOWED6 = "filterd_allows6"


class Allowed(Lookup):
    """From where the function is called, to where it answers."""

    def is_end(self, at):
        return self.program.instructions[at].code == EXIT

    def claims(self, end, reason, _):
        yield "it writes nothing", z3.BoolVal(not end.writes)
        yield "the answer", end.registers[0] == z3.If(reason == spec.UNLISTED, word(0), word(1))


def prove(function, world, settings):
    """Of whatever source it is asked for."""
    lookup = Allowed(function, world, settings)
    begin = Machine(function, world).beginning()
    begin.registers.update({1: lookup.high, 2: lookup.low})
    lookup.prove(begin)
