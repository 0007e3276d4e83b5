"""What becomes of a packet from its first byte to the counters, by the specification: its parts put together."""

from dataclasses import replace

import z3

import counting
import labelled
import labelled6
import labels
import specification as spec
import specification6 as six
from words import low, unknown, wide, word

REPLIES, COUNTERS, LISTS = 3, "COUNTERS", labels.COUNTERS


def first_of(*cases):
    """The reason of the first case that holds, or none."""
    reason = word(spec.UNLISTED, 32)
    for holds, number in reversed(cases):
        reason = z3.If(holds, word(number, 32), reason)
    return reason


def asked(high, below, levels, world, settings):
    """What a table is asked for, in order, and when: the /64, the shorter lengths, the longer ones."""
    table, number = world.table(settings.set + "SIX"), lambda setting: z3.simplify(setting).as_long()
    to_64, left = number(settings.to_64), levels.lengths & settings.to_64
    is_left = lambda bit: z3.simplify(left & bit != 0)
    asks = lambda bit: to_64 & bit != 0 and not z3.is_false(is_left(bit))
    if asks(1):
        yield is_left(1), six.net64(high, table, settings), spec.NET64
    for bit in (1 << at for at in range(1, 64)):
        if asks(bit):
            yield is_left(bit), six.shorter(high, word(bit), table, settings), spec.OTHER6
    beyond = z3.simplify(levels.beyond == 1)
    if not z3.is_false(beyond):
        yield from ((beyond, six.longer(high, below, word(at), table, settings), spec.OTHER6) for at in range(number(settings.longer)))


def reason6(high, below, world, settings):
    """Why an IPv6 source is listed in this set, if it is: by the levels, or by what the table is asked for."""
    levels = six.levels(high, world.table(settings.set + "LEVELS"), settings)
    found = [(kind, z3.And(is_asked, probe.found)) for is_asked, probe, kind in asked(high, below, levels, world, settings)]
    net64, others = ([holds for kind, holds in found if kind == wanted_] for wanted_ in (spec.NET64, spec.OTHER6))
    is_on, has_table = settings.last_level_start != 0, settings.has_table6 != 0
    return first_of((z3.Not(is_on), spec.UNLISTED), (levels.everything, spec.OTHER6), (levels.nothing, spec.UNLISTED),
                    (z3.Not(has_table), spec.UNLISTED), (z3.Or(net64), spec.NET64), (z3.Or(others), spec.OTHER6))


def counter6(world, high, below, reason):
    """The counter of the list for which a hit of an IPv6 source counts, while tables stand still."""
    settings = world.all_settings
    levels, table = six.levels(high, world.table("LEVELS"), settings), world.table("SIX")
    label = labelled6.in_32(labelled.OTHER)
    for is_asked, probe, _ in reversed(list(asked(high, below, levels, world, settings))):
        answer = labelled6.of_probe(world.table("SIX_LABELS"), table, probe, settings)
        label = z3.If(z3.And(is_asked, answer != labelled6.NONE), answer, label)
    place = labelled6.place(*labelled6.told(world.table("LEVELS"), levels))
    label = z3.If(levels.everything, labelled6.of_told(world.table("LEVEL_LABELS"), high, place, settings), low(label, 8))
    kind = z3.If(reason == spec.REPLY, word(labelled.REPLY), labelled.kind_of_drop(settings, unknown("clock0")))
    return labelled.counter(settings, world.processor, label, kind)


def list_of(world, reason):
    """The counter that must be counted for a list, if it is told here: of IPv6."""
    source, is_so = world.source, lambda kind: z3.is_true(z3.simplify(kind))
    if not is_so(source.is_ipv6) or is_so(world.all_settings.lists == 0):
        return None
    return counter6(world, z3.simplify(source.high), z3.simplify(source.low), reason)


def assumed(world):
    """What is known of tables: no code stands in two slots of a bucket. For which list an IPv6 hit counts depends on it."""
    source, settings = world.source, world.all_settings
    if not z3.is_true(z3.simplify(source.is_ipv6)):
        return []
    high, below = z3.simplify(source.high), z3.simplify(source.low)
    levels = six.levels(high, world.table("LEVELS"), settings)
    return [labelled6.is_unique(world.table("SIX"), probe) for _, probe, _ in asked(high, below, levels, world, settings)]


def counts_for_list(world, reason):
    """What would be dropped for its source, and a reply."""
    is_hit = z3.Or(reason == spec.REPLY, z3.And(z3.UGE(reason, spec.ADDRESS4), z3.ULE(reason, spec.OTHER6)))
    return z3.And(world.all_settings.lists != 0, is_hit)


def reason(world):
    """Why this packet passes, or is to be dropped."""
    settings, allow, is_reply = world.all_settings, world.allow, z3.BoolVal(world.scene.is_reply)
    source = world.source
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
    lists, counter = of(LISTS), list_of(world, reason)
    claims += [counts_for_list(world, reason) == (len(lists) == 1), z3.BoolVal(len(lists) <= 1 and not others)]
    for write in lists:
        within = write.at - labels.place(world, world.all_settings)
        claims += [z3.ULT(within, labels.ROW), write.value == 1, (z3.LShR(within, 3) & 3 == REPLIES) == (reason == spec.REPLY)]
        claims += [] if counter is None else [write.at == counter]
    return z3.And(claims)


def observed(end):
    """What can be seen of an end of which all is known: what is answered, and which words are not zero any more, by place."""
    number = lambda value: z3.simplify(value).as_long()
    words = {COUNTERS: {}, LISTS: {}}
    for write in end.writes:
        words.setdefault(write.table, {})[number(write.at) // 8] = number(write.value)
    return {"action": number(end.registers[0]) & 2**32 - 1, "counted": words}


def wanted(world, reason):
    """The same by the specification, but for which list an IPv4 hit is counted."""
    number = lambda value: z3.simplify(value).as_long()
    settings, clock = world.all_settings, word(0)
    action = spec.enforcement(settings, clock)
    if z3.is_true(z3.simplify(spec.is_drop(reason))):
        places = spec.counters_of_drop(settings, world.processor, word(0, 8), action, wide(reason))
        counted = dict(zip(map(number, places), (number(world.segments), number(world.bytes_received))))
    else:
        counted = {number(spec.counter_of_pass(settings, world.processor, wide(reason))): number(world.segments)}
    counted = {COUNTERS: {at // 8: more for at, more in counted.items()}}
    counter = list_of(world, reason)
    if counter is not None:
        is_counted = z3.is_true(z3.simplify(counts_for_list(world, reason)))
        counted[LISTS] = {number(counter) // 8: 1} if is_counted else {}
    return {"action": number(spec.verdict(reason, action, world.hook)), "counted": counted}
