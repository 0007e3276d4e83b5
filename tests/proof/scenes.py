"""Scenes in which a fault may show: packets, settings and keys at random, always the same; which words of tables stand there is left to
the solver. A refuted theorem's own source and words come first.
"""

import itertools
import random

from settings import FIRST, KEY, KEY6, LAYOUTS, LENGTHS6, LENGTH_WORDS, NAMES, PAIRS6, SET_WORDS
from still import Scene

FOUR = ("ADDRESSES", "NETWORKS", "ALLOW_ADDRESSES", "ALLOW_NETWORKS")
TABLE6, LABELS6 = ("SIX",), ("SIX_LABELS", "LEVEL_LABELS")
STASH_LABELS = 8 * 512
# Words of labels: of IPv4 addresses and IPv6 prefixes.
LABEL_WORDS = {"4": 15, "6": 28}
MOST = 48
# The root of the levels of a source says that its lengths are in the table, and that some are beyond /64.
ALL_LENGTHS, BEYOND = 2**50 - 1, 1 << 50
TCP, ACK, ICMP6, SOLICITATION = 6, 0x10, 58, 135


def ipv4(address, protocol=17):
    upper = bytes.fromhex("01bb9c40000000000000000050100000000000000000")
    return ethernet(0x0800, bytes([0x45, 0, 0, 20 + len(upper), 0, 0, 0, 0, 64, protocol, 0, 0]) + address.to_bytes(4) + bytes(4) + upper)


def ipv6(high, below, protocol=17, hops=64, first=0):
    upper = bytes([first]) + bytes.fromhex("bb9c40000000000000000050100000000000000000")
    header = bytes([0x60, 0, 0, 0, 0, len(upper), protocol, hops]) + high.to_bytes(8) + below.to_bytes(8) + bytes(16)
    return ethernet(0x86DD, header + upper)


def ethernet(kind, rest):
    return bytes(12) + kind.to_bytes(2) + rest


def mapped(address):
    return 0, 0xFFFF << 32 | address


def own_flow(peer, protocol):
    """What the egress program remembers of a flow of these ports."""
    return (*peer, protocol << 32 | 0x9C40 << 16 | 0x01BB)


def basic(luck):
    return {NAMES["enforce"]: 1, NAMES["last_processor"]: 3}


def in_four(luck, layout, set_=0, networks=1):
    """A table of this layout."""
    smallest, _, lanes, bits = LAYOUTS[layout]
    ones, at = sum(1 << lane * bits for lane in range(lanes)), set_ * SET_WORDS
    named = {"networks4": networks, "in_use": 1, "buckets": luck.randrange(1 << smallest, 2 << smallest),
             "remainder_mask": (1 << bits - 1) - 1, "place_mask": 2**32 - 1, "lane_ones": ones, "lane_highs": ones << bits - 1,
             "lanes_of_labels": lanes, "last_lane": (lanes - 1) * bits}
    words = {at + NAMES[name]: number for name, number in named.items()}
    words |= {at + KEY + number: luck.getrandbits(32) | 1 for number in range(3)}
    if not set_:
        words[LABEL_WORDS["4"]] = (STASH_LABELS + lanes * named["buckets"] + 7) // 8
    return words


def in_six(luck, to_64, longer, has_table=1, set_=0):
    at, buckets = set_ * SET_WORDS, luck.randrange(128, 512)
    named = {"last_level_start": 8 * (2**18 - 2**10), "has_table6": has_table, "to_64": to_64, "shorter": (to_64 & ~1).bit_count(),
             "longer": longer, "buckets6": buckets, "index_bits6": buckets.bit_length() - 1}
    words = {at + NAMES[name]: number for name, number in named.items()}
    words |= {at + KEY6 + number: luck.getrandbits(64) | 1 for number in range(3)}
    words |= {at + PAIRS6 + number: luck.getrandbits(64) for number in range(12)}
    for number, length in enumerate(range(128, 128 - longer, -1)):
        mask = (1 << 128) - (1 << 128 - length)
        fields = [mask >> 64, mask & 2**64 - 1, *(luck.getrandbits(64) for _ in range(3))]
        words |= {at + LENGTHS6 + LENGTH_WORDS * number + field: value for field, value in enumerate(fields)}
    if not set_:
        words[LABEL_WORDS["6"]] = (STASH_LABELS + 4 * buckets + 7) // 8
    return words


