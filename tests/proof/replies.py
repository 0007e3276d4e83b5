"""Theorem: where replies pass, a packet is one if, and only if, the flow that the specification finds in its frame is one that this
host has begun and has sent something of not too long ago. The map of flows is asked once, for exactly this flow, or not at all; and
nothing is written.

The function is taken in parts (`headers.py`): to what the packet carries, to what an ICMP error quotes, and the answer.
"""

import z3

import parts
import specification_flows as spec
from bytecode import CALL
from frames import FLOWS, IS_KNOWN, LAST, LOOK_UP, NOW, FrameMachine, key_at, key_of
from headers import DESTINATION, FARTHEST, LONGEST_EXTENSION, QUOTED, SOURCE, Headers, farthest
from theorem import all_follow, follows
from words import low, unknown, word

ANSWER = "answer"
# Behind the headers of an error that quotes.
FARTHEST_QUOTED = FARTHEST + 40 + spec.MOST_EXTENSIONS * LONGEST_EXTENSION + 8


class Replies(Headers):
    def stops(self, state, this):
        if super().stops(state, this):
            return True
        return this.code == CALL and not this.symbol and this.immediate == LOOK_UP and self.begins(state, ANSWER)

    def ended(self, end, here, goes_on, carried):
        claims = [("it is no reply", low(end.registers[0], 32) == 0), ("it is looked up", z3.Not(goes_on)),
                  ("nothing is written or asked", z3.BoolVal(not end.writes and not end.reads))]
        all_follow(claims, here)

    def came(self, point, end, numbers, here):
        if point == ANSWER:
            follows("the flow that is looked up", key_at(end, end.registers[2]) == key_of(numbers), *here)

    def behind(self, carried):
        """To be looked up, or to what it quotes."""
        of_4, of_6, at = spec.errors(self.bytes, carried)
        quoted = {QUOTED + name: self.to_header(QUOTED + name, is_one, at, FARTHEST_QUOTED)
                  for name, is_one in (("IPv4", of_4), ("IPv6", of_6))}
        return {ANSWER: looked_up(spec.answered(self.bytes, carried)), **quoted}

    def behind_quoted(self, carried):
        return {ANSWER: looked_up(spec.quoted(self.bytes, carried))}

    def answer(self):
        """What follows from the entry of the flow."""
        flow = spec.Flow(z3.BoolVal(True), *(unknown(name) for name in ("high", "low", "rest")))
        _, numbers = looked_up(flow)
        begin, is_reply = self.from_(ANSWER, numbers), z3.And(IS_KNOWN, spec.is_in_time(flow, LAST, NOW))
        for end, here in parts.runs(self.program, self.world, {}, begin, lambda state, this: False, [], FrameMachine):
            if end.writes or [read.table for read in end.reads] != [FLOWS]:
                follows("the map is asked once, and nothing is written", z3.BoolVal(False), *here)
            answer = low(end.registers[0], 32) == z3.If(is_reply, word(1, 32), word(0, 32))
            all_follow([("the flow that is asked for", end.reads[0].at == key_of(numbers)), ("the answer", answer)], here)


def looked_up(flow):
    """Whether it is, and what by."""
    return flow.is_one, {"high": flow.high, "low": flow.low, "rest": flow.rest}


def prove(program, world, settings):
    function = Replies(program, world, ["", QUOTED])
    function.packet(settings.match_new != 0)
    function.headers("", SOURCE, function.behind, farthest(world.hook))
    function.headers(QUOTED, DESTINATION, function.behind_quoted, FARTHEST_QUOTED)
    function.answer()
