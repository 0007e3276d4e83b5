"""What the judge must do with an IPv6 source, as docs/internals/filter.md says ("IPv6 levels", "IPv6 table"). Written from there.

A source is listed if the first of these that says anything says so:
1. `levels`, where there are any: everything around it is listed, or nothing is; else they leave some lengths to the table;
2. `net64`, if /64 is in use and was left to the table: the reason is `specification.NET64`;
3. `shorter`, for each length below /64 that is in use and was left, the longest first; then
4. `longer`, for each beyond /64 that is in use, if any was left: the reason is OTHER6, as it is for what the levels say.
What spares it all the same: what is allowed, `is_neighbour_discovery`, and what answers this host, in this order.
"""

from dataclasses import dataclass

import z3

from words import low, times, unknown, wide, word

# Neighbour discovery passes, whoever sends it: its reason.
NEIGHBOUR = 8


def is_neighbour_discovery(frame, length):
    """ICMPv6 (58) right behind the header, a hop limit of 255, types 133 to 137 (RFC 4861), behind whatever tags there are."""
    result, here = z3.BoolVal(False), z3.BoolVal(True)
    for header in range(14, 14 + 4 * 8 + 1, 4):
        kind = z3.Concat(frame[header - 2], frame[header - 1])
        reaches = z3.ULE(word(header + 42, 32), length)
        said = z3.And(frame[header + 6] == 58, frame[header + 7] == 255,
                      z3.UGE(frame[header + 40], 133), z3.ULE(frame[header + 40], 137))
        result = z3.Or(result, z3.And(here, kind == 0x86DD, reaches, said))
        here = z3.And(here, z3.Or(kind == 0x8100, kind == 0x88A8, kind == 0x9100))
    return result


@dataclass
class Levels:
    """What the levels say of a source, by these words of theirs, in order: one of the first two, or the lengths left to the table."""

    nothing: z3.BoolRef
    everything: z3.BoolRef
    # That of n bits is the bit 64 - n. A word of the root has something else above these, which is no length in use.
    lengths: z3.BitVecRef
    # Is there any beyond 64? 0 or 1.
    beyond: z3.BitVecRef
    words: list


def levels(high, words, settings):
    """A root word for each /14, a page of words for each /24 of it, a node of bits for each /32 of that. Where a number leads to a
    page or a node that would begin behind the last one that the map has room for, nothing is listed."""
    is_there = lambda start: z3.ULE(start, settings.last_level_start)
    is_whole, has = lambda text: z3.LShR(text, 63) == 1, lambda at, bit: z3.LShR(words(at), bit) & 1 == 1
    within = lambda bits: word((1 << bits) - 1)

    slash24, slash32 = z3.LShR(high, 40) & 0x3FF, z3.LShR(high, 32) & 0xFF
    root_at = z3.LShR(high, 50) << 3
    root = words(root_at)
    page = z3.LShR(root, 51) & within(12)
    page_start = page << 10 + 3
    page_at = page_start + (slash24 << 3)
    entry = words(page_at)
    node = z3.LShR(entry, 41) & within(21)
    node_start = node << 3 + 3
    listed_at = node_start + (z3.LShR(slash32, 6) << 3)
    longer_at = listed_at + 4 * 8
    is_classed = z3.LShR(entry, 62) & 1 == 1
    # Of a node without classes a word is read of which nothing is kept.
    class_at = node_start + z3.If(is_classed, 8 * 8 + (z3.LShR(slash32, 5) << 3), word(0))
    kind = z3.If(is_classed, z3.LShR(words(class_at), (slash32 & 31) << 1) & 3, word(0))
    # Any length, /48, /33 to /40, /41 to /64.
    kept = z3.If(kind == 1, word(1 << 16), z3.If(kind == 2, word(0xFF << 24), z3.If(kind == 3, within(24), word(2**64 - 1))))

    by_root = z3.And(root != 0, z3.Not(is_whole(root)))
    has_page = z3.And(by_root, page != 0, is_there(page_start))
    by_page = z3.And(has_page, entry != 0, z3.Not(is_whole(entry)))
    has_node = z3.And(by_page, node != 0)
    by_node = z3.And(has_node, is_there(node_start))
    is_listed, is_longer = has(listed_at, slash32 & 63), has(longer_at, slash32 & 63)
    everything = z3.Or(z3.And(root != 0, is_whole(root)), z3.And(has_page, entry != 0, is_whole(entry)),
                       z3.And(by_node, is_listed))
    nothing = z3.Or(root == 0, z3.And(by_root, page != 0, z3.Not(is_there(page_start))), z3.And(has_page, entry == 0),
                    z3.And(has_node, z3.Not(is_there(node_start))), z3.And(by_node, z3.Not(is_listed), z3.Not(is_longer)))
    left = z3.If(node == 0, entry, entry & kept)
    lengths = z3.If(page == 0, root, left & within(40))
    beyond = z3.If(page == 0, z3.LShR(root, 50) & 1, z3.LShR(left, 40) & 1)
    return Levels(nothing, everything, lengths, beyond, [[at] for at in (root_at, page_at, listed_at, longer_at, class_at)])


