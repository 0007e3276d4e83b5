"""Theorems: what a clause drops, and a reply to this host of a source that one covers, is counted for its list by the functions of that
clause's slot (`by_slot`). These write one counter of this processor's row, and nothing else: of an IPv4 source that of the list whose
label stands beside it in the tables of the slot (`four`); of an IPv6 one that of some list (`six`); who is asked for a label writes
nothing. All is proved of the first slot; `clauses.are_alike` says that the others' are the same.
"""

import z3

import labelled
import labels
import parts
import specification as spec
import specification_ports as by
from clauses import name
from loads import read_in_order, words_of
from machine import Machine, Unproved, Write
from parts import Arrival, Same
from settings import LENGTH_WORDS, LENGTHS6, MOST_LENGTHS
from theorem import all_follow, follows, obligations
from words import low, unknown, wide, word

COUNT_CLAUSE = "filterd_count_clause"


def by_slot(function, world, family):
    """Whichever clause drops it, and as whatever it is counted: that slot's function counts it, once."""
    told, source = unknown("told"), [unknown("address")] if family == 4 else [unknown("high"), unknown("low")]
    kind, exact = unknown("kind"), spec.NETWORK4 if family == 4 else spec.NET64
    bits = 32 if family == 4 else 64
    given = lambda registers: z3.Concat(*(low(registers[at], bits) for at in range(1, len(source) + 1)),
                                        *(low(registers[at], 32) for at in range(len(source) + 1, len(source) + 3)))
    counts = {name(f"count{family}", slot): lambda _, registers, slot=slot: ((Write("counted", word(slot), given(registers)),), None)
              for slot in range(by.SLOTS)}
    machine = Machine(function, world, summaries=counts)
    begin = machine.beginning()
    begin.registers.update({number: part for number, part in enumerate([told, *source, kind], 1)})
    clause = z3.LShR(low(told, 32), 8)
    facts = [*world.facts, z3.ULE(1, clause), z3.ULE(clause, by.SLOTS)]
    is_exact = z3.If(low(told, 32) & 0xFF == exact, word(1, 32), word(0, 32))
    wanted = z3.Concat(*(low(part, bits) for part in source), is_exact, low(kind, 32))
    for end in machine.run(begin):
        asked = [write for write in end.writes if write.table == "counted"]
        claims = [("it is counted once, by a slot", z3.BoolVal(len(asked) == len(end.writes) == 1))]
        claims += [("by which slot", write.at == wide(clause - 1)) for write in asked]
        claims += [("who is counted, and as what", write.value == wanted) for write in asked]
        all_follow(claims, [*facts, end.when])
    obligations(machine, *facts)


def four(function, world, settings):
    """Of any address, which a prefix covers or which stands in the table. There is a table, for a caller has found somebody in it."""
    address, by_network, counted = low(unknown("argument"), 32), unknown("by network"), unknown("counted")
    machine = Machine(function, world, prunes=True)
    begin = machine.beginning()
    begin.registers.update({1: unknown("argument"), 2: by_network, 3: counted})
    ends = machine.run(begin)
    obligations(machine, *world.facts)
    of_set = lambda kind: settings.set + kind
    shuffled, is_network = spec.shuffled(address, settings.key), low(by_network, 32) != 0
    places = spec.places(shuffled, world.table(of_set("ADDRESSES")), settings)
    beside, of_networks = (world.table(of_set(kind)) for kind in ("ADDRESS_LABELS", "NETWORK_LABELS"))
    world.facts += [z3.Or(is_network, settings.in_use != 0), *settings.label_facts,
                    *(z3.Implies(z3.Not(is_network), z3.ULT(bucket, wide(settings.buckets))) for bucket in places.buckets)]
    reads = [(of_set("ADDRESSES"), at) for at in ([places.homes[0]], [places.homes[1]], places.ways)]
    for end in ends:
        here = [*world.facts, end.when]
        loads = read_in_order(end, reads, here)
        of_address = labelled.of_address4(beside, words_of(world, of_set("ADDRESSES"), loads), places, shuffled, settings)
        label = z3.If(is_network, labelled.of_network4(of_networks, address, settings), of_address)
        all_follow(list(counted_once(world, settings, end, label, counted)), here)


def counted_once(world, settings, end, label, counted):
    yield from labels.claims(world, settings, end.writes, word(spec.ADDRESS4))
    yield "it counts where lists are counted for", (settings.lists != 0) == bool(end.writes)
    for write in end.writes:
        yield "for which list, and as what", write.at == labelled.counter(settings, world.processor, label, counted & 3)


def six(function, world, settings):
    """Of whatever it is called with. Of a circle over lengths any round is run, of which nothing is known but its number."""
    machine, number = Machine(function, world), unknown("number")
    heads, begin = parts.heads(machine), machine.beginning()
    begin.registers.update({register: unknown(f"argument{register}") for register in range(1, 5)})
    stride = ("SETTINGS", 8 * settings.of_set(LENGTHS6), 8 * LENGTH_WORDS, "number")
    arrived = from_here(function, world, settings, begin, heads, word(0))
    for already, head in enumerate(heads, 1):

        def round_(same):
            state = parts.beginning(head, same, {"number": number})
            onward = from_here(function, world, settings, state, heads, number + 1, [z3.ULT(number, MOST_LENGTHS)])
            return onward.pop(head, []), onward

        for at, more in parts.circle(machine.live[head], arrived.pop(head), ["number"], round_, stride, [Same(is_any=True)]).items():
            if at not in heads[already:]:
                raise Unproved(f"{function.name} goes back from {head} to {at}")
            arrived.setdefault(at, []).extend(more)


def from_here(function, world, settings, begin, heads, next_number, facts=()):
    """Whoever ends has written what is claimed; whoever comes to a circle has written nothing yet. The latter, by the circle."""
    arrived, is_asked = {}, function.name == name("of_six")
    summaries = {name("of_six"): lambda *_: ((), None)}
    for end, here in parts.runs(function, world, summaries, begin, lambda state, this: state.at in heads, facts):
        if end.at in heads:
            number = next_number if end.at == begin.at else word(0)
            claims = [("something is written before the last round", z3.BoolVal(not end.writes)),
                      ("no more rounds than lengths", z3.ULT(number, MOST_LENGTHS))]
            arrived.setdefault(end.at, []).append(Arrival(end, {"number": number}, here))
        else:
            claims = list(labels.claims(world, settings, end.writes, word(spec.ADDRESS4)))
            claims += [("who is asked writes nothing", z3.BoolVal(not end.writes))] if is_asked else [
                ("it counts where lists are counted for", (settings.lists != 0) == bool(end.writes))]
        all_follow(claims, here)
    return arrived
