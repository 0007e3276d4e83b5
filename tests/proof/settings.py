"""The words of a judge's settings that the specification names, where filter-common/src/settings.rs lays them, and which values
the daemon gives them. All others are any numbers."""

from dataclasses import dataclass

import z3

from words import low, unknown, word

NAMES = {
    "enforce": 0, "paused_until": 1, "overlap": 2, "match_new": 3, "lists": 4, "last_processor": 5, "samples": 6,
    "networks4": 7, "in_use": 9, "buckets": 10, "remainder_mask": 11, "place_mask": 12, "lane_ones": 13, "lane_highs": 14,
}
# Where the words of the set to block and of the set to allow begin, and where in them an IPv4 key is.
SETS, KEY = {"block": 7, "allow": 365}, 18

# The larger a table, the narrower its lanes: from this power of two of buckets to that one, lanes in a word and their bits.
LAYOUTS = {"2x32": (8, 12, 2, 32), "3x21": (13, 16, 3, 21), "4x16": (17, 20, 4, 16), "5x12": (21, 26, 5, 12)}


@dataclass
class Settings:
    """Every setting is unknown but for the lanes of the table."""

    layout: str

    def __post_init__(self):
        smallest, largest, self.lanes, self.bits = LAYOUTS[self.layout]
        ones = sum(1 << lane * self.bits for lane in range(self.lanes))
        self.side = word(1 << self.bits - 1, 32)
        self.fixed = {
            NAMES["remainder_mask"]: (1 << self.bits - 1) - 1, NAMES["place_mask"]: (1 << 32) - 1,
            NAMES["lane_ones"]: ones, NAMES["lane_highs"]: ones << self.bits - 1,
        }
        for name, number in NAMES.items():
            setattr(self, name, self.word(number))
        self.buckets = low(self.buckets, 32)
        self.key = [low(self.word(KEY + number), 32) for number in range(3)]
        # What the daemon writes there: as many buckets as this layout is for, as many rows as fit into a map, no samples.
        self.facts = [
            z3.ULE(1 << smallest, self.buckets), z3.ULT(self.buckets, 1 << largest + 1),
            z3.ULT(self.last_processor, 1 << 16),
        ]

    def word(self, number):
        return word(self.fixed[number]) if number in self.fixed else unknown(f"setting{number}")
