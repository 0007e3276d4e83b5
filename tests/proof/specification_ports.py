"""What the program for lists with ports must do with a packet that no other list drops, as docs/reference/configuration.md
(`ports`, `except_ports`) and docs/internals/ports.md say. Written from there.

A list with ports, or with all ports but some, has a clause; its sources stand in the sets of that clause's slot. A packet is dropped if
any clause whose sets cover its source wants it, by the first of these. What is allowed passes all the same, so do neighbour discovery
of IPv6 and a reply. Else what is covered passes, and is counted as sent to another port, or as a later fragment, which tells no port.

`wants` says which packets a clause wants, `sent_to` to which port a packet is sent (by TCP or UDP; no other protocol has any).
"""

import z3

import specification_flows as flows
from words import wide, word

SLOTS, RANGES = 8, 32
# What a clause makes of a packet: it drops it, lets it pass, or cannot say, as a later fragment tells no port.
DROPS, PASSES, UNTOLD = range(3)
# In the place of a port: another protocol than TCP and UDP; a later fragment; what should have a port, and hides it.
NONE, LATER, HIDDEN = 1 << 16, 2 << 16, 3 << 16
OTHER_PORT, LATER_FRAGMENT = 11, 12
# Behind more extension headers no port is looked for.
MOST_EXTENSIONS = 7


def is_port(port):
    """What is asked for is a port, or one of the three."""
    return z3.Or(z3.ULT(port, NONE), port == NONE, port == LATER, port == HIDDEN)


def is_within(first, last, port):
    """Is a port in this range, of which both are a part?"""
    return z3.And(z3.ULE(first, port), z3.ULE(port, last))


def wants(is_except, is_said, port):
    """Does a clause want a packet that is sent to this port, if that is among its ports or not? One for all ports but some wants other
    protocols, too; what hides its port is wanted by each."""
    is_wanted = z3.If(port == NONE, is_except, z3.Or(port == HIDDEN, is_said != is_except))
    return z3.If(port == LATER, word(UNTOLD, 32), z3.If(is_wanted, word(DROPS, 32), word(PASSES, 32)))


def port_at(bytes_, protocol, at, end):
    """What a packet that carries this there says of its port: the second number of TCP and UDP, if both lie in the frame, and before
    the packet's end, where it says where that is."""
    has_ports = flows.one_of(protocol, (flows.TCP, flows.UDP))
    is_there = z3.And(bytes_.reach(at + 4), z3.ULE(wide(at) + 4, end))
    to = z3.Extract(31, 0, bytes_.number(at + 2, 2))
    return z3.If(has_ports, z3.If(is_there, to, word(HIDDEN, 32)), word(NONE, 32))


def end_of(begin, length):
    """Where a packet ends that is so long from there. One whose header says 0, as one that is too long for it does, says nothing."""
    return z3.If(length == 0, word(2**64 - 1), wide(begin) + length)


def sent_to4(bytes_, header):
    """IPv4 (RFC 791), whose length is that of the whole packet. A header that is too short hides what is behind it."""
    words = bytes_.number(header, 1) & 15
    is_later = bytes_.number(header + 6, 2) & 0x1FFF != 0
    at = header + z3.Extract(31, 0, 4 * words)
    port = port_at(bytes_, bytes_.number(header + 9, 1), at, end_of(header, bytes_.number(header + 2, 2)))
    return z3.If(z3.ULT(words, 5), word(HIDDEN, 32), z3.If(is_later, word(LATER, 32), port))


def sent_to6(bytes_, chain, length, begin):
    """IPv6, of which a chain of headers begins here, and so many bytes follow its own: what it is sent to, if there is no extension
    header; if there is one, what follows from that, unless more headers do."""
    is_extension, behind = flows.extension(bytes_, chain)
    port = port_at(bytes_, chain.protocol, chain.at, end_of(begin, length))
    by_extension = z3.If(z3.And(behind.is_one, behind.is_later), word(LATER, 32), word(HIDDEN, 32))
    goes_on = z3.And(is_extension, behind.is_one, z3.Not(behind.is_later))
    return z3.If(is_extension, by_extension, port), goes_on, behind


def by_clauses(holds, wanted):
    """The reason, and beside it the number of the clause (from 1 on; 0 if by none), by what each one's sets say of the source (0 if
    they do not cover it) and by whether it wants the packet."""
    covers = [held != 0 for held in holds]
    waits = z3.Or([z3.And(covered, wants_ == UNTOLD) for covered, wants_ in zip(covers, wanted)])
    told = z3.If(waits, word(LATER_FRAGMENT, 32), z3.If(z3.Or(covers), word(OTHER_PORT, 32), word(0, 32)))
    for slot in reversed(range(SLOTS)):
        told = z3.If(z3.And(covers[slot], wanted[slot] == DROPS), holds[slot] | (slot + 1) << 8, told)
    return told


def is_drop(told):
    """Is it dropped by a clause?"""
    return z3.UGT(told, 0xFF)


def after_all(told, *spares):
    """The same after what spares a packet that a clause drops: the first of these that is so has its reason."""
    spared = told
    for is_so, reason in reversed(spares):
        spared = z3.If(is_so, word(reason, 32), spared)
    return z3.If(is_drop(told), spared, told)
