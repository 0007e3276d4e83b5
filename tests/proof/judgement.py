"""Theorem: once a source is known to be IPv4, the judge comes to the reason that the specification gives, has written nothing, and
has read each word of the tables once, in the order that moving entries rely on. Where something may be allowed, or replies pass, what
follows from a hit is asked of a function (theorem `follow4`), once, last, and with what the packet's address is told by.
"""

import z3

import labelled
import labels
import labels4
import specification as spec
from loads import by_places, read_in_order, words_of
from machine import Machine, Pointer, Read, Unproved, Write
from theorem import all_follow, obligations
from words import low, unknown, wide, word

HIT = "filterd_follow4"
# What that answers.
STANDS, REPLY, ALLOWED = range(3)
ANSWER = unknown("followed")
# In the place of a label's number: it was a prefix that covers the source.
IN_NETWORK = 2**32 - 2


# With these lanes it takes two minutes to tell for which list a hit counts: that is asked apart, where mutants are refuted, too.
SLOW = "5x12"


def prove(program, world, settings, cut, places, is_long=False):
    """From where the source is known to one of the places from which it is counted."""
    machine = Machine(program, world, prunes=True, summaries={**labels.SUMMARIES, HIT: follow})
    ends = machine.run(cut.state, lambda state, this: state.at in places)
    obligations(machine, *world.facts)
    address, overlap = unknown("address", 32), world.table("OVERLAP")
    lookup = spec.lookup(address, world.table("ADDRESSES"), world.table("NETWORKS"), settings)
    # There are no more buckets than the table has (lemma `stretches`), so the number of a label is none that means a prefix.
    world.facts += [z3.ULT(bucket, wide(settings.buckets)) for bucket in lookup.buckets]
    world.facts += [z3.ULE(low(ANSWER, 32), ALLOWED)]
    world.facts += settings.label_facts
    for end in ends:
        if end.at not in places:
            raise Unproved(f"{program.name} ends without having counted")
        if not places[end.at].begins_as(end):
            raise Unproved(f"{program.name} comes to {end.at} otherwise than other frames do")
    for end in machine.alike(ends):
        here = [*world.facts, end.when]
        words, simpler = loaded(world, settings, address, end, here, [("OVERLAP", [word(0)]), (HIT, [word(0)])])
        found = spec.reason4(address, *words, settings)
        is_asked = z3.And(found != spec.UNLISTED, z3.Or(settings.match_new != 0, spec.may_overlap(overlap, settings)))
        reason = z3.If(is_asked, followed(found), found)
        place = places[end.at]
        calls = [write for write in end.writes if write.table == HIT]
        claims = [("the reason", place.reason(end) == reason),
                  ("only a hit is dropped", place.allows(reason, end)),
                  ("what follows is asked of a hit where anything may", is_asked == bool(calls))]
        of_lists = list(counted(world, settings, end, lookup, words[0], found))
        for call in calls:
            by_network = call.at == IN_NETWORK
            claims.append(("by what it is listed", by_network == (found == spec.NETWORK4)))
            claims.append(("the address", call.value == z3.If(by_network, wide(address), lookup.shuffled)))
            number = labels4.number(lookup, words[0], settings)
            of_lists.append(("the number of its label", z3.Or(by_network, call.at == wide(number))))
        claims += labels.claims(world, settings, [write for write in end.writes if write not in calls], reason)
        claims += [("what is counted by who is asked is not counted again", z3.BoolVal(not calls or len(end.writes) == 1)),
                   ("a hit counts for a list", z3.Or(bool(end.writes), settings.lists == 0, found == spec.UNLISTED))]
        all_follow(claims, here, simpler)
        is_slow = settings.layout == SLOW
        # How many lanes are before the one that is seen is hard to tell of them all at once where there are many: so lane by lane.
        cases = labels4.cases(lookup, words[0], settings) if end.writes and is_slow else ()
        if is_long or not is_slow:
            all_follow(of_lists, here, simpler, cases)


def counted(world, settings, end, lookup, load, found):
    """A hit that is put before nobody counts for its list."""
    for write in end.writes:
        if write.table == labels.COUNTERS:
            by_address = labels4.label(world, settings, lookup.shuffled, labels4.number(lookup, load, settings))
            label = z3.If(found == spec.NETWORK4, labels4.label_of_network(world, settings, unknown("address", 32)), by_address)
            kind = labelled.kind_of_drop(settings, unknown("clock0"))
            yield "for which list", write.at == labelled.counter(settings, world.processor, label, kind)


def follow(_, registers):
    """That it was called is told as if it were written, and read."""
    if registers[1] != Pointer("context", word(0)):
        raise Unproved(f"{HIT} is called with something else than the packet")
    return (Write(HIT, wide(low(registers[3], 32)), registers[2]),), ANSWER, Read(HIT, word(0))


def followed(found):
    """The reason after what the function answers (theorem `follow4`): one of three."""
    return spec.after_hit(found, low(ANSWER, 32) == ALLOWED, low(ANSWER, 32) == REPLY)


def expected(world, settings, address, end, facts, more=()):
    """The reason that one set has, by the words that were loaded on this way."""
    words, _ = loaded(world, settings, address, end, facts, more)
    return spec.reason4(address, *words, settings)


def loaded(world, settings, address, end, facts, more=()):
    """The words of addresses and of networks; these are what it has to load, and in order. And how to make simpler what is claimed."""
    of_networks, of_addresses = settings.set + "NETWORKS", settings.set + "ADDRESSES"
    places = spec.lookup(address, world.table(of_addresses), world.table(of_networks), settings)
    loads = read_in_order(end, [
        (of_networks, [places.summary]), (of_networks, [places.slash24]), (of_addresses, [places.homes[0]]),
        (of_addresses, [places.homes[1]]), (of_addresses, [places.hot]), (of_addresses, places.ways), *more,
    ], facts)
    return (words_of(world, of_addresses, loads), words_of(world, of_networks, loads)), by_places(world, loads)
