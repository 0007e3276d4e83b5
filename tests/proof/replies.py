"""Theorem: where replies pass, a packet is one if, and only if, the flow that the specification finds in its frame is one that this
host has begun and has sent something of not too long ago. The map of flows is asked once, for exactly this flow, or not at all; and
nothing is written.

The function is taken in parts, as the specification takes a packet apart: up to the IP header; an IPv4 header and what it carries; an
IPv6 header; any one of its extension headers, and what is behind them; the same of what an ICMP error quotes; and the answer.
"""

import z3

import parts
import specification_flows as spec
from bytecode import CALL, EXIT
from frames import FLOWS, IS_KNOWN, LAST, LOAD, LOOK_UP, NOW, FrameMachine, key_at, of_any_frame
from parts import Arrival
from theorem import all_follow, follows
from words import low, unknown, word

# Where an IPv4 header, and an IPv6 header, has the other end: its source, or its destination in a packet that this host has sent.
SOURCE, DESTINATION = {"IPv4": 12, "IPv6": 8}, {"IPv4": 16, "IPv6": 24}
HEADERS = {20: "IPv4", 40: "IPv6"}
QUOTED, ANSWER = "quoted ", "answer"
# How far behind a frame's beginning a header may be; how long the extension headers behind one are at most.
FIRST, FARTHEST, LONGEST_EXTENSION = 14, 14 + 4 * spec.MOST_TAGS, 8 * 256
FARTHEST_QUOTED = FARTHEST + 40 + spec.MOST_EXTENSIONS * LONGEST_EXTENSION + 8
# Where the program counts from, when it comes to an IPv6 header: from the type, and from the beginning of an error.
BEFORE = {"IPv6": 2, QUOTED + "IPv6": 8}


