"""Theorem: the function that is asked what follows from an IPv4 hit answers that what is allowed passes, that a reply passes where
replies do, and that all else stands; counts each of the latter two once for a list where lists are counted for; and writes nothing else.

What is a reply is for the theorem `replies`: here that may be anything. It is asked of the packet.
"""

import copy

import z3

import labelled
import labels
import labels4
import specification as spec
from allowed import ALLOWED4
from judgement import ALLOWED, IN_NETWORK, REPLY, STANDS
from loads import read_in_order
from machine import Machine, Pointer, Read, Unproved
from theorem import all_follow, obligations
from words import WORD, low, unknown, word

REPLIES = "filterd_replies"

# What `filterd_allows4` answers of an address (theorem `allowed`).
IS_ALLOWED4 = z3.Function("allowed4", z3.BitVecSort(32), WORD)


def allows4(_, registers):
    address = low(registers[1], 32)
    return (), IS_ALLOWED4(address), Read(ALLOWED4, address)


def replies(_, registers):
    if registers[1] != Pointer("context", word(0)):
        raise Unproved(f"{REPLIES} is called with something else than the packet")
    return (), unknown("replies"), Read(REPLIES, word(0))


def answer(is_allowed, is_reply):
    return z3.If(is_allowed, word(ALLOWED, 32), z3.If(is_reply, word(REPLY, 32), word(STANDS, 32)))


def prove(function, world, settings):
    """Of whatever it is called with: the address of a packet that a prefix covers, or what the table knows an address by."""
    label, shuffled = unknown("label"), unknown("number")
    number = low(shuffled, 32)
    of_network = labels4.label_of_network(world, settings, number)
    of_address = labels4.label(world, settings, shuffled, low(label, 32))
    of_any(function, world, settings, word(IN_NETWORK), number, of_network, [])
    of_any(function, world, settings, label, spec.unshuffled(number, settings.key), of_address, [low(label, 32) != IN_NETWORK])


def of_any(function, world, settings, label, address, list_, facts):
    world = copy.copy(world)
    world.facts = [*world.facts, *settings.label_facts, *facts]
    machine = Machine(function, world, prunes=True, summaries={**labels.SUMMARIES, ALLOWED4: allows4, REPLIES: replies})
    begin = machine.beginning()
    begin.registers.update({2: unknown("number"), 3: label})
    overlap = world.table("OVERLAP")
    is_allowed = z3.And(spec.may_overlap(overlap, settings), low(IS_ALLOWED4(address), 32) != 0)
    is_reply = z3.And(settings.match_new != 0, z3.Not(is_allowed), low(unknown("replies"), 32) != 0)
    kind = z3.If(is_reply, word(labelled.REPLY), labelled.kind_of_drop(settings, unknown("clock0")))
    counter = labelled.counter(settings, world.processor, list_, kind)
    ends = machine.run(begin)
    obligations(machine, *world.facts)
    for end in ends:
        here = [*world.facts, end.when]
        read_in_order(end, [("OVERLAP", [word(0)]), (ALLOWED4, [address]), (REPLIES, [word(0)])], here)
        reason = z3.If(is_allowed, word(spec.ALLOWED, 32), word(spec.ADDRESS4, 32))
        claims = [("what it answers", low(end.registers[0], 32) == answer(is_allowed, is_reply)),
                  ("what is not allowed counts for a list", z3.Or(bool(end.writes), is_allowed, settings.lists == 0)),
                  *(("for which list", write.at == counter) for write in end.writes),
                  *labels.claims(world, settings, end.writes, reason)]
        all_follow(claims, here)
