"""Theorem: while somebody comes and entries move for him by the rules of `kernel/moving`, whoever looks up an address finds what the
specification finds in the tables of one moment of his way; and nobody else leaves, and nobody else comes.

A reader is what `judgement` has proved of the bytecode: one load of his first home, then of his second, then of the hot word, then of
the ways of the stash; `specification.is_held` says what follows from these words. Writers are the rules. When a reader's loads come
between which stores is enumerated; what stands in the tables, who moves, where and into which lanes is unknown.
"""

import z3

from moving import GROUP_BITS, WAYS, Entry, Path, Tables, any_stash, free, is_counted, put, seen, stands
from settings import Settings
from theorem import follows
from words import unknown, word

# How many entries move for the one who comes, at most: more than one where that was proved in seconds.
MOST_MOVES, MOST_MOVES_ELSE = {"4x16": 2, "5x12": 2}, 1


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
