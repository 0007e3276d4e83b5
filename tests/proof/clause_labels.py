"""Theorems: what a clause drops, and a reply to this host of a source that one covers, is counted for its list by the functions of that
clause's slot (`by_slot`). These write one counter of this processor's row, and nothing else: of an IPv4 source that of the list whose
label stands beside it in the tables of the slot (`four`); of an IPv6 one that of the list which `labels6` would find in these tables,
or the one of its /64 (`six`); who is asked for a label there answers it, and writes nothing (`asking`). All is proved of the first slot;
`clauses.are_alike` says that the others' are the same.
"""

import z3

import labelled
import labels
import specification as spec
import specification_ports as by
from clauses import name
from labelled6 import NONE
from labels6 import Counting, prove_asking
from loads import by_places, read_in_order, words_of
from machine import Machine, Write
from specification6 import NET64
from specification6 import shuffled as shuffled6
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
        claims = list(counted_once(world, settings, end, label, counted))
        all_follow(claims, here, by_places(world, loads))


def counted_once(world, settings, end, label, counted):
    yield from labels.claims(world, settings, end.writes, word(spec.ADDRESS4), labels.amount(world, counted))
    yield "it counts where lists are counted for", (settings.lists != 0) == bool(end.writes)
    for write in end.writes:
        yield "for which list, and as what", write.at == labelled.counter(settings, world.processor, label, counted & 3)


class Six(Counting):
    """From where the function is called that counts an IPv6 source. All that it is told of the hit is whether its /64 made it one: then
    that is asked for its label, where there are levels at all; and nothing else is."""

    summaries = {name("of_six"): labels.asked}

    def __init__(self, function, world, settings):
        super().__init__(function, world, settings)
        self.of_64 = labels.LABEL6(word(NET64), shuffled6(self.high, settings), word(0))
        # It answers a label, or that there is none.
        world.facts.append(z3.ULE(self.of_64, NONE))

    def by_64(self):
        return low(unknown("by /64"), 32) != 0, z3.If(self.of_64 == NONE, labelled.OTHER, low(self.of_64, 8))


def six(function, world, settings):
    """Of any source, and whatever became of its packet."""
    counting = Six(function, world, settings)
    begin = Machine(function, world).beginning()
    counted = z3.Concat(unknown("above", 32), low(counting.any("counted"), 32))
    begin.registers.update({1: counting.high, 2: counting.low, 3: unknown("by /64"), 4: counted})
    counting.prove(begin)


def asking(function, world, settings):
    """The label of any prefix. And nothing is written, whatever it is asked for, and whether there is a table or not."""
    machine = Machine(function, world)
    begin = machine.beginning()
    begin.registers.update({register: unknown(f"argument{register}") for register in range(1, 4)})
    writes = [end.when for end in machine.run(begin) if end.writes]
    follows("asking writes nothing", z3.Not(z3.Or(writes)), *world.facts)
    obligations(machine, *world.facts)
    prove_asking(function, world, settings)
