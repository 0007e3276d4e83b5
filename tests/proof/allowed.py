"""Theorem: the function that looks an IPv4 source up in the set to allow says yes if the specification finds it in the tables of that
set, reads each of their words once and in order, and writes nothing.
"""

import z3

import specification as spec
from judgement import expected
from machine import Machine
from theorem import all_follow, obligations
from words import low, unknown

ALLOWED4 = "filterd_allows4"


def prove(function, world, settings):
    looks_up(function, world, settings, lambda answer, reason: (answer != 0) == (reason != spec.UNLISTED))


def looks_up(function, world, settings, is_answer):
    """Whatever address it is asked for. What stands above the address in its register is anything."""
    machine, argument = Machine(function, world, prunes=True), unknown("argument")
    begin = machine.beginning()
    begin.registers[1] = argument
    ends = machine.run(begin)
    obligations(machine, *world.facts)
    for end in ends:
        here = [*world.facts, end.when]
        reason = expected(world, settings, low(argument, 32), end, here)
        claims = [("it writes nothing", z3.BoolVal(not end.writes)), ("the answer", is_answer(low(end.registers[0], 32), reason))]
        all_follow(claims, here)
