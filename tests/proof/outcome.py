"""What becomes of a packet from its first byte to the counters, by the specification: its parts put together."""

from dataclasses import replace

import z3

import counting
import labels
import specification as spec
import specification6 as six
from words import wide, word

REPLIES, COUNTERS, LISTS = 3, "COUNTERS", labels.COUNTERS


def first_of(*cases):
    """The reason of the first case that holds, or none."""
    reason = word(spec.UNLISTED, 32)
    for holds, number in reversed(cases):
        reason = z3.If(holds, word(number, 32), reason)
    return reason


def reason6(high, below, world, settings):
    """Why an IPv6 source is listed in this set, if it is: by the levels, then the /64, the shorter lengths, the longer ones."""
    levels, table = six.levels(high, world.table(settings.set + "LEVELS"), settings), world.table(settings.set + "SIX")
    number = lambda setting: z3.simplify(setting).as_long()
    to_64, left = number(settings.to_64), levels.lengths & settings.to_64
    is_left = lambda bit: z3.simplify(left & bit != 0)
    asks = lambda bit: to_64 & bit != 0 and not z3.is_false(is_left(bit))
    net64 = z3.And(is_left(1), six.net64(high, table, settings).found) if asks(1) else z3.BoolVal(False)
    others = [z3.And(is_left(bit), six.shorter(high, word(bit), table, settings).found)
              for bit in (1 << at for at in range(1, 64)) if asks(bit)]
    beyond = z3.simplify(levels.beyond == 1)
    if not z3.is_false(beyond):
        others += [z3.And(beyond, six.longer(high, below, word(at), table, settings).found) for at in range(number(settings.longer))]
    is_on, has_table = settings.last_level_start != 0, settings.has_table6 != 0
    return first_of((z3.Not(is_on), spec.UNLISTED), (levels.everything, spec.OTHER6), (levels.nothing, spec.UNLISTED),
                    (z3.Not(has_table), spec.UNLISTED), (net64, spec.NET64), (z3.Or(others), spec.OTHER6))


def reason(world):
    """Why this packet passes, or is to be dropped."""
    settings, allow, is_reply = world.all_settings, world.allow, z3.BoolVal(world.scene.is_reply)
    source = spec.source(world.frame, world.length)
    is_so = lambda kind: z3.is_true(z3.simplify(kind))
    may_be_allowed, is_reply = spec.may_overlap(world.table("OVERLAP"), settings), z3.And(settings.match_new != 0, is_reply)
    if is_so(source.is_ipv4):
        address = z3.simplify(source.address)
        of = lambda set_: spec.reason4(address, world.table(set_.set + "ADDRESSES"), world.table(set_.set + "NETWORKS"), set_)
        found, is_allowed, neighbours = of(settings), z3.And(may_be_allowed, of(allow) != spec.UNLISTED), z3.BoolVal(False)
    elif is_so(source.is_ipv6):
        of = lambda set_: reason6(z3.simplify(source.high), z3.simplify(source.low), world, set_)
        found, is_allowed = of(settings), z3.And(may_be_allowed, of(allow) != spec.UNLISTED)
        neighbours = six.is_neighbour_discovery(world.frame, world.length)
    else:
        return first_of((source.not_ip, spec.NOT_IP), (source.malformed, spec.MALFORMED), (source.too_many_tags, spec.TOO_MANY_TAGS))
    spared = z3.If(is_allowed, word(spec.ALLOWED, 32), z3.If(neighbours, word(six.NEIGHBOUR, 32), spec.after_hit(found, False, is_reply)))
    return z3.If(found == spec.UNLISTED, found, spared)


def is_right(world, end, reason):
    """Does the program end as the specification says? That is what theorems claim of its ends, put together."""
    of = lambda name: tuple(write for write in end.writes if write.table == name)
    others = [write for write in end.writes if write.table not in (COUNTERS, LISTS)]
    claims = [goal for _, goal in counting.claims(world, world.all_settings, replace(end, reads=(), writes=of(COUNTERS)), wide(reason))]
    lists = of(LISTS)
    # Counted for a list is what would be dropped for its source, and a reply.
    counts = z3.And(world.all_settings.lists != 0, z3.Or(reason == spec.REPLY, z3.And(z3.UGE(reason, spec.ADDRESS4), z3.ULE(reason, spec.OTHER6))))
    claims += [counts == (len(lists) == 1), z3.BoolVal(len(lists) <= 1 and not others)]
    for write in lists:
        within = write.at - labels.place(world, world.all_settings)
        claims += [z3.ULT(within, labels.ROW), write.value == 1, (z3.LShR(within, 3) & 3 == REPLIES) == (reason == spec.REPLY)]
    return z3.And(claims)


def observed(end):
    """What can be seen of an end of which all is known: what is answered, and which words are not zero any more, by place."""
    number = lambda value: z3.simplify(value).as_long()
    words = {COUNTERS: {}, LISTS: {}}
    for write in end.writes:
        words.setdefault(write.table, {})[number(write.at) // 8] = number(write.value)
    return {"action": number(end.registers[0]) & 2**32 - 1, "counted": words}


def wanted(world, reason):
    """The same by the specification, but for which list is counted for."""
    number = lambda value: z3.simplify(value).as_long()
    settings, clock = world.all_settings, word(0)
    action = spec.enforcement(settings, clock)
    if z3.is_true(z3.simplify(spec.is_drop(reason))):
        places = spec.counters_of_drop(settings, world.processor, word(0, 8), action, wide(reason))
        counted = dict(zip(map(number, places), (1, number(world.length))))
    else:
        counted = {number(spec.counter_of_pass(settings, world.processor, wide(reason))): 1}
    return {"action": number(spec.verdict(reason, action)), "counted": {COUNTERS: {at // 8: more for at, more in counted.items()}}}