@dataclass
class Probe:
    """Does the table hold a prefix? By these words, in order; those in one list in any."""

    found: z3.BoolRef
    words: list
    # What stands for it in its first home, in its second one, and in the stash; and which buckets its homes are.
    codes: list
    buckets: list


NET64, SHORTER, LONGER = 4, 8, 2
TAG_BITS = 7
GOLDEN = 0x9E3779B97F4A7C15
STASH_WORDS = 8 + 512 * 8


def probe(number, tag_bits, tag, kind, table, settings):
    """A number has two homes of four slots; its lowest bits, a tag, and the side stand in one of these, or the stash has it whole."""
    place = times(number, settings.key6[2])
    other = place ^ spread(number, tag_bits)
    products = [times(z3.LShR(at, 32), wide(settings.buckets6)) for at in (place, other)]
    # A bucket is one of the table's (lemma `stretches`), so it has no more than 30 bits.
    homes = [word(8 * STASH_WORDS) + (wide(z3.Extract(61, 32, product)) << 5) for product in products]
    code = number << tag_bits | tag
    slots = [[home + 8 * slot for slot in range(4)] for home in homes]
    in_home = z3.Or([table(at) == code | 1 for at in slots[0]] + [table(at) == code for at in slots[1]])
    hot, ways = word(0), [word(8 * 8 + 8 * way) + (z3.LShR(number, 64 - 9) << 6) for way in range(8)]
    stashed = number << 9 | kind
    in_stash = z3.And(table(hot) != 0, z3.Or([table(way) == stashed for way in ways]))
    buckets = [z3.LShR(product, 32) for product in products]
    return Probe(z3.Or(in_home, in_stash), [*slots, [hot], ways], [code | 1, code, stashed], buckets)


def are_buckets(probe, settings):
    """They are of the table (lemma `stretches`)."""
    return [z3.ULT(bucket, wide(settings.buckets6)) for bucket in probe.buckets]


def spread(number, tag_bits):
    """The second place differs from the first by what the bits that a code has are spread to."""
    if isinstance(tag_bits, int):
        return times(number, word(GOLDEN << tag_bits & 2**64 - 1))
    return times(number << tag_bits, word(GOLDEN))


def fold(number):
    return number ^ z3.LShR(number, 32)


def shuffled(number, settings):
    """A secret permutation of 64 bits."""
    return fold(times(fold(times(number, settings.key6[0])), settings.key6[1]))


def net64(high, table, settings):
    """The /64 of a source is looked up by its network half."""
    return probe(shuffled(high, settings), TAG_BITS, NET64, NET64, table, settings)


def shorter(high, bit, table, settings):
    """A shorter prefix by its bits, a one behind them, and zeros. The length is told by its bit."""
    return probe(of_shorter(high, bit, settings), TAG_BITS, SHORTER, SHORTER, table, settings)


def of_shorter(high, bit, settings):
    return shuffled(high & -bit | z3.LShR(bit, 1), settings)


def longer(high, below, number, table, settings):
    """One beyond /64, whose length has this number in the settings, by its hash: 64 bits, and as many more as the tag has room for."""
    return of_hash(*hashed(high, below, number, settings), table, settings)


def of_hash(number, more, table, settings):
    tag_bits = wide(settings.index_bits6)
    tag = z3.LShR(more, 34 - tag_bits) << 2 | LONGER
    return probe(number, tag_bits, tag, LONGER, table, settings)


def hashed(high, below, number, settings):
    mask_high, mask_low, *salts = (settings.of_length(number, field) for field in range(5))
    network, host = high & mask_high, below & mask_low
    product = lambda first, second, text: times(first + wide(low(text, 32)), second + z3.LShR(text, 32))
    sums = [product(*settings.pairs[part][:2], network) + product(*settings.pairs[part][2:], host) + salts[part] for part in range(3)]
    more, above, beneath = (z3.LShR(total, 32) for total in sums)
    return times(above << 32 | beneath, more << 1 | 1), more
