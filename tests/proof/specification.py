"""What the judge must do, as the documentation tells it; nothing here runs on packets.

`source` finds the sender in a frame, `reason4` (for IPv6: specification6.py) why it is blocked if it is, `after_hit` what spares it all
the same, and `verdict` what becomes of the packet. Then it is counted: `counter_of_pass`, `counters_of_drop`.

A source is IPv4 behind Ethernet and at most eight VLAN tags, at most four of which have an id that is not 0. It is on a list if a
listed prefix covers it, or if its table holds its address. docs/internals/proof.md has the terms that are used here.
"""

from dataclasses import dataclass

import z3

from words import low, times, unknown, wide, word

# Numbers of reasons, which stay what they are: `filterd stats` tells them by name.
UNLISTED, NOT_IP, MALFORMED, TOO_MANY_TAGS, ADDRESS4, NETWORK4, NET64, OTHER6 = range(8)
# Of these the source is listed, and yet the packet passes.
ALLOWED, REPLY = 9, 10
# The one reason to drop a sent frame.
OUTBOUND = 16
COUNT, ENFORCE, PAUSE = 0, 1, 2

TAGS, IDS = 8, 4


@dataclass
class Source:
    """What a frame says of its sender, or of whom it is sent to: exactly one of these conditions holds."""

    is_ipv4: z3.BoolRef
    is_ipv6: z3.BoolRef
    not_ip: z3.BoolRef
    malformed: z3.BoolRef
    too_many_tags: z3.BoolRef
    address: z3.BitVecRef
    high: z3.BitVecRef
    low: z3.BitVecRef


@dataclass
class Removed:
    """The outermost VLAN tag, if the kernel has removed it from the frame: whether it has, and whether that had an id."""

    is_one: z3.BoolRef
    has_id: z3.BoolRef


def source(frame, length, removed, is_sent=False):
    """Ethernet (IEEE 802.3), tags (802.1Q, 802.1ad), IPv4 (RFC 791), IPv6 (RFC 8200). A tag that was removed counts as one. A sent frame is
    judged by its destination as a received one is by its source: then that is the address."""
    of_4, of_6 = (16, 24) if is_sent else (12, 8)
    result = Source(*[z3.BoolVal(False)] * 5, word(0, 32), word(0), word(0))
    reaches = lambda end: z3.ULE(word(end, 32), length)
    here, ids = z3.BoolVal(True), z3.simplify(z3.If(z3.And(removed.is_one, removed.has_id), word(1, 32), word(0, 32)))
    for tags in range(TAGS + 1):
        at = 12 + 4 * tags
        kind = z3.Concat(frame[at], frame[at + 1])
        has_kind = z3.And(here, reaches(at + 2))
        result.malformed = z3.Or(result.malformed, z3.And(here, z3.Not(reaches(at + 2))))
        header = at + 2
        ip = lambda number, version, size: z3.And(reaches(header + size), z3.LShR(frame[header], 4) == version)
        is_4, is_6 = z3.And(has_kind, kind == 0x0800), z3.And(has_kind, kind == 0x86DD)
        good_4, good_6 = z3.And(is_4, ip(4, 4, 20)), z3.And(is_6, ip(6, 6, 40))
        is_tag = z3.And(has_kind, z3.Or(kind == 0x8100, kind == 0x88A8, kind == 0x9100))
        result.is_ipv4 = z3.Or(result.is_ipv4, good_4)
        result.is_ipv6 = z3.Or(result.is_ipv6, good_6)
        result.malformed = z3.Or(result.malformed, z3.And(is_4, z3.Not(good_4)), z3.And(is_6, z3.Not(good_6)))
        result.not_ip = z3.Or(result.not_ip, z3.And(has_kind, z3.Not(is_4), z3.Not(is_6), z3.Not(is_tag)))
        result.address = z3.If(good_4, z3.Concat(*frame[header + of_4 : header + of_4 + 4]), result.address)
        result.high = z3.If(good_6, z3.Concat(*frame[header + of_6 : header + of_6 + 8]), result.high)
        result.low = z3.If(good_6, z3.Concat(*frame[header + of_6 + 8 : header + of_6 + 16]), result.low)
        # A tag's number and the type behind it: an id is the lowest twelve bits of the number.
        result.malformed = z3.Or(result.malformed, z3.And(is_tag, z3.Not(reaches(at + 4))))
        tag = z3.And(is_tag, reaches(at + 4))
        has_id = z3.Concat(frame[at + 2], frame[at + 3]) & 0xFFF != 0
        ids = z3.If(has_id, ids + 1, ids)
        too_many = z3.UGT(ids, IDS) if tags < TAGS else z3.BoolVal(True)
        too_many = z3.Or(too_many, removed.is_one) if tags == TAGS - 1 else too_many
        result.too_many_tags = z3.Or(result.too_many_tags, z3.And(tag, too_many))
        here = z3.And(tag, z3.Not(too_many))
    return result


