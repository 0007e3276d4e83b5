"""Those who move and where: entries, tables at one moment, the path on which one takes the place of another, and what is seen of these
by whoever loads words at different moments.

An address is the number that it is shuffled to. Of its homes nothing is known but what `scheme` has proved: a home and a remainder
tell who it is.
"""

from dataclasses import dataclass
from itertools import combinations

import z3

import specification as spec
from settings import Settings
from words import WORD, low, unknown, wide

NUMBER, BUCKET, GROUP = z3.BitVecSort(32), z3.DeclareSort("bucket"), z3.DeclareSort("group")
HOMES = [z3.Function(name, NUMBER, BUCKET) for name in ("first home", "second home")]
HOT, WAYS, GROUP_BITS = unknown("place of the hot word"), 8, 9
# Which ways of the stash are asked for a number: its upper bits say so, its lower ones are in the code.
GROUP_OF = z3.Function("group", NUMBER, GROUP)
STASH = [z3.Function(f"way {way}", GROUP, WORD) for way in range(WAYS)]
# Who is looked up.
SOMEBODY = unknown("somebody", 32)


@dataclass
class Entry:
    """An address, and how the table spells it."""

    number: z3.BitVecRef
    settings: Settings

    @property
    def remainder(self):
        return self.number & low(self.settings.remainder_mask, 32)

    def home(self, second):
        return z3.If(second, HOMES[1](self.number), HOMES[0](self.number))

    def code(self, second):
        """As it stands in a lane of that home."""
        code = z3.If(second, self.remainder, self.remainder | self.settings.side)
        return low(wide(code), self.settings.bits)

    @property
    def stashed(self):
        return wide(self.number) << (32 + GROUP_BITS) | 1

    @property
    def group(self):
        return GROUP_OF(self.number)

    def is_held(self, load):
        """By the words that `load` gives of its homes, of the hot word, and of its ways."""
        homes, ways = [unknown("home 0"), unknown("home 1")], [unknown(f"way {way}") for way in range(WAYS)]
        words = {homes[number].get_id(): load(number) for number in range(2)} | {HOT.get_id(): load("hot")}
        words |= {ways[way].get_id(): load(("way", way)) for way in range(WAYS)}
        return spec.is_held(lambda at: words[at.get_id()], homes, self.remainder, HOT, ways, self.stashed, self.settings)


@dataclass(frozen=True)
class Tables:
    """One moment: the lanes of a bucket, the stash, and the hot word."""

    lanes: object
    stash: object
    hot: z3.BitVecRef

    def words(self, entry):
        """The words that are loaded for this entry."""
        def load(what):
            if what in (0, 1):
                return joined(self.lanes(HOMES[what](entry.number)))
            return self.hot if what == "hot" else self.stash(entry, what[1])
        return load


def joined(lanes):
    """The word that they are."""
    whole = z3.Concat(*reversed(lanes))
    return z3.ZeroExt(64 - whole.size(), whole) if whole.size() < 64 else whole


def any_lanes(settings):
    functions = [z3.Function(f"lane{number}", BUCKET, z3.BitVecSort(settings.bits)) for number in range(settings.lanes)]
    return lambda bucket: [function(bucket) for function in functions]


def any_stash(entry, way):
    """Whatever stands there for an entry while nobody stores into the stash."""
    return STASH[way](entry.group)


def same_stash(entry, way):
    """The same, where nobody stores into it."""
    return unknown(f"way {way} of {entry.number}")


@dataclass
class Place:
    """A lane of a bucket."""

    bucket: z3.BitVecRef
    lane: z3.BitVecRef
    settings: Settings

    def code(self, tables):
        lanes = tables.lanes(self.bucket)
        code = lanes[0]
        for number, lane in enumerate(lanes):
            code = z3.If(self.lane == number, lane, code)
        return code

    def stored(self, tables, code):
        """One store of the whole word, in which this lane is another."""
        def lanes(at):
            return [z3.If(z3.And(at == self.bucket, self.lane == number), code, lane)
                    for number, lane in enumerate(tables.lanes(at))]
        return Tables(lanes, tables.stash, tables.hot)


class Path:
    """Somebody takes the place of the first, who takes that of the next, and so on; the last takes a free one."""

    def __init__(self, settings, moves, forward, faults=()):
        self.settings, self.faults = settings, faults
        self.entries = [Entry(unknown(f"entry{number}", 32), settings) for number in range(moves + 1)]
        self.places = [Place(z3.Const(f"bucket{number}", BUCKET), unknown(f"lane{number}", 3), settings) for number in range(moves + 1)]
        self.before = Tables(any_lanes(settings), same_stash if forward else any_stash, unknown("hot"))
        # By which home each will stand.
        self.second = [z3.Bool("comes to the second home"), *(z3.Bool(f"moves forward {number}") for number in range(1, moves + 1))]
        self.somebody = Entry(SOMEBODY, settings)
        self.facts = [*self.rules(forward), *self.scheme()]

    def rules(self, forward):
        for place in self.places:
            yield z3.ULT(place.lane, self.settings.lanes)
        for one, two in combinations(self.places, 2):
            yield z3.Or(one.bucket != two.bucket, one.lane != two.lane)
        for entry, place, second in zip(self.entries, self.places, self.second):
            yield place.bucket == entry.home(second)
            if "a remainder of zero has a second home" not in self.faults:
                yield z3.Implies(second, entry.remainder != 0)
        for entry, place, second in zip(self.entries[1:], self.places, self.second[1:]):
            yield place.bucket == entry.home(z3.Not(second))
            yield place.code(self.before) == entry.code(z3.Not(second))
            yield entry.remainder != 0
            if forward and "an entry moves back at once" not in self.faults:
                yield second
        if "the last place is taken" not in self.faults:
            yield self.places[-1].code(self.before) == 0

    def scheme(self):
        """Theorem `scheme`."""
        for one, two in combinations([*self.entries, self.somebody], 2):
            for home in HOMES:
                tell = z3.And(home(one.number) == home(two.number), one.remainder == two.remainder)
                yield z3.Implies(tell, one.number == two.number)
            # Of the stash it is plain: see `stash_tells`.
            yield z3.Implies(z3.And(one.group == two.group, one.stashed == two.stashed), one.number == two.number)

    def stores(self):
        """From the free end: the tables before the first store, and after each."""
        steps = list(zip(self.places, self.entries, self.second))[::-1]
        if "places are overwritten before copies are made" in self.faults:
            steps.reverse()
        moments = [self.before]
        for place, entry, second in steps:
            home = z3.Not(second) if "a code is that of the other home" in self.faults else second
            moments.append(place.stored(moments[-1], entry.code(home)))
        return moments


def seen(entry, first, second, stash, hot):
    """The words, each from its own moment."""
    return lambda what: Tables((first, second)[what] if what in (0, 1) else first, stash, hot).words(entry)(what)


def put(stash, at, way, code=None):
    """The stash with this entry there, or with what else."""
    code = at.stashed if code is None else code
    return lambda entry, number: z3.If(z3.And(entry.group == at.group, way == number), code, stash(entry, number))


def is_counted(entry, hot):
    """The hot word is not zero where somebody stands in the stash."""
    return z3.Or(hot != 0, z3.And([any_stash(entry, way) != entry.stashed for way in range(WAYS)]))


def free(stash, entry, way):
    return z3.And([z3.Implies(way == number, stash(entry, number) == 0) for number in range(WAYS)])


def stands(stash, entry, way):
    return z3.And([z3.Implies(way == number, stash(entry, number) == entry.stashed) for number in range(WAYS)])
