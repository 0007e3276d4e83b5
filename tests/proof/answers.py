"""Theorem about the specification alone: what it notes of a frame that is sent is what it looks up of an answer, whoever sends it: of a
packet with the ports the other way round, of an echo reply, of a later fragment, of an error that quotes the frame. And no two flows are
known by one key, nor is one known by that of fragments. So `replies` and `egress` speak of the same flows.
"""

import z3

import specification_flows as spec
from egress import key
from theorem import all_follow, follows
from words import unknown, word

EVERY = z3.BoolVal(True)


class Frame:
    def __init__(self, name):
        self.byte = z3.Function(name, z3.BitVecSort(32), z3.BitVecSort(8))

    def __getitem__(self, at):
        return self.byte(at)


def bytes_(name):
    return spec.Bytes(Frame(name), unknown(f"length of {name}", 32))


def carried(name, is_later=z3.BoolVal(False)):
    """By the same other end, over the same protocol."""
    return spec.Carried(EVERY, unknown("high"), unknown("low"), unknown("protocol"), unknown(f"at of {name}", 32), is_later)


def with_fault(name):
    prove(**FAULTS[name])


def prove(of_fragments=lambda noted: noted.fragments, by_ports=spec.by_ports):
    out, back = bytes_("sent"), bytes_("back")
    sent, came = carried("sent"), carried("back")
    facts = [spec.one_of(sent.protocol, spec.PROTOCOLS), z3.ULT(sent.at, 1 << 17), z3.ULT(came.at, 1 << 17)]
    noted = spec.sent(out, sent).flow
    has_ports = spec.one_of(sent.protocol, (spec.TCP, spec.UDP))
    same = lambda one, other, at, to, size: one.number(sent.at + at, size) == other.number(came.at + to, size)
    whole = z3.Implies(sent.protocol == spec.TCP, z3.And(back.reach(came.at + 16), z3.Not(spec.is_opening(back, came.at))))
    turned = [has_ports, whole, back.reach(came.at + 4), same(out, back, 0, 2, 2), same(out, back, 2, 0, 2)]
    told("who answers with ports the other way round", noted, spec.answered(back, came), [*facts, *turned])
    reply = z3.If(sent.protocol == spec.ICMP, word(0), word(129))
    echo = [z3.Not(has_ports), back.number(came.at, 1) == reply, back.reach(came.at + 8), same(out, back, 4, 4, 2)]
    told("who answers an echo request", noted, spec.answered(back, came), [*facts, *echo])
    quotes = [back.reach(came.at + 8), *(same(out, back, at, at, 1) for at in range(8))]
    told("who quotes a frame in an error", noted, spec.quoted(back, came), [*facts, *quotes])
    fragments = of_fragments(spec.noted(noted, EVERY, EVERY, unknown("last"), unknown("now")))
    told("who sends a later fragment", fragments, spec.answered(back, carried("back", EVERY)), facts)
    different(by_ports)


def told(what, noted, looked_up, facts):
    all_follow([(f"{what} is asked for", looked_up.is_one), (f"{what} is found", key(looked_up) == key(noted))], [noted.is_one, *facts])


def different(by_ports):
    """A port has two bytes, a protocol's number one."""
    flows = [(carried(name), unknown(f"ours of {name}", 16), unknown(f"theirs of {name}", 16)) for name in ("one", "other")]
    parts = []
    for number, (one, ours, theirs) in enumerate(flows):
        one.high, one.low, one.protocol = (unknown(f"{name} {number}") for name in ("high", "low", "protocol"))
        parts.append([one.high, one.low, one.protocol, ours, theirs])
    facts = [z3.ULE(one.protocol, 255) for one, _, _ in flows]
    keys = [key(by_ports(one, z3.ZeroExt(48, ours), z3.ZeroExt(48, theirs))) for one, ours, theirs in flows]
    equal = z3.And([one == other for one, other in zip(*parts)])
    follows("flows with one key are one", z3.Implies(keys[0] == keys[1], equal), *facts)
    follows("no flow has the key of fragments", keys[0] != key(spec.any_ports(flows[1][0])), *facts)


def with_mixed_up_ports(one, ours, theirs):
    return spec.by_ports(one, ours, theirs & 0xFF)


FAULTS = {
    "fragments are noted as the flow is": dict(of_fragments=lambda noted: spec.Flow(
        noted.fragments.is_one, noted.fragments.high, noted.fragments.low, noted.fragments.rest & ~word(spec.ANY_PORTS))),
    "a port is known by half of it": dict(by_ports=with_mixed_up_ports),
}
