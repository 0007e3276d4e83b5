"""Theorem: of every frame that an interface sends the egress program notes what the specification says, under the key of its flow and
under that of its fragments, with the time; counts it if the flow is new; and writes nothing else. Whatever it notes, the frame goes on to
whoever else has attached a program, and out.
"""

import z3

import specification_flows as spec
from frames import ENTRY, FLOWS, IS_KNOWN, LAST, NOW, key_of
from headers import DESTINATION, Headers, farthest
from replies import looked_up
from theorem import all_follow
from words import low, word

EGRESS = "filterd_egress"
BARE = "filterd_eg_bare"
# The verdict that leaves it to others (TC_ACT_UNSPEC).
GOES_ON = -1
PORTS = "PORTS" + ENTRY


class Egress(Headers):
    def behind(self, carried):
        """Nobody goes on."""
        return {}

    def ended(self, end, here, goes_on, carried):
        claims = [("the frame goes on its way", low(end.registers[0], 32) == GOES_ON), ("it is looked at", z3.Not(goes_on))]
        all_follow([*claims, *(self.nothing(end) if carried is None else self.claims(end, carried))], here)

    def nothing(self, end):
        yield "nothing is written or asked", z3.BoolVal(not end.writes and not end.reads)

    def claims(self, end, carried):
        """What is asked of the maps, and written into them."""
        sent, ports = spec.sent(self.bytes, carried), self.world.table(PORTS)
        asked = [read for read in end.reads if read.table == FLOWS]
        may_begin = z3.Or(sent.opens, z3.And(sent.has_port, spec.bit_of_port(sent.port, ports)))
        noted = spec.noted(sent.flow, may_begin, IS_KNOWN, LAST, NOW)
        yield "the map is asked once", z3.BoolVal(len(asked) < 2)
        yield from (("for this flow", read.at == key(sent.flow)) for read in asked)
        notes, counts = ([write for write in end.writes if write.table == table] for table in (FLOWS, PORTS))
        yield "nothing else is written", z3.BoolVal(len(end.writes) == len(notes) + len(counts))
        yield "what is noted", noted.is_noted == bool(notes)
        yield "both are", z3.BoolVal(len(notes) in (0, 2))
        for write, flow in zip(notes, (sent.flow, noted.fragments)):
            yield "under its key", write.at == key(flow)
            yield "with the time", write.value == NOW
        yield "what is counted", noted.is_new == bool(counts)
        yield "once", z3.BoolVal(len(counts) < 2)
        for write in counts:
            yield "for this processor", write.at == spec.counter_of_begun(self.world.processor)
            yield "as one more", write.value == ports(write.at) + 1
        # A word of ports, and the counter: each is read once, so that it does not matter who changes it meanwhile.
        of_ports = [read for read in end.reads if read.table == PORTS]
        yield "words are read once", z3.BoolVal(len(of_ports) <= 1 + len(counts))


def key(flow):
    return key_of(looked_up(flow)[1])


def prove(program, world):
    function = Egress(program, world, [""])
    function.packet()
    function.headers("", DESTINATION, function.behind, farthest(world.hook))
