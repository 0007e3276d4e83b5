"""Theorem: of every packet that has a source, the function that is asked to which port it is sent answers what the specification finds
in its frame: behind up to eight tags, IPv4 options, and up to seven extension headers of IPv6. Nothing is written, and no table is read.

It asks another function where the IP header lies, which is proved first. The chain of extension headers is one round (`parts.py`): it
begins anywhere one may lie, and leads to the next, or to an answer.
"""

import z3

import parts
import specification_flows as flows
import specification_ports as by
from bytecode import EXIT
from frames import FrameMachine, of_any_frame
from headers import FARTHEST, FIRST, LONGEST_EXTENSION, within
from machine import Pointer, Unproved
from parts import Arrival
from theorem import all_follow, follows, obligations
from words import low, unknown, wide, word

PORT, HEADER = "filterd_port", "filterd_header"
# Who looks behind seven headers comes to an eighth.
MOST = by.MOST_EXTENSIONS + 1


def header_of(bytes_):
    """Twice where it lies, and one more for IPv6; 0 where there is none."""
    is_4, is_6, header = flows.packet(bytes_)
    return z3.If(is_4, 2 * header, z3.If(is_6, 2 * header + 1, word(0, 32)))


def header(function, world):
    """Of every frame. Whoever has a source has a header there that is whole; but for a frame without an Ethernet header whose type is a
    tag, which has no port that anybody finds."""
    source = world.source
    bytes_ = flows.Bytes(of_any_frame(world).frame, world.length, world.hook.is_bare)
    is_4, is_6, at = flows.packet(bytes_)
    same = [byte == bytes_.frame[number] for number, byte in enumerate(world.frame)]
    if world.hook.is_bare:
        same.append(z3.Not(flows.one_of(bytes_.number(12, 2), flows.TAGS)))
    follows("an IPv4 source has a whole header", z3.Implies(source.is_ipv4, z3.And(is_4, is_whole(bytes_, at, 4))), *world.facts, *same)
    follows("an IPv6 source has a whole header", z3.Implies(source.is_ipv6, z3.And(is_6, is_whole(bytes_, at, 6))), *world.facts, *same)
    world = of_any_frame(world)
    machine = FrameMachine(function, world)
    ends = machine.run(machine.beginning())
    obligations(machine, *world.facts)
    for end in ends:
        all_follow([*silent(end), ("where the header lies", low(end.registers[0], 32) == header_of(bytes_))], [*world.facts, end.when])


def is_whole(bytes_, at, version):
    return z3.And(within(at, FARTHEST), bytes_.reach(at + (20 if version == 4 else 40)))


def silent(end):
    yield "it writes nothing, and reads no table", z3.BoolVal(not end.writes and not end.reads)


class Port:
    """From a header on, whatever of the frame is before it."""

    def __init__(self, function, world):
        self.function, self.world = function, of_any_frame(world)
        self.bytes = flows.Bytes(self.world.frame, self.world.length, world.hook.is_bare)
        self.machine = FrameMachine(function, self.world)
        (self.chain,) = parts.heads(self.machine)

    def prove(self):
        at = unknown("at", 32)
        self.part(self.from_start(2 * at), [is_whole(self.bytes, at, 4)], by.sent_to4(self.bytes, at))
        begin, first = at + 40, flows.Carried(z3.BoolVal(True), word(0), word(0), self.bytes.number(at + 6, 1), at + 40, z3.BoolVal(False))
        numbers = {"next": wide(first.protocol), "at": wide(begin), "left": word(MOST), "begin": wide(begin),
                   "said": self.bytes.number(at, 8)}
        came = self.part(self.from_start(2 * at + 1), [is_whole(self.bytes, at, 6)], None, numbers)
        live = self.machine.live[self.chain]
        same = parts.handed_on(live, came, list(numbers), others=[parts.Same(is_any=True)])
        # Where the chain begins is where its first header is: on the stack is the former, which stays as it is.
        same = {key: parts.Same(name="begin") if key[0] == "stack" and what.name == "at" else what for key, what in same.items()}
        back = self.round(same)
        for key, what in same.items():
            if not parts.all_fit(live, what, key, [*came, *back]):
                parts.raise_unless_fit(live, [what], key, [*came, *back])

    def from_start(self, header):
        self.summaries = {HEADER: lambda _, registers: self.answered(registers, wide(header))}
        return self.machine.beginning()

    def answered(self, registers, header):
        if registers[1] != Pointer("context", word(0)):
            raise Unproved(f"{HEADER} is asked of something else than the packet")
        return (), header

    def round(self, same):
        """Whoever comes to a header of the chain, with so many left to look at."""
        numbers = {name: unknown(name) for name in ("next", "at", "left", "begin", "said")}
        at, begin, left = low(numbers["at"], 32), low(numbers["begin"], 32), numbers["left"]
        chain = flows.Carried(z3.BoolVal(True), word(0), word(0), numbers["next"], at, z3.BoolVal(False))
        length = z3.LShR(numbers["said"], 16) & 0xFFFF
        answer, goes_on, behind = by.sent_to6(self.bytes, chain, length, begin)
        again = numbers | {"next": behind.protocol, "at": wide(behind.at), "left": left - 1}
        facts = [self.may_be(numbers)]
        return self.part(parts.beginning(self.chain, same, numbers), facts, answer, again, z3.And(goes_on, left != 1))

    def may_be(self, numbers):
        """Where a header may lie, with so many left."""
        left, begin = numbers["left"], numbers["begin"]
        return z3.And(z3.ULE(1, left), z3.ULE(left, MOST), z3.ULE(numbers["next"], 255),
                      z3.ULE(FIRST + 40, begin), z3.ULE(begin, FARTHEST + 40),
                      z3.ULE(begin, numbers["at"]), z3.ULE(numbers["at"], begin + (MOST - left) * LONGEST_EXTENSION))

    def part(self, begin, facts, answer, numbers=None, goes_on=z3.BoolVal(True)):
        """Where the chain goes on, for those of whom that is so; whoever ends has this answer."""
        arrived = []
        stop = lambda state, this: state.at == self.chain
        for end, here in parts.runs(self.function, self.world, getattr(self, "summaries", {}), begin, stop, facts, FrameMachine):
            if self.function.instructions[end.at].code == EXIT:
                claims = list(silent(end))
                claims += [("to which port it is sent", low(end.registers[0], 32) == (word(by.HIDDEN, 32) if answer is None else answer))]
                all_follow([*claims, ("it looks no further", z3.Not(goes_on) if numbers else z3.BoolVal(True))], here)
                continue
            if numbers is None:
                follows("IPv4 has no chain of headers", z3.BoolVal(False), *here)
            all_follow([*silent(end), ("only those look further who are to", z3.And(goes_on, self.may_be(numbers)))], here)
            arrived.append(Arrival(end, numbers, here))
        return arrived


def port(function, world):
    """Of every packet with a source: where its header lies is for `header`."""
    Port(function, world).prove()