@dataclass
class Places:
    """Where an IPv4 address may stand in a table: the words that are read for it, in order, and what they say."""

    is_address: z3.BoolRef
    homes: list
    hot: z3.BitVecRef
    ways: list
    # Which buckets are its homes; and what a table knows it by.
    buckets: list
    shuffled: z3.BitVecRef


@dataclass
class Lookup(Places):
    """The same, and the words that say before whether a prefix covers it."""

    is_in_network: z3.BoolRef
    summary: z3.BitVecRef
    slash24: z3.BitVecRef


def fold(number):
    return number ^ z3.LShR(number, 16)


def shuffled(address, key):
    """A secret permutation of all addresses."""
    return fold(times(fold(times(address, key[0])), key[1]))


def divided(number, odd):
    """Undoes multiplying by this odd number: Newton's steps find its inverse (lemma `dividing`)."""
    inverse = odd
    for _ in range(5):
        inverse = times(inverse, 2 - times(odd, inverse))
    return times(number, inverse)


def unshuffled(number, key):
    """The address again."""
    return divided(fold(divided(fold(number), key[1])), key[0])


def may_overlap(overlap, settings):
    """May a source be both listed and allowed? A setting, and a word, say so."""
    return z3.And(settings.overlap != 0, overlap(word(0)) != 0)


STASH_WORDS = 8 + 512 * 8
SUMMARY_WORDS = (1 << 20) // 64


def lookup(address, table, networks, settings):
    """An address has two homes; its remainder stands in a lane of one of them, or the stash has it whole."""
    bit = lambda at, number: z3.LShR(networks(at), number & 63) & 1 == 1
    place_of = lambda first, number: word(8 * first) + (z3.LShR(number, 6) << 3)
    summary, slash24 = (place_of(first, z3.LShR(wide(address), shift)) for first, shift in ((0, 12), (SUMMARY_WORDS, 8)))
    covered = z3.And(bit(summary, z3.LShR(wide(address), 12)), bit(slash24, z3.LShR(wide(address), 8)))
    return Lookup(**vars(places(shuffled(address, settings.key), table, settings)), is_in_network=covered, summary=summary, slash24=slash24)


def places(number, table, settings):
    """Of one that is shuffled already."""
    remainder = number & low(settings.remainder_mask, 32)
    first_place = times(number, settings.key[2])
    second_place = first_place ^ times(remainder, word(0x9E3779B9, 32))
    # A place times the number of buckets, above 32 bits, is the bucket: so it is one of them.
    bucket = lambda place: z3.LShR(times(wide(place), wide(settings.buckets)), 32)
    buckets = [bucket(place) for place in (first_place, second_place)]
    homes = [word(8 * STASH_WORDS) + (number << 3) for number in buckets]
    group, code = z3.LShR(wide(number), 32 - 9), wide(number) << (32 + 9) | 1
    hot, ways = word(0), [word(8 * 8 + 8 * way) + (group << 6) for way in range(8)]
    return Places(is_held(table, homes, remainder, hot, ways, code, settings), homes, hot, ways, buckets, wide(number))


