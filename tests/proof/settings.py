"""The words of a judge's settings that the specification names, where filter-common/src/settings.rs lays them, and which values
the daemon gives them. All others are any numbers."""

import json
from dataclasses import dataclass

import z3

from theorem import follows
from words import WORD, low, unknown, wide, word

NAMES = {
    "enforce": 0, "paused_until": 1, "overlap": 2, "match_new": 3, "lists": 4, "last_processor": 5, "samples": 6,
    "networks4": 7, "network_pages": 8, "in_use": 9, "buckets": 10, "remainder_mask": 11, "place_mask": 12, "lane_ones": 13,
    "lane_highs": 14, "label_words": 15, "lanes_of_labels": 16, "last_lane": 17, "last_level_start": 21, "has_table6": 22, "to_64": 23,
    "shorter": 24, "longer": 25,
    "buckets6": 26, "index_bits6": 27, "label_words6": 28, "level_pages": 29,
}
# From the first of these words on lie the sets, each with so many words, of which those above are the set to block's. Here is its IPv4
# key. What the names of its maps begin with tells a set.
FIRST, SET_WORDS, KEY = 7, 358, 18
# Those of blocked destinations are the last. A judge of sent frames has them in the place of the set to block.
SETS = ["", "ALLOW_", *(f"C{slot}_" for slot in range(8)), "OUT_"]
# The same of IPv6: the key, what a hash shares among lengths, and the lengths beyond 64, each of five words.
KEY6, PAIRS6, LENGTHS6, LENGTH_WORDS, MOST_LENGTHS = 30, 33, 45, 5, 64

# The larger a table, the narrower its lanes: from this power of two of buckets to that one, lanes in a word and their bits.
LAYOUTS = {"2x32": (8, 12, 2, 32), "3x21": (13, 16, 3, 21), "4x16": (17, 20, 4, 16), "5x12": (21, 26, 5, 12)}


# Behind the ports of clauses (`ports.PORTS`), the last words: whether frames are sent, and whether they have no Ethernet header.
OUTBOUND = FIRST + SET_WORDS * len(SETS) + 8 * 33
BARE = OUTBOUND + 1
# Which frames come is known where a program may ask for these.
OF_FRAMES = OUTBOUND, BARE

# In the word of the last processor.
WATCHED = 1 << 63


# Of these the judge asks for whichever is next.
WORD_OF_LENGTHS = z3.Function("lengths", WORD, WORD)


