"""Own flows, as the documentation says (`match: new`; docs/reference/configuration.md, docs/internals/flows.md): what this host begins is
remembered when it is sent, and what could be its answer is a reply. Written from there.

A packet is taken apart in steps: `packet` finds its IP header, `carried4` and `carried6` what that carries, `extension` goes behind one
extension header of IPv6, of which there may be eight; then `answered`, `errors` and `quoted` tell of which flow one that comes in is
part. A packet that ends too early for a step is part of nothing. A protocol is told by its number alone, whichever IP carries it.
"""

from dataclasses import dataclass

import z3

from words import wide, word

ICMP, TCP, UDP, ICMP6 = PROTOCOLS = 1, 6, 17, 58
# Extension headers of IPv6 (RFC 8200; authentication: RFC 4302).
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION = 0, 43, 44, 51, 60
MOST_EXTENSIONS, MOST_TAGS = 8, 8
TAGS = 0x8100, 0x88A8, 0x9100
SYN, ACK = 2, 16
ANY_PORTS = 1 << 40

SECOND = 10**9
# For so long after the last packet sent a flow is known: as long as connection tracking does, and three minutes.
TCP_AGE, OTHER_AGE = 5 * 24 * 3600 * SECOND, 180 * SECOND


@dataclass
class Bytes:
    """A frame, of which a number may be read anywhere: as it is on the wire. Of one without an Ethernet header the type is told, however
    short it is."""

    frame: object
    length: z3.BitVecRef
    is_bare: bool = False

    def number(self, at, size):
        parts = [self.frame[at + number] for number in range(size)]
        return wide(z3.Concat(*parts) if size > 1 else parts[0])

    def reach(self, end):
        return z3.ULE(end, self.length)


@dataclass
class Carried:
    """What a packet carries, if it is one that flows are made of: the other end, the protocol, where that begins; or that it is a
    fragment behind the first, which has no ports."""

    is_one: z3.BoolRef
    high: z3.BitVecRef
    low: z3.BitVecRef
    protocol: z3.BitVecRef
    at: z3.BitVecRef
    is_later: z3.BoolRef


@dataclass
class Flow:
    """What a flow is known by, if there is one."""

    is_one: z3.BoolRef
    high: z3.BitVecRef
    low: z3.BitVecRef
    rest: z3.BitVecRef


NO_FLOW = Flow(z3.BoolVal(False), word(0), word(0), word(0))


def one_of(number, numbers):
    return z3.Or([number == one for one in numbers])


def packet(bytes_):
    """Is it IPv4, or IPv6, behind at most eight tags, and where does that begin? No header is shorter than two bytes."""
    here, is_4, is_6, header = z3.BoolVal(True), z3.BoolVal(False), z3.BoolVal(False), word(0, 32)
    # There are no tags without an Ethernet header.
    for tags in range(1 if bytes_.is_bare else MOST_TAGS + 1):
        at = word(12 + 4 * tags, 32)
        here, kind = z3.And(here, z3.Or(bytes_.is_bare, bytes_.reach(at + 4))), bytes_.number(at, 2)
        is_4 = z3.Or(is_4, z3.And(here, kind == 0x0800))
        is_6 = z3.Or(is_6, z3.And(here, kind == 0x86DD))
        header = z3.If(z3.And(here, one_of(kind, (0x0800, 0x86DD))), at + 2, header)
        here = z3.And(here, one_of(kind, TAGS))
    return is_4, is_6, header


def carried4(bytes_, header, end):
    """IPv4 (RFC 791): `end` tells whether the other end is the source (12) or the destination (16). An IPv4 address is known by the
    IPv6 address that stands for it."""
    first, protocol = bytes_.number(header, 1), bytes_.number(header + 9, 1)
    words = first & 15
    is_one = z3.And(bytes_.reach(header + 20), z3.LShR(first, 4) == 4, z3.UGE(words, 5), one_of(protocol, PROTOCOLS))
    address = word(0xFFFF << 32) | bytes_.number(header + end, 4)
    is_later = bytes_.number(header + 6, 2) & 0x1FFF != 0
    return Carried(is_one, word(0), address, protocol, header + z3.Extract(31, 0, 4 * words), is_later)