class Function:
    """In parts. Each begins with nothing known but a few numbers, and leads to those that the specification names."""

    def __init__(self, program, world, settings):
        self.program, self.world, self.settings = program, world, settings
        self.bytes = spec.Bytes(world.frame, world.length)
        machine = FrameMachine(program, world)
        self.live, self.start = machine.live, machine.beginning()
        first, second = parts.heads(machine)
        # Where each part begins. Where headers are read, and a flow is looked up, is found as one comes there.
        self.names = {first: "extension", second: QUOTED + "extension"}
        self.arrived = {}

    def stops(self, state, this):
        if state.at in self.names:
            return True
        if this.code != CALL or this.symbol or this.immediate not in (LOAD, LOOK_UP):
            return False
        size = low(state.registers[4], 32).as_long() if this.immediate == LOAD else None
        if this.immediate == LOAD and size not in HEADERS:
            return False
        name = HEADERS.get(size, ANSWER)
        self.names[state.at] = QUOTED + name if name in self.names.values() else name
        return True

    def part(self, begin, facts, onward):
        """Whoever ends here is no reply; others go on as `onward` says: where to, who, and with which numbers."""
        arrived = {}
        for end, here in parts.runs(self.program, self.world, {}, begin, self.stops, facts, FrameMachine):
            if end.writes or end.reads:
                follows("something is written, or asked before the flow is known", z3.BoolVal(False), *here)
            if self.program.instructions[end.at].code == EXIT:
                goes_on = z3.Or([condition for condition, _ in onward.values()])
                all_follow([("it is no reply", low(end.registers[0], 32) == 0), ("it is looked up", z3.Not(goes_on))], here)
                continue
            point = self.names[end.at]
            condition, numbers = onward.get(point, (z3.BoolVal(False), {}))
            follows(f"only those come to {point} who are to", condition, *here)
            if point == ANSWER:
                follows("the flow that is looked up", key_at(end, end.registers[2]) == key_of(numbers), *here)
            arrived.setdefault(point, []).append(Arrival(end, numbers, here))
        return arrived

    def goes_on(self, arrived):
        for point, came in arrived.items():
            self.arrived.setdefault(point, []).extend(came)

    def from_(self, point, numbers):
        """A state of anybody who comes there, of whom nothing is known but these."""
        came = self.arrived[point]
        at, = {arrival.state.at for arrival in came}
        return parts.beginning(at, parts.handed_on(self.live[at], came, list(numbers)), numbers)

    def to_header(self, point, condition, header, farthest):
        numbers = {"header": header, "before": header - BEFORE.get(point, 0)}
        return z3.And(condition, within(header, farthest)), numbers

    def packet(self):
        """Up to the header, if replies pass at all."""
        is_4, is_6, header = spec.packet(self.bytes)
        on = self.settings.match_new != 0
        self.goes_on(self.part(self.start, [], {
            point: self.to_header(point, z3.And(on, is_one), header, FARTHEST) for point, is_one in (("IPv4", is_4), ("IPv6", is_6))}))

    def behind(self, carried):
        """Where a packet leads that carries this: to be looked up, or to what it quotes."""
        of_4, of_6, at = spec.errors(self.bytes, carried)
        quoted = {QUOTED + name: self.to_header(QUOTED + name, is_one, at, FARTHEST_QUOTED)
                  for name, is_one in (("IPv4", of_4), ("IPv6", of_6))}
        return {ANSWER: looked_up(spec.answered(self.bytes, carried)), **quoted}

    def behind_quoted(self, carried):
        return {ANSWER: looked_up(spec.quoted(self.bytes, carried))}

    def headers(self, prefix, end, behind, farthest):
        """From a header on; the same of one that is quoted."""
        header = unknown("header", 32)
        facts = [within(header, farthest)]
        for name, carried_by in (("IPv4", spec.carried4), ("IPv6", spec.carried6)):
            point = prefix + name
            _, numbers = self.to_header(point, z3.BoolVal(True), header, farthest)
            carried = carried_by(self.bytes, header, end[name])
            onward = behind(carried) if name == "IPv4" else {
                prefix + "extension": self.to_extension(carried, word(spec.MOST_EXTENSIONS), farthest)}
            self.goes_on(self.part(self.from_(point, numbers), facts, onward))
        self.extensions(prefix + "extension", behind, farthest)

    def to_extension(self, chain, left, farthest):
        """Those who come to one more header, with so many left."""
        condition = z3.And(chain.is_one, z3.Not(chain.is_later), left != 0, within(chain.at, self.reached(left, farthest)),
                           z3.ULE(chain.protocol, 255))
        return condition, {"next": chain.protocol, "at": chain.at, "left": left, "high": chain.high, "low": chain.low}

    def reached(self, left, farthest):
        """How far one may have come."""
        return farthest + 40 + (spec.MOST_EXTENSIONS - low(left, 32)) * LONGEST_EXTENSION

    def extensions(self, point, behind, farthest):
        """Any one of them: it leads to the next, or to what is behind all of them."""
        numbers = {name: unknown(name, 32 if name == "at" else 64) for name in ("next", "at", "left", "high", "low")}
        left = numbers["left"]
        chain = spec.Carried(z3.BoolVal(True), numbers["high"], numbers["low"], numbers["next"], numbers["at"], z3.BoolVal(False))
        is_extension, following = spec.extension(self.bytes, chain)
        facts = [z3.ULE(chain.protocol, 255), z3.ULE(1, left), z3.ULE(left, spec.MOST_EXTENSIONS),
                 within(chain.at, self.reached(left, farthest))]
        carried = spec.behind_extension(is_extension, chain, following)
        again, numbers_again = self.to_extension(following, left - 1, farthest)
        came = self.arrived[point]
        live = self.live[came[0].state.at]

        def round_(same):
            begin = parts.beginning(came[0].state.at, same, numbers)
            onward = self.part(begin, facts, {point: (z3.And(is_extension, again), numbers_again), **behind(carried)})
            return onward.pop(point), onward

        self.goes_on(parts.circle(live, came, list(numbers), round_))

    def answer(self):
        """What follows from the entry of the flow."""
        flow = spec.Flow(z3.BoolVal(True), *(unknown(name) for name in ("high", "low", "rest")))
        _, numbers = looked_up(flow)
        begin = self.from_(ANSWER, numbers)
        is_reply = z3.And(IS_KNOWN, spec.is_in_time(flow, LAST, NOW))
        for end, here in parts.runs(self.program, self.world, {}, begin, lambda state, this: False, [], FrameMachine):
            if end.writes or [read.table for read in end.reads] != [FLOWS]:
                follows("the map is asked once, and nothing is written", z3.BoolVal(False), *here)
            answer = low(end.registers[0], 32) == z3.If(is_reply, word(1, 32), word(0, 32))
            all_follow([("the flow that is asked for", end.reads[0].at == key_of(numbers)), ("the answer", answer)], here)


def within(header, farthest):
    return z3.And(z3.ULE(FIRST, header), z3.ULE(header, farthest))


def key_of(numbers):
    return z3.Concat(*numbers.values())


def looked_up(flow):
    """Whether it is, and what by, in this order."""
    return flow.is_one, {"high": flow.high, "low": flow.low, "rest": flow.rest}


def prove(program, world, settings):
    function = Function(program, of_any_frame(world), settings)
    function.packet()
    function.headers("", SOURCE, function.behind, FARTHEST)
    function.headers(QUOTED, DESTINATION, function.behind_quoted, FARTHEST_QUOTED)
    function.answer()