@dataclass
class Settings:
    """Every setting is unknown but for the lanes of the table. Those of a set are the ones of this set."""

    layout: str
    set: str = ""

    def __post_init__(self):
        self.shift = SET_WORDS * SETS.index(self.set)
        smallest, largest, self.lanes, self.bits = LAYOUTS[self.layout]
        ones = sum(1 << lane * self.bits for lane in range(self.lanes))
        self.side = word(1 << self.bits - 1, 32)
        self.fixed = {
            NAMES["remainder_mask"]: (1 << self.bits - 1) - 1, NAMES["place_mask"]: (1 << 32) - 1,
            NAMES["lane_ones"]: ones, NAMES["lane_highs"]: ones << self.bits - 1,
            NAMES["lanes_of_labels"]: self.lanes, NAMES["last_lane"]: (self.lanes - 1) * self.bits,
        }
        for name, number in NAMES.items():
            setattr(self, name, self.word(self.of_set(number)))
        self.is_watched = self.last_processor & WATCHED != 0
        self.buckets = low(self.buckets, 32)
        self.key = [low(self.word(self.of_set(KEY + number)), 32) for number in range(3)]
        self.key6 = [self.word(self.of_set(KEY6 + number)) for number in range(3)]
        self.pairs = [[self.word(self.of_set(PAIRS6 + 4 * part + number)) for number in range(4)] for part in range(3)]
        self.buckets6, self.index_bits6 = low(self.buckets6, 32), low(self.index_bits6, 32)
        # What the daemon writes there: as many buckets as this layout is for, as many rows as fit into a map, and
        # beside that number whether somebody watches drops.
        self.facts = [
            z3.Implies(self.in_use != 0, z3.And(z3.ULE(1 << smallest, self.buckets), z3.ULT(self.buckets, 1 << largest + 1))),
            z3.ULT(self.last_processor & ~word(WATCHED), 1 << 16),
            z3.Implies(self.has_table6 != 0, z3.And(z3.ULE(1 << 7, self.buckets6), z3.ULE(self.buckets6, 1 << 24),
                                                    z3.LShR(self.buckets6, self.index_bits6) == 1)),
            # From /15 on, and some of 64 lengths beyond /64.
            z3.ULT(self.to_64, 1 << 50), z3.ULE(self.longer, MOST_LENGTHS), z3.ULT(self.shorter, 50),
            z3.ULT(self.last_level_start, 1 << 27),
        ]
        # Of labels: beside a table there are none, or one for each slot and each place in its stash. A page's number has 16 bits.
        beside = lambda words, slots: z3.Or(words == 0, z3.And(z3.ULT(words, 1 << 32), z3.ULE(slots + 512 * 8, words << 3)))
        self.label_facts = [
            z3.ULE(self.network_pages, 1 << 16), z3.ULE(self.level_pages, 1 << 16),
            beside(self.label_words, wide(self.buckets) * self.lanes),
            beside(self.label_words6, wide(self.buckets6) * 4),
        ]

    def of_set(self, number):
        """Where this set has what the set to block has there."""
        return number + self.shift if number >= FIRST else number

    def word(self, number):
        if 0 <= number - self.of_set(LENGTHS6) < LENGTH_WORDS * MOST_LENGTHS:
            return WORD_OF_LENGTHS(word(8 * number))
        fixed = self.fixed.get(number - self.shift)
        return unknown(f"setting{number}") if fixed is None else word(fixed)

    def of_length(self, number, field):
        """A word of the length of this number, which may be unknown."""
        return WORD_OF_LENGTHS(8 * self.of_set(LENGTHS6) + 8 * LENGTH_WORDS * number + 8 * field)

    def at_unknown(self, at):
        """What stands this many bytes from the beginning, and whether that is a word of the lengths."""
        within = at - 8 * self.of_set(LENGTHS6)
        return WORD_OF_LENGTHS(at), z3.And(z3.ULT(within, 8 * LENGTH_WORDS * MOST_LENGTHS), z3.Extract(2, 0, at) == 0)


def of_daemon(place, more=None):
    """Are these the settings that the daemon's own test has written down, of either set, at every size of its tables?"""
    # Those of clauses' sets are made as these are; none is written down.
    for name in SETS[:2]:
        seen = set()
        for line in place.read_text().splitlines():
            words = {int(number): value for number, value in json.loads(line).items()} | (more or {})
            seen.update(of_words(words, name, line[:80]))
        follows(f"each layout occurs in {name or 'the set to block'}", z3.BoolVal(seen == set(LAYOUTS)))


def of_words(words, set_name, line):
    """The layout of this set, if it has a table."""
    of_set = Settings("4x16", set_name).of_set
    named = {name: words.get(of_set(number), 0) for name, number in NAMES.items()}
    layouts = [layout for layout in LAYOUTS if not named["in_use"] or named["lane_ones"] == Settings(layout).fixed[NAMES["lane_ones"]]]
    follows("a layout", z3.BoolVal(bool(layouts)))
    settings = Settings(layouts[0], set_name)
    numbers = {of_set(number) for number in NAMES.values()}
    are_so = [unknown(f"setting{number}") == words.get(number, 0) for number in numbers]
    for goal in settings.facts + settings.label_facts:
        follows(f"a fact about settings, of {line}", goal, *are_so)
    for number, value in settings.fixed.items() if named["in_use"] else ():
        follows(f"word {number}, of {line}", word(value) == words.get(of_set(number), 0))
    follows("as many shorter lengths as there are", z3.BoolVal(named["shorter"] == (named["to_64"] & ~1).bit_count()))
    return layouts[:1] if named["in_use"] else []