def carried6(bytes_, header, end):
    """IPv6: the same with the source at 8, or the destination at 24. What it carries may be extension headers."""
    is_one = z3.And(bytes_.reach(header + 40), z3.LShR(bytes_.number(header, 1), 4) == 6)
    high, low = bytes_.number(header + end, 8), bytes_.number(header + end + 8, 8)
    return Carried(is_one, high, low, bytes_.number(header + 6, 1), header + 40, z3.BoolVal(False))


def extension(bytes_, chain):
    """One step of a chain of extension headers: is there one, and what is behind it?"""
    at, kind = chain.at, chain.protocol
    has_units = one_of(kind, (HOP_BY_HOP, ROUTING, DESTINATION))
    is_extension = z3.Or(has_units, kind == FRAGMENT, kind == AUTHENTICATION)
    count = bytes_.number(at + 1, 1)
    size = z3.If(has_units, 8 * (count + 1), z3.If(kind == FRAGMENT, word(8), 4 * (count + 2)))
    is_later = z3.And(kind == FRAGMENT, z3.LShR(bytes_.number(at + 2, 2), 3) != 0)
    behind = Carried(z3.And(chain.is_one, bytes_.reach(at + 4)), chain.high, chain.low, bytes_.number(at, 1),
                     at + z3.Extract(31, 0, size), is_later)
    return is_extension, behind


def behind_extension(is_extension, chain, following):
    """What a packet carries behind extension headers: what is no extension header, or a later fragment of whatever."""
    pick = lambda one, other: z3.If(is_extension, one, other)
    return Carried(z3.If(is_extension, z3.And(following.is_one, following.is_later), chain.is_one), chain.high, chain.low,
                   pick(following.protocol, chain.protocol), pick(following.at, chain.at), z3.And(is_extension, following.is_later))


def by_ports(carried, ours, theirs):
    return Flow(z3.BoolVal(True), carried.high, carried.low, carried.protocol << 32 | ours << 16 | theirs)


def any_ports(carried):
    """All flows of a protocol with one address: for fragments."""
    return Flow(one_of(carried.protocol, PROTOCOLS), carried.high, carried.low, word(ANY_PORTS) | carried.protocol << 32)


def first_of(*cases):
    """The first of these whose condition holds; no flow where none does."""
    result = NO_FLOW
    for condition, flow in reversed(cases):
        pick = lambda one, other: z3.If(condition, one, other)
        result = Flow(z3.Or(z3.And(condition, flow.is_one), z3.And(z3.Not(condition), result.is_one)),
                      pick(flow.high, result.high), pick(flow.low, result.low), pick(flow.rest, result.rest))
    return result


def is_opening(bytes_, at):
    """A SYN without ACK asks for a connection."""
    return bytes_.number(at + 13, 1) & (SYN | ACK) == SYN


def is_echo(bytes_, carried, of_icmp, of_icmp6):
    kind = bytes_.number(carried.at, 1)
    is_kind = z3.Or(z3.And(carried.protocol == ICMP, kind == of_icmp), z3.And(carried.protocol == ICMP6, kind == of_icmp6))
    return z3.And(bytes_.reach(carried.at + 8), is_kind)


def by_echo(bytes_, carried):
    """An echo has its identifier in place of our port."""
    return by_ports(carried, bytes_.number(carried.at + 4, 2), word(0))


def ports(bytes_, at):
    return bytes_.number(at, 2), bytes_.number(at + 2, 2)


def answered(bytes_, carried):
    """The flow that a packet which comes in would be part of: of a TCP segment but for one that asks for a connection, a datagram, an
    echo reply, a later fragment. An echo request is part of none."""
    theirs, ours = ports(bytes_, carried.at)
    tcp = z3.And(carried.protocol == TCP, bytes_.reach(carried.at + 16), z3.Not(is_opening(bytes_, carried.at)))
    udp = z3.And(carried.protocol == UDP, bytes_.reach(carried.at + 4))
    flow = first_of((carried.is_later, any_ports(carried)), (z3.Or(tcp, udp), by_ports(carried, ours, theirs)),
                    (is_echo(bytes_, carried, 0, 129), by_echo(bytes_, carried)))
    return of_one(carried, flow)


def errors(bytes_, carried):
    """Is it an ICMP error, of IPv4 (unreachable, time exceeded, parameter problem), or of IPv6 (the same, and too big)? It quotes a
    packet of that version, eight bytes from its beginning."""
    kind = bytes_.number(carried.at, 1)
    is_one = z3.And(carried.is_one, z3.Not(carried.is_later), bytes_.reach(carried.at + 4))
    of_4 = z3.And(is_one, carried.protocol == ICMP, one_of(kind, (3, 11, 12)))
    of_6 = z3.And(is_one, carried.protocol == ICMP6, one_of(kind, (1, 2, 3, 4)))
    return of_4, of_6, carried.at + 8