def is_held(table, homes, remainder, hot, ways, code, settings):
    """Whether these words of a table say that it holds the address."""
    codes = [remainder | settings.side, remainder]
    lanes = lambda at, code: z3.Or([z3.Extract(lane * settings.bits + settings.bits - 1, lane * settings.bits, table(at))
                                    == low(wide(code), settings.bits) for lane in range(settings.lanes)])
    # A remainder of zero has one home: its code in the second would be that of an empty lane.
    in_home = z3.Or(lanes(homes[0], codes[0]), z3.And(remainder != 0, lanes(homes[1], codes[1])))
    return z3.Or(in_home, z3.And(table(hot) != 0, z3.Or([table(way) == code for way in ways])))


def reason4(address, table, networks, settings):
    """Why an IPv4 source is to be blocked, if it is. What of a set is not in use blocks nobody."""
    found = lookup(address, table, networks, settings)
    number = lambda reason: word(reason, 32)
    by_address = z3.If(z3.And(settings.in_use != 0, found.is_address), number(ADDRESS4), number(UNLISTED))
    return z3.If(z3.And(settings.networks4 != 0, found.is_in_network), number(NETWORK4), by_address)


def after_hit(found, is_allowed, is_reply):
    """What is allowed passes, whoever lists it; else what answers something that this host began."""
    return z3.If(is_allowed, word(ALLOWED, 32), z3.If(is_reply, word(REPLY, 32), found))


def is_drop(reason, is_sent=False):
    """A source on a list, and more tags than are looked behind, whoever sent them. Of what is sent only a destination on a list."""
    return z3.And(z3.UGE(reason, ADDRESS4 if is_sent else TOO_MANY_TAGS), z3.ULE(reason, OTHER6))


def enforcement(settings, clock):
    """A pause ends by itself. What nobody has written drops nothing."""
    paused = settings.enforce == PAUSE
    over = z3.And(paused, z3.UGE(clock, settings.paused_until))
    return z3.If(z3.Or(settings.enforce == ENFORCE, over), word(ENFORCE), z3.If(paused, word(PAUSE), word(COUNT)))


def verdict(reason, action, hook):
    """Dropped is what is to be dropped, while drops are enforced."""
    return z3.If(z3.And(is_drop(reason, hook.is_sent), action == ENFORCE), word(hook.drops, 32), word(hook.passes, 32))


def segments(joined):
    """How many frames of the wire a frame is. Of one that was not joined the kernel may say 0."""
    return z3.If(joined == 0, word(1), joined)


def bytes_of(length, joined, headers):
    """The length of all these frames. Each has headers of this length, which the frame that they became has once."""
    return z3.If(z3.UGT(joined, 1), length + times(wide(low(joined, 32) - 1), wide(headers)), length)


ROW, FIRST_SLOT, SLOT, SLOTS = 2048, 128, 64, 32


def own_number(settings, processor):
    """Which row is this processor's."""
    return wide(processor & low(settings.last_processor, 32))


def row(settings, processor):
    """Of each processor there is a row of counters."""
    return own_number(settings, processor) * ROW


# Words of a row that no reason and no slot has: for samples.
FIRST_OF_SAMPLES, WORDS_OF_SAMPLES = 112, 16


def is_of_samples(settings, processor, at):
    """Is it one of these, of this processor's row?"""
    within = at - row(settings, processor) * 8
    return z3.And(z3.UGE(within, 8 * FIRST_OF_SAMPLES), z3.ULT(within, 8 * (FIRST_OF_SAMPLES + WORDS_OF_SAMPLES)))


def counter_of_pass(settings, processor, reason):
    return (row(settings, processor) + reason) * 8


def place_of_slot(settings, interface):
    """Behind all rows a byte for each interface says which slot is its own."""
    rows = wide(low(settings.last_processor, 32)) + 1
    return rows * ROW * 8 + wide(interface)


def counters_of_drop(settings, processor, slot, action, reason):
    """Packets and bytes: of each slot, of what was dropped, would have been, or was spared by a pause."""
    number = z3.If(action == ENFORCE, word(0), z3.If(action == COUNT, word(8), word(16))) + (reason - 3 & 7)
    packets = row(settings, processor) + (word(FIRST_SLOT) + (wide(slot) & (SLOTS - 1)) * SLOT & (ROW - 1)) + 2 * number
    return packets * 8, packets * 8 + 8
