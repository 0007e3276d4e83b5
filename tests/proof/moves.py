"""Theorem: while somebody comes and entries move for him by the rules of `kernel/moving`, whoever looks up an address finds what the
specification finds in the tables of one moment of his way; and nobody else leaves, and nobody else comes.

A reader is what `judgement` has proved of the bytecode: one load of his first home, then of his second, then of the hot word, then of
the ways of the stash; `specification.is_held` says what follows from these words. Writers are the rules. When a reader's loads come
between which stores is enumerated; what stands in the tables, who moves, where and into which lanes is unknown.

An address is the number that it is shuffled to. Of its homes nothing is known but what `scheme` has proved: a home and a remainder
tell who it is.
"""

from dataclasses import dataclass
from itertools import combinations

import z3

import specification as spec
from settings import Settings
from theorem import follows
from words import WORD, low, unknown, wide, word

# How many entries move for the one who comes, at most: more than one where that was proved in seconds.
MOST_MOVES, MOST_MOVES_ELSE = {"4x16": 2, "5x12": 2}, 1
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


def hold(path, what, found, moments, facts, others_only=True):
    """What a reader of somebody has found is so in one of these moments; and if he is not the one who comes, it is what was so before.
    Each who moves is asked for, and anybody else."""
    held = [path.somebody.is_held(moment.words(path.somebody)) for moment in moments]
    if len(moments) > 1:
        follows(f"what is found is so at one moment, {what}", z3.Or([found == now for now in held]), *facts)
    was = path.somebody.is_held(path.before.words(path.somebody))
    is_one = [path.somebody.number == entry.number for entry in path.entries]
    cases = [[is_one[number], z3.Not(is_one[0])] if number else [is_one[0]] for number in range(len(is_one))]
    for case in [*cases[1 if others_only else 0 :], [z3.Not(one) for one in is_one]]:
        follows(f"nobody else leaves, {what}", z3.Implies(was, found), *facts, *case)
        follows(f"nobody else comes, {what}", z3.Implies(found, was), *facts, *case)


def at_once(layout, moves, *faults):
    """The first two rules. The stash does not change meanwhile. A reader loads his first home after so many stores, his second one
    after as many or more."""
    path = Path(Settings(layout), moves, True, faults)
    moments, asked = path.stores(), path.somebody
    for first in range(len(moments)):
        for second in range(len(moments)):
            if second < first and "a reader begins with the second home" not in faults:
                continue
            words = {0: moments[first].words(asked), 1: moments[second].words(asked)}
            found = asked.is_held(lambda what: words.get(what, words[1])(what))
            between = moments[min(first, second) : max(first, second) + 1]
            hold(path, f"loads after {first} and {second} stores", found, between, path.facts)
    follows("who comes is found at the end", path.entries[0].is_held(moments[-1].words(path.entries[0])), *path.facts)


def stash_tells(settings):
    """A group, which is the upper bits of a number, and a code tell the number."""
    one, two = Entry(unknown("one", 32), settings), Entry(unknown("two", 32), settings)
    same = z3.LShR(one.number, 32 - GROUP_BITS) == z3.LShR(two.number, 32 - GROUP_BITS)
    follows("a group and a code tell the number", one.number == two.number, same, one.stashed == two.stashed)


def comes_into_stash(layout, *faults):
    """Somebody whose homes are full: his way and the hot word are stored, in any order. Who looks for him loads the hot word after so
    many stores, and his way after as many or more."""
    stash_tells(Settings(layout))
    more = word(0 if "the hot word stays as it is" in faults else 1)
    for is_hot_first in (False, True):
        path = Path(Settings(layout), 0, False)
        entry, way, hot = path.entries[0], unknown("way", 3), path.before.hot
        after = Tables(path.before.lanes, put(any_stash, entry, way), hot + more)
        moments = [path.before, Tables(path.before.lanes, *((any_stash, hot + more) if is_hot_first else (after.stash, hot))), after]
        facts = [*path.facts, free(any_stash, entry, way), z3.ULT(hot, 1 << 32), is_counted(path.somebody, hot)]
        for first in range(len(moments)):
            for second in range(first, len(moments)):
                lanes = path.before.lanes
                found = path.somebody.is_held(seen(path.somebody, lanes, lanes, moments[second].stash, moments[first].hot))
                hold(path, f"loads after {first} and {second} stores", found, moments[first : second + 1], facts)
        follows("who comes is found at the end", entry.is_held(after.words(entry)), *facts)