def quoted(bytes_, carried):
    """The flow of a packet that an error quotes: one that this host has sent, so that our port is its source."""
    ours, theirs = ports(bytes_, carried.at)
    has_ports = z3.And(one_of(carried.protocol, (TCP, UDP)), bytes_.reach(carried.at + 4))
    flow = first_of((carried.is_later, any_ports(carried)), (has_ports, by_ports(carried, ours, theirs)),
                    (is_echo(bytes_, carried, 8, 128), by_echo(bytes_, carried)))
    return of_one(carried, flow)


def of_one(carried, flow):
    return Flow(z3.And(carried.is_one, flow.is_one), flow.high, flow.low, flow.rest)


def is_in_time(flow, last, now):
    """Was something of it sent so lately? A clock that has not come as far as the other says that it was just now."""
    limit = z3.If(z3.LShR(flow.rest, 32) == TCP, word(TCP_AGE), word(OTHER_AGE))
    return z3.Or(z3.ULT(now, last), z3.ULE(now - last, limit))


@dataclass
class Sent:
    """The flow of a frame that this host sends, and whether it may begin one: always, or if `port` of ours is one to begin from."""

    flow: Flow
    opens: z3.BoolRef
    has_port: z3.BoolRef
    port: z3.BitVecRef


def sent(bytes_, carried):
    """A TCP segment, of which a SYN without ACK begins a flow; a datagram; an echo request, which begins one. A later fragment tells
    nothing that the first has not."""
    ours, theirs = ports(bytes_, carried.at)
    is_tcp = z3.And(carried.protocol == TCP, bytes_.reach(carried.at + 16))
    is_udp = z3.And(carried.protocol == UDP, bytes_.reach(carried.at + 4))
    is_request = is_echo(bytes_, carried, 8, 128)
    flow = first_of((carried.is_later, NO_FLOW), (z3.Or(is_tcp, is_udp), by_ports(carried, ours, theirs)),
                    (is_request, by_echo(bytes_, carried)))
    return Sent(of_one(carried, flow), z3.Or(is_request, z3.And(is_tcp, is_opening(bytes_, carried.at))), is_udp, ours)


@dataclass
class Noted:
    """Whether a flow, and that of its fragments, is noted now; whether it is new then."""

    is_noted: z3.BoolRef
    is_new: z3.BoolRef
    fragments: Flow


def noted(flow, may_begin, is_there, last, now):
    """What may begin a flow, and what keeps up one that is known; but at most once a second."""
    is_known = z3.And(is_there, is_in_time(flow, last, now))
    is_young = z3.And(is_there, z3.Or(z3.ULT(now, last), z3.ULT(now - last, SECOND)))
    is_noted = z3.And(flow.is_one, z3.Not(is_young), z3.Or(is_known, may_begin))
    fragments = Flow(flow.is_one, flow.high, flow.low, word(ANY_PORTS) | z3.LShR(flow.rest, 32) << 32)
    return Noted(is_noted, z3.And(is_noted, z3.Not(is_known)), fragments)


def bit_of_port(port, words):
    """Whether this host begins flows from it: a bit of as many as there are ports."""
    return z3.LShR(words(z3.LShR(port, 6) << 3), port & 63) & 1 != 0


def counter_of_begun(processor):
    """Behind the bits, one for each of 64 processors; those of more share them."""
    return ((1 << 16) >> 6) * 8 + (wide(processor) & 63) * 8


def length_of_headers(bytes_, carried):
    """How long the headers of a frame are, to where the data of TCP or UDP begins; nothing for other protocols, and later fragments. TCP
    tells the length of its own in words."""
    is_one = z3.And(carried.is_one, z3.Not(carried.is_later))
    tcp = z3.And(carried.protocol == TCP, bytes_.reach(carried.at + 16))
    length = z3.If(tcp, 4 * z3.LShR(bytes_.number(carried.at + 12, 1), 4), word(8))
    return z3.If(z3.And(is_one, z3.Or(tcp, carried.protocol == UDP)), wide(carried.at) + length, word(0))
