"""The way from a frame to what it carries, which is taken by the function that tells replies, and by the egress program: in parts, as the
specification takes a packet apart. Up to the IP header; an IPv4 header and what it carries; an IPv6 header; any one of its extension
headers, and what is behind them.
"""

import z3

import parts
import specification_flows as spec
from bytecode import CALL, EXIT
from frames import LOADS, FrameMachine, of_any_frame
from parts import Arrival
from theorem import follows
from words import low, unknown, word

# Where an IPv4 header, and an IPv6 header, has the other end: its source, or its destination in a packet that this host sends.
SOURCE, DESTINATION = {"IPv4": 12, "IPv6": 8}, {"IPv4": 16, "IPv6": 24}
HEADERS = {20: "IPv4", 40: "IPv6"}
QUOTED = "quoted "
# How far behind a frame's beginning a header may be; how long the extension headers behind one are at most.
FIRST, FARTHEST, LONGEST_EXTENSION = 14, 14 + 4 * spec.MOST_TAGS, 8 * 256


def farthest(hook):
    """How far behind a frame's beginning its own header may be: without an Ethernet header there are no tags."""
    return FIRST if hook.is_bare else FARTHEST


# Where the program counts from, when it comes to an IPv6 header: from the type, and from the beginning of an error.
BEFORE = {"IPv6": 2, QUOTED + "IPv6": 8}


class Headers:
    """Each part begins with nothing known but a few numbers, and leads to those that the specification names."""

    def __init__(self, program, world, prefixes):
        self.program, self.world = program, of_any_frame(world)
        self.bytes = spec.Bytes(self.world.frame, self.world.length, world.hook.is_bare)
        machine = FrameMachine(program, self.world)
        self.live, self.start = machine.live, machine.beginning()
        # Where each part begins. Where headers are read is found as one comes there.
        # The last circles are those of extension headers. One before them looks behind tags; it is gone round as often as there are any.
        circles = parts.heads(machine)[-len(prefixes):]
        self.names = {head: prefix + "extension" for head, prefix in zip(circles, prefixes, strict=True)}
        self.arrived = {}

    def ended(self, end, here, goes_on, carried):
        """Of who ends in a part, where those go on of whom this is true; `carried` is what the packet carries, once that is known."""
        raise NotImplementedError

    def behind(self, carried):
        """Where a packet leads that carries this: to which parts, who of them, and with which numbers."""
        raise NotImplementedError

    def stops(self, state, this):
        if state.at in self.names:
            return True
        if this.code != CALL or this.symbol or this.immediate not in LOADS:
            return False
        size = low(state.registers[4], 32).as_long()
        return size in HEADERS and self.begins(state, HEADERS[size])

    def begins(self, state, name):
        """A part begins here. What comes first is no quotation."""
        self.names[state.at] = QUOTED + name if name in self.names.values() else name
        return True

    def part(self, begin, facts, onward, carried=None):
        """Where those have come who go on."""
        arrived = {}
        for end, here in parts.runs(self.program, self.world, {}, begin, self.stops, facts, FrameMachine):
            if self.program.instructions[end.at].code == EXIT:
                self.ended(end, here, z3.Or([condition for condition, _ in onward.values()]), carried)
                continue
            point = self.names[end.at]
            if end.writes or end.reads:
                follows(f"something is written, or asked, before one comes to {point}", z3.BoolVal(False), *here)
            condition, numbers = onward.get(point, (z3.BoolVal(False), {}))
            follows(f"only those come to {point} who are to", condition, *here)
            self.came(point, end, numbers, here)
            arrived.setdefault(point, []).append(Arrival(end, numbers, here))
        return arrived

    def came(self, point, end, numbers, here):
        """More that is to be so of whoever comes to a part."""

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
        if self.world.hook.is_bare:
            # From where the kernel counts.
            numbers["in frame"] = z3.simplify(header - self.world.hook.shift)
        return z3.And(condition, within(header, farthest)), numbers

    def packet(self, condition=z3.BoolVal(True)):
        """Up to the header, for those of whom this is true."""
        is_4, is_6, header = spec.packet(self.bytes)
        self.goes_on(self.part(self.start, [], {name: self.to_header(name, z3.And(condition, is_one), header, farthest(self.world.hook))
                                                for name, is_one in (("IPv4", is_4), ("IPv6", is_6))}))

    def headers(self, prefix, end, behind, farthest):
        """From a header on that is at most so far behind the beginning; the same of one that is quoted."""
        header = unknown("header", 32)
        facts = [within(header, farthest)]
        for name, carried_by in (("IPv4", spec.carried4), ("IPv6", spec.carried6)):
            _, numbers = self.to_header(prefix + name, z3.BoolVal(True), header, farthest)
            begin, carried = self.from_(prefix + name, numbers), carried_by(self.bytes, header, end[name])
            if name == "IPv4":
                self.goes_on(self.part(begin, facts, behind(carried), carried))
            else:
                most = word(spec.MOST_EXTENSIONS)
                self.goes_on(self.part(begin, facts, {prefix + "extension": self.to_extension(carried, most, farthest)}))
        self.extensions(prefix + "extension", behind, farthest)

    def to_extension(self, chain, left, farthest):
        """Those who come to one more header, with so many left."""
        condition = z3.And(chain.is_one, z3.Not(chain.is_later), left != 0, within(chain.at, reached(left, farthest)),
                           z3.ULE(chain.protocol, 255))
        return condition, {"next": chain.protocol, "at": chain.at, "left": left, "high": chain.high, "low": chain.low}

    def extensions(self, point, behind, farthest):
        """Any one of them: it leads to the next, or to what is behind all of them."""
        numbers = {name: unknown(name, 32 if name == "at" else 64) for name in ("next", "at", "left", "high", "low")}
        left = numbers["left"]
        chain = spec.Carried(z3.BoolVal(True), numbers["high"], numbers["low"], numbers["next"], numbers["at"], z3.BoolVal(False))
        is_extension, following = spec.extension(self.bytes, chain)
        facts = [z3.ULE(chain.protocol, 255), z3.ULE(1, left), z3.ULE(left, spec.MOST_EXTENSIONS),
                 within(chain.at, reached(left, farthest))]
        carried = spec.behind_extension(is_extension, chain, following)
        again, numbers_again = self.to_extension(following, left - 1, farthest)
        came = self.arrived[point]
        at = came[0].state.at

        def round_(same):
            onward = self.part(parts.beginning(at, same, numbers), facts,
                               {point: (z3.And(is_extension, again), numbers_again), **behind(carried)}, carried)
            return onward.pop(point), onward

        self.goes_on(parts.circle(self.live[at], came, list(numbers), round_))


def reached(left, farthest):
    """How far one may have come."""
    return farthest + 40 + (spec.MOST_EXTENSIONS - low(left, 32)) * LONGEST_EXTENSION


def within(header, farthest):
    return z3.And(z3.ULE(FIRST, header), z3.ULE(header, farthest))