def in_batch(layout, moves, *faults):
    """The third rule: entries move either way. They are copied into the stash; a grace period; the words of the buckets are stored; a
    grace period; the copies leave the stash. No packet is under way in two of the three. Within one of them each load sees of its
    word what was before or what will be, as it happens; so this is said of stores and loads in any order."""
    path = Path(Settings(layout), moves, False)
    somebody, before, after = path.somebody, path.before, path.stores()[-1]
    ways = [unknown(f"way{number}", 3) for number in range(moves + 1)]
    stashed, facts = any_stash, list(path.facts)
    for number, (entry, way) in enumerate(zip(path.entries, ways)):
        # The first has waited there.
        if number == 0:
            facts.append(stands(any_stash, entry, way))
        elif "nobody is copied" not in faults:
            facts.append(free(stashed, entry, way))
            stashed = put(stashed, entry, way)
    emptied = stashed
    for entry, way in zip(path.entries, ways):
        emptied = put(emptied, entry, way, word(0))
    hot, hot_at = before.hot, unknown("hot as it is loaded")
    remains = z3.Or([emptied(somebody, way) == somebody.stashed for way in range(WAYS)])
    # The hot word says how many are in the stash, and is not too low while somebody is under way.
    least = 0 if "the hot word is too low" in faults else z3.If(remains, word(1), word(0))
    during = {"copying": [z3.UGE(hot, 1), z3.UGE(hot_at, hot)], "storing": [hot_at != 0], "clearing": [z3.UGE(hot_at, least)]}
    seen_ways = lambda one, two: lambda entry, way: z3.If(z3.Bool(f"sees the later way {way}"), two(entry, way), one(entry, way))
    either = [lambda at, load=load: [z3.If(z3.Bool(f"sees the later home {load}"), two, one)
                                     for one, two in zip(before.lanes(at), after.lanes(at))] for load in range(2)]
    # What each load of a home sees, and of a way.
    windows = [("copying", [before.lanes] * 2, seen_ways(any_stash, stashed)), ("storing", either, stashed),
               ("clearing", either if "no second grace period" in faults else [after.lanes] * 2, seen_ways(stashed, emptied))]
    for window, homes, stash in windows:
        found = somebody.is_held(seen(somebody, *homes, stash, hot_at))
        hold(path, f"while {window}", found, [path.before], [*facts, z3.UGE(hot, 1), *during[window]], others_only=False)


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


# Each fault, and among how many who move it is looked for.
AT_ONCE = {"a remainder of zero has a second home": 0, "an entry moves back at once": 1, "the last place is taken": 1,
           "places are overwritten before copies are made": 1, "a code is that of the other home": 1,
           "a reader begins with the second home": 1}
IN_BATCH = {"nobody is copied": 1, "no second grace period": 1, "the hot word is too low": 0}
INTO_STASH = ["the hot word stays as it is"]


def prove(layout, fault=None):
    """All of it, or the rule that the fault is in."""
    for rule, faults in ((at_once, AT_ONCE), (in_batch, IN_BATCH)):
        for moves in range(MOST_MOVES.get(layout, MOST_MOVES_ELSE) + 1) if fault is None else [faults[fault]] if fault in faults else []:
            rule(layout, moves, fault)
    if fault is None or fault in INTO_STASH:
        comes_into_stash(layout, fault)
