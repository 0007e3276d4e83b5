"""Theorem: the function that counts an IPv4 address for its list finds the label that stands beside it, in the lane where it is seen,
else in its way of the stash; and counts that label's packet, as what it was told became of it. Nothing else is written (`labels`).

It may ask the table anew: whoever has moved or left since the packet was judged is found where he is now, or counts for nobody.
"""

import z3

import labelled
import labels
import specification as spec
from loads import by_places, read_in_order, words_of
from machine import Machine
from theorem import all_follow, obligations
from words import low, unknown, wide, word

# In the place of a label's number: it is to be looked for.
UNSEEN = word(2**32 - 1, 32)


def prove(function, world, settings):
    """Of any address, known by what its table makes of it; there is a table, for callers have found somebody in it."""
    shuffled, counted = unknown("shuffled", 32), unknown("counted")
    machine = Machine(function, world, prunes=True)
    begin = machine.beginning()
    begin.registers.update({1: wide(shuffled), 2: counted})
    ends = machine.run(begin)
    obligations(machine, *world.facts)
    places = spec.places(shuffled, world.table("ADDRESSES"), settings)
    beside = world.table("ADDRESS_LABELS")
    world.facts += [settings.in_use != 0, *settings.label_facts, *(z3.ULT(bucket, wide(settings.buckets)) for bucket in places.buckets)]
    for end in ends:
        here = [*world.facts, end.when]
        loads = read_in_order(end, [("ADDRESSES", [places.homes[0]]), ("ADDRESSES", [places.homes[1]]), ("ADDRESSES", places.ways)], here)
        label = labelled.of_address4(beside, words_of(world, "ADDRESSES", loads), places, shuffled, settings)
        claims = list(labels.claims(world, settings, end.writes, word(spec.ADDRESS4), labels.amount(world, counted)))
        claims += [("it counts where lists are counted for", (settings.lists != 0) == bool(end.writes))]
        claims += [("for which list", write.at == labelled.counter(settings, world.processor, label, counted & 3)) for write in end.writes]
        all_follow(claims, here, by_places(world, loads))


def number(places, load, settings):
    """Of the label of an address that these words hold so. Of whoever stands in the stash it is to be looked for."""
    slot, is_seen = labelled.slot4(load, places, settings, low(places.shuffled, 32) & low(settings.remainder_mask, 32))
    return z3.If(z3.And(settings.label_words != 0, is_seen), slot, UNSEEN)


def cases(places, load, settings):
    """In which lane it is seen, if in any."""
    lanes = labelled.lanes4(load, places, settings, low(places.shuffled, 32) & low(settings.remainder_mask, 32))
    return [is_here for is_here, _ in lanes]


def label(world, settings, shuffled, number):
    """Of an address whose label has this number."""
    return z3.If(number == UNSEEN, labels.LABEL4(shuffled), labelled.of_number4(world.table("ADDRESS_LABELS"), number, settings))


def label_of_network(world, settings, address):
    return labelled.of_network4(world.table("NETWORK_LABELS"), address, settings)
