"""Theorem: once a source is known to be IPv4, the judge comes to the reason that the specification gives, has written nothing, and
has read each word of the tables once, in the order that moving entries rely on.
"""

import z3

import labels
import specification as spec
from machine import Machine, Unproved
from theorem import follows, holds, obligations
from words import low, unknown, word


def prove(program, world, settings, cut, places):
    """From where the source is known to one of the places from which it is counted."""
    machine = Machine(program, world, prunes=True, summaries=labels.SUMMARIES)
    ends = machine.run(cut.state, lambda state, this: state.at in places)
    obligations(machine, *world.facts)
    reason, reads = expected(world, settings)
    for end in ends:
        if end.at not in places:
            raise Unproved(f"{program.name} ends without having counted")
        here = [*world.facts, end.when]
        read_in_order(end, reads, here)
        place = places[end.at]
        follows("the reason", low(end.registers[place.register], 32) == reason, *here)
        follows("only a hit is dropped", place.allows(reason), *here)
        for what, goal in labels.claims(world, settings, end.writes, reason):
            follows(what, goal, *here)
        if not place.begins_as(end):
            raise Unproved(f"{program.name} comes to {end.at} otherwise than other frames do")


def expected(world, settings):
    """The reason, and the words that are read on the way to it."""
    networks, addresses = world.table("NETWORKS"), world.table("ADDRESSES")
    found = spec.lookup(unknown("address", 32), addresses, networks, settings)
    by_network = z3.And(settings.networks4 != 0, found.is_in_network)
    by_address = z3.And(settings.in_use != 0, found.is_address)
    number = lambda reason: word(reason, 32)
    reason = z3.If(by_network, number(spec.NETWORK4), z3.If(by_address, number(spec.ADDRESS4), number(spec.UNLISTED)))
    return reason, [
        ("NETWORKS", [found.summary]), ("NETWORKS", [found.slash24]),
        ("ADDRESSES", [found.homes[0]]), ("ADDRESSES", [found.homes[1]]), ("ADDRESSES", [found.hot]), ("ADDRESSES", found.ways),
    ]


def read_in_order(end, expected, facts):
    """Each read is one of the next words that may be read; none is read again. The ways of the stash may come in any order."""
    waiting = [(table, list(places)) for table, places in expected]
    for read in end.reads:
        while waiting:
            table, places = waiting[0]
            found = next((at for at in places if table == read.table and is_same(at, read.at, facts)), None)
            if found is not None:
                places[:] = [at for at in places if at is not found]
                break
            waiting.pop(0)
        else:
            # A counterexample is any packet that goes this way.
            follows(f"a word of {read.table} is read twice, or not in its turn", z3.BoolVal(False), *facts)


def is_same(one, two, facts):
    return z3.is_true(z3.simplify(one == two)) or holds(one == two, *facts)