def of_four(luck, hints):
    """An IPv4 source, about which anything may stand in the tables."""
    for number in itertools.count():
        address = hints.get("address", luck.getrandbits(32)) if number % 2 == 0 else luck.getrandbits(32)
        settings = basic(luck) | in_four(luck, ["2x32", "3x21", "4x16"][number % 3])
        settings |= {NAMES["lists"]: number & 1} | ({NAMES["enforce"]: 0} if number % 5 == 3 else {})
        yield Scene(ipv4(address), settings, free=FOUR[:2], processor=number // 2 % 2)


def with_zero(luck, hints):
    """One whose remainder is zero: this address is a multiple of what both rounds of shuffling leave alone."""
    for scene in of_four(luck, hints):
        # Both factors are 1: so the remainder is what the folds make of the address.
        keys = {KEY: 1, KEY + 1: 1}
        address = (luck.getrandbits(16) << 16)
        folded = lambda number: number ^ number >> 16
        mask = scene.settings[NAMES["remainder_mask"]]
        found = next((low for low in range(1 << 16) if folded(folded(address | low)) & mask == 0), None)
        if found is not None:
            yield Scene(ipv4(address | found), scene.settings | keys, free=FOUR[:2])


def of_allowed(luck, hints):
    """An IPv4 source that may be allowed, or a reply."""
    for number in itertools.count():
        address = luck.getrandbits(32)
        settings = basic(luck) | in_four(luck, "2x32", networks=number & 1) | in_four(luck, ["2x32", "3x21"][number % 2], 1, number >> 1 & 1)
        settings |= {NAMES["overlap"]: 1, NAMES["lists"]: 1, NAMES["match_new"]: number >> 2 & 1}
        flows = (own_flow(mapped(address), TCP),) if settings[NAMES["match_new"]] else ()
        yield Scene(ipv4(address, TCP), settings, {"OVERLAP": {0: number % 3 and 1}}, FOUR, flows, bool(flows))


def of_levels(luck, hints):
    """An IPv6 source of which the levels say anything; there is no table behind them, or one of /64s alone."""
    for number in itertools.count():
        high = hints.get("high", luck.getrandbits(64)) if number == 0 else luck.getrandbits(64)
        settings = basic(luck) | in_six(luck, number & 1, 0, has_table=number & 1)
        yield Scene(ipv6(high, luck.getrandbits(64)), settings, free=("LEVELS", *TABLE6))


# Which lengths are in use, up to /64 and beyond: few first, as these are soon asked.
FEW = 1 | 1 << 16 | 1 << 24
IN_USE = [(1, 0), (FEW, 0), (0, 2), (FEW, 2), (ALL_LENGTHS, 0), (0, 64), (ALL_LENGTHS, 64)]


def of_lengths(luck, hints):
    """One whose lengths are left to the table by the levels: by those of the refuted theorem, or by the root."""
    for to_64, longer in itertools.cycle(IN_USE):
        settings, high = basic(luck) | in_six(luck, to_64, longer), luck.getrandbits(64)
        if "LEVELS" in hints and "high" in hints:
            last = hints.get("setting21", 0)
            more = {NAMES["last_level_start"]: last} if 0 < last < 1 << 23 else {}
            yield Scene(ipv6(hints["high"], luck.getrandbits(64)), settings | more, {"LEVELS": hints["LEVELS"]}, TABLE6)
        root = to_64 | (BEYOND if longer else 0)
        yield Scene(ipv6(high, luck.getrandbits(64)), settings, {"LEVELS": {high >> 50 << 3: root}}, TABLE6)


def of_classes(luck, hints):
    """One of whose /32 the levels tell a class of lengths, which are all in use."""
    for number in itertools.count():
        high, page, node = luck.getrandbits(64), 20, 3000
        slash24, slash32 = high >> 40 & 0x3FF, high >> 32 & 0xFF
        words = {high >> 50: page << 51, page << 10 | slash24: 1 << 62 | node << 41 | 2**32 - 1,
                 node << 3 | 4 | slash32 >> 6: 2**64 - 1, (node << 3) + 8 + (slash32 >> 5): number % 4 * 0x5555555555555555}
        settings = basic(luck) | in_six(luck, 2**32 - 1, 0)
        yield Scene(ipv6(high, luck.getrandbits(64)), settings, {"LEVELS": {8 * at: word for at, word in words.items()}}, TABLE6)


def of_few_lengths(luck, hints):
    """One of whom the table knows a few lengths, counted for a list."""
    for number in itertools.count():
        high = luck.getrandbits(64)
        settings = basic(luck) | in_six(luck, 1 << 16, number & 1) | {NAMES["lists"]: 1}
        levels = {high >> 50 << 3: [1 << 16, BEYOND][number & 1]}
        yield Scene(ipv6(high, luck.getrandbits(64)), settings, {"LEVELS": levels}, TABLE6 + LABELS6, processor=1)


def of_node(luck, hints):
    """One whose /32 a node tells, counted for a list."""
    for number in itertools.count():
        high, page, node = luck.getrandbits(64), 20, 3000
        slash24, slash32 = high >> 40 & 0x3FF, high >> 32 & 0xFF
        words = {high >> 50: page << 51, page << 10 | slash24: node << 41 | 1, node << 3 | slash32 >> 6: 1 << (slash32 & 63)}
        settings = basic(luck) | in_six(luck, 1, 0) | {NAMES["lists"]: 1, NAMES["level_pages"]: 2}
        levels = {8 * at: word for at, word in words.items()}
        yield Scene(ipv6(high, luck.getrandbits(64)), settings, {"LEVELS": levels}, LABELS6)


def of_followed6(luck, hints):
    """An IPv6 source that is listed, and what may spare it all the same: it is allowed, neighbour discovery, or a reply."""
    for number in itertools.count():
        high, below = luck.getrandbits(64), luck.getrandbits(64)
        kinds = [(ICMP6, 255, SOLICITATION), (ICMP6, 254, SOLICITATION), (ICMP6, 255, 128 + number % 16), (TCP, 64, 1)]
        protocol, hops, first = kinds[number % 4]
        settings = basic(luck) | in_six(luck, 1, 0) | in_six(luck, 0, 0, 0, set_=1)
        settings |= {NAMES["overlap"]: number >> 2 & 1, NAMES["lists"]: 1, NAMES["match_new"]: 1, NAMES["level_pages"]: 2}
        flows = (own_flow((high, below), TCP),) if protocol == TCP and number % 8 > 3 else ()
        root = {high >> 50 << 3: [1 << 63, 1][number % 3 == 0]}
        tables = {"LEVELS": root, "OVERLAP": {0: 1}}
        yield Scene(ipv6(high, below, protocol, hops, first), settings, tables, ("SIX", "ALLOW_LEVELS", *LABELS6), flows, bool(flows))


def of_frame(luck, hints):
    """The frame that the refuted theorem shows, whose source may be anybody of whom the tables may say anything."""
    if "frame" not in hints:
        return
    frame, linear = hints["frame"]
    for _ in range(3):
        settings = basic(luck) | in_four(luck, "2x32") | in_six(luck, 0, 0, has_table=0)
        yield Scene(frame, settings, free=(*FOUR[:2], "LEVELS"), linear=linear)


def of_reasons(luck, hints):
    """A packet that is no IP, one that is listed and one that is not, as enforcement and the processor may be."""
    for number in itertools.count():
        settings = basic(luck) | in_four(luck, "2x32") | {NAMES["enforce"]: number % 2}
        frames = [ipv4(luck.getrandbits(32)), ethernet(0x0806, bytes(46)), ipv4(luck.getrandbits(32))[:30]]
        yield Scene(frames[number // 2 % 3], settings, free=FOUR[:2], processor=number % 4 % 3 % 2)


ALL = {"four": (of_four, with_zero), "allowed": (of_allowed, of_four), "six": (of_levels, of_lengths, of_classes, of_followed6),
       "followed6": (of_followed6, of_node), "labels6": (of_few_lengths, of_followed6), "frame": (of_frame,),
       "reasons": (of_reasons, of_four), "labels": (of_few_lengths, of_four)}


def of(kind, hints):
    """By turns of each way to make one."""
    ways = [way(random.Random(f"{kind} {way.__name__}"), hints) for way in ALL[kind]]
    found = itertools.chain.from_iterable(zip(*ways))
    return itertools.islice(found, MOST)


def hints(refuted):
    """The source that a counterexample has, and the words of levels that it gives it. These depend on no product."""
    if refuted.model is None:
        return {}
    number, found = lambda value: value.as_long(), {}
    for one in refuted.model.decls():
        value = refuted.model[one]
        if one.name() in ("address", "high", "low", "setting21"):
            found[one.name()] = number(value)
        if one.name() == "LEVELS":
            entries = [entry for entry in value.as_list() if isinstance(entry, list)]
            found["LEVELS"] = {number(at): number(word) for at, word in entries}
    return found
