"""Which words a program has loaded on one way, and in which order."""

import z3

from theorem import follows, holds
from words import WORD


def words_of(world, name, loads):
    """The words of this table as they were when they were loaded. What was not loaded is anything."""
    def load(at):
        number, place, _ = loads.get((name, at.get_id()), ("not at all", None, None))
        return world.loaded(name, number)(at if place is None else place)
    return load


def read_in_order(end, expected, facts):
    """Each read is one of the next words that may be read; none is read again. The ways of the stash may come in any order. Tells
    of each place by which load it was read, and where."""
    waiting, loads, numbers = [(table, list(places)) for table, places in expected], {}, {}
    for read in end.reads:
        numbers[read.table] = numbers.get(read.table, 0) + 1
        while waiting:
            table, places = waiting[0]
            found = next((at for at in places if table == read.table and is_same(at, read.at, facts)), None)
            if found is not None:
                places[:] = [at for at in places if at is not found]
                # The place itself is kept, too: the solver gives the number of one that is gone to another.
                loads[table, found.get_id()] = numbers[read.table], read.at, found
                break
            waiting.pop(0)
        else:
            # A counterexample is any packet that goes this way.
            follows(f"a word of {read.table} is read twice, or not in its turn", z3.BoolVal(False), *facts)
    return loads


# Places that are the same whatever is known, by the solver's numbers of both: many ways load them. They are kept, lest the solver
# give their numbers to others.
ALWAYS_SAME = {}


def is_same(one, two, facts):
    if z3.is_true(z3.simplify(one == two)):
        return True
    key = one.get_id(), two.get_id()
    if key not in ALWAYS_SAME:
        ALWAYS_SAME[key] = holds(one == two), one, two
    return ALWAYS_SAME[key][0] or holds(one == two, *facts)


def by_places(world, loads):
    """Writes what is claimed of these loads so that solvers see it: each place as the specification has it, which was proved to be the
    same, and in the place of each word one of which nothing is known. What holds of any such word holds of that one. (What is asked
    of a function, and so told by more than the number of a place, stays as it is.)"""
    places = [(at, found) for _, at, found in loads.values() if not at.eq(found)]
    words = [(world.loaded(table, number)(found), z3.FreshConst(WORD, table))
             for (table, _), (number, _, found) in loads.items() if found.sort() == WORD]
    return lambda claim: z3.substitute(z3.substitute(claim, *places), *words)
