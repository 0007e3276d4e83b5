"""Theorem: of every frame the function that is asked how long its headers are answers what the specification finds: up to where the data of
TCP or UDP begins, else nothing. Nothing is written, and no table is read.

It is taken in parts, as `headers.py` says.
"""

import z3

import specification_flows as spec
from headers import SOURCE, Headers, farthest
from theorem import all_follow
from words import low, word


class Length(Headers):
    def behind(self, carried):
        """Nobody goes on."""
        return {}

    def ended(self, end, here, goes_on, carried):
        length = word(0) if carried is None else spec.length_of_headers(self.bytes, carried)
        of_frame = z3.If(length == 0, length, length - self.world.hook.shift)
        claims = [("how long the headers are", low(end.registers[0], 32) == low(of_frame, 32)), ("it is looked at", z3.Not(goes_on)),
                  ("nothing is written or asked", z3.BoolVal(not end.writes and not end.reads))]
        all_follow(claims, here)


def prove(program, world):
    function = Length(program, world, [""])
    function.packet()
    function.headers("", SOURCE, function.behind, farthest(world.hook))
