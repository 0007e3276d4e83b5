"""Theorem: the function that looks an IPv4 source up in the set to allow says yes if the specification finds it in the tables of that
set, reads each of their words once and in order, and writes nothing.
"""

import z3

import specification as spec
from judgement import expected
from machine import Machine
from theorem import follows, obligations
from words import low, unknown

ALLOWED4 = "filterd_allows4"


def prove(function, world, settings):
    """Whatever address it is asked for. What stands above the address in its register is anything."""
    machine, argument = Machine(function, world, prunes=True), unknown("argument")
    begin = machine.beginning()
    begin.registers[1] = argument
    ends = machine.run(begin)
    obligations(machine, *world.facts)
    for end in ends:
        here, answer = [*world.facts, end.when], low(end.registers[0], 32)
        reason = expected(world, settings, low(argument, 32), end, here)
        follows("it writes nothing", z3.BoolVal(not end.writes), *here)
        follows("the answer", (answer != 0) == (reason != spec.UNLISTED), *here)

