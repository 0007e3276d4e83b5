"""Theorem: the root program, which the interface calls, jumps to what stands in the one slot of its map, with its own context; where that
fails, the packet passes. It reads nothing of the packet, and writes nothing.
"""

import z3

from counting import same
from machine import Machine, Pointer
from theorem import follows
from words import WORD, low, word

TAIL_CALL = 12
NEXT, SLOT = "NEXT", 0


class Root(Machine):
    """Knows one helper more: bpf_tail_call does not come back, or has failed and done nothing."""

    def __init__(self, program, world):
        super().__init__(program, world)
        self.jumps = 0

    def call_helper(self, state, number):
        if number != TAIL_CALL:
            return super().call_helper(state, number)
        context, table, slot = (state.registers[register] for register in range(1, 4))
        here = [*self.world.facts, state.when]
        follows("it jumps with its own context", z3.BoolVal(same(context, Pointer("context", word(0)))), *here)
        follows("it jumps by its map", z3.BoolVal(same(table, Pointer(NEXT, word(0)))), *here)
        follows("it jumps to the one slot", low(slot, 32) == SLOT, *here)
        self.jumps += 1
        return z3.FreshConst(WORD, "nothing")

    def load(self, state, _):
        follows("it reads nothing", z3.BoolVal(False), *self.world.facts, state.when)

    def store(self, state, _):
        follows("it writes nothing", z3.BoolVal(False), *self.world.facts, state.when)


def prove(program, world):
    """Its only way ends behind the jump that failed."""
    machine = Root(program, world)
    ends = machine.run(machine.beginning())
    follows("it has one way, and jumps on it once", z3.BoolVal(machine.jumps == 1 and len(ends) == 1), *world.facts)
    for end in ends:
        follows("what nobody has judged passes", low(end.registers[0], 32) == world.hook.passes, *world.facts, end.when)
