"""Theorem: counting a hit for its list writes one counter of this processor's row, and nothing else; asking for a label writes
nothing. For which list say `labels4` and `labels6`.

No verdict depends on labels: what stands in them is any words, here as in the other theorems.
"""

import z3

import labelled
import parts
import specification as spec
from labelled import ROW
from machine import Machine, Unproved, Write
from parts import Arrival, Same
from settings import LENGTH_WORDS, LENGTHS6, MOST_LENGTHS
from theorem import follows
from words import WORD, low, unknown, wide, word

COUNTERS = "LISTS"

COUNT_ADDRESS4, COUNT6, ASKING = "filterd_count_address4", "filterd_count6", "filterd_label6"
# Those that count, and in which register each is told as what.
COUNTED = {COUNT_ADDRESS4: 2, COUNT6: 3}
COUNTING = tuple(COUNTED)
# The label of an IPv4 address, known by what its table makes of it, which the first of these finds (theorem `labels4`).
LABEL4 = z3.Function("label4", WORD, z3.BitVecSort(8))
# That of an IPv6 source of which it is not told what made it a hit, and what is answered for a prefix: by its kind, its number, and what
# more tells a longer one (theorem `labels6`).
OTHER6 = z3.Function("other6", WORD, WORD, z3.BitVecSort(8))
LABEL6 = z3.Function("label6", WORD, WORD, WORD, z3.BitVecSort(32))


def place(world, settings):
    """Where this processor's row begins."""
    return spec.own_number(settings, world.processor) * ROW


# Of a word that tells how a list counts a packet so many bits tell as what; behind the driver those above tell of how many frames.
KIND_BITS = 8


def amount(world, counted):
    """How many frames such a word tells of."""
    return wide(z3.simplify(z3.LShR(low(counted, 32), KIND_BITS))) if world.hook.is_late else word(1)


def word_of(world, kind):
    """Such a word of this packet, which counts as this."""
    return z3.simplify(kind | low(world.segments, 32) << KIND_BITS) if world.hook.is_late else kind


def claims(world, settings, writes, reason, more=None):
    """At most one counter, of a hit only, and only where lists are counted for. It counts so many frames: mostly those of this packet."""
    more = world.segments if more is None else more
    if any(write.table != COUNTERS for write in writes) or len(writes) > 1:
        yield "nothing is written but a counter of a list", z3.BoolVal(False)
    for write in writes:
        yield "a counter of a list is in this processor's row", z3.ULT(write.at - place(world, settings), ROW)
        yield "a packet counts once for a list", write.value == world.table(COUNTERS)(write.at) + more
        yield "what passes counts for no list", spec.is_drop(reason)
        yield "nothing counts for lists where that is off", settings.lists != 0


def counted4(world, registers):
    """What the function writes, for whoever calls it. Nobody asks for its answer."""
    at = labelled.counter(world.all_settings, world.processor, LABEL4(registers[1]), registers[2] & 3)
    return (Write(COUNTERS, at, world.table(COUNTERS)(at) + amount(world, registers[2])),), None


def counted6(world, registers):
    """The same of the other one."""
    at = labelled.counter(world.all_settings, world.processor, OTHER6(registers[1], registers[2]), registers[3] & 3)
    return (Write(COUNTERS, at, world.table(COUNTERS)(at) + amount(world, registers[3])),), None


def asked(_, registers):
    """Asking writes nothing. What stands above the answer is anything."""
    answer = LABEL6(wide(low(registers[1], 32)), registers[2], wide(low(registers[3], 32)))
    return (), z3.Concat(z3.FreshConst(z3.BitVecSort(32), "above"), answer)


SUMMARIES = {COUNT_ADDRESS4: counted4, COUNT6: counted6, ASKING: asked}


def prove(function, world, settings):
    """Of whatever it is called with. Of a circle over lengths any round is run, of which nothing is known but its number."""
    machine, number = Machine(function, world), unknown("number")
    heads = parts.heads(machine)
    world.facts += [] if function.name == ASKING else [settings.lists != 0]
    begin = machine.beginning()
    begin.registers.update({register: unknown(f"argument{register}") for register in range(1, 4)})
    arrived = from_here(function, world, settings, begin, heads, word(0))
    for already, head in enumerate(heads, 1):
        came = arrived.pop(head)
        live, facts, told = machine.live[head], [z3.ULT(number, MOST_LENGTHS)], counted(function)

        def round_(same):
            state = parts.beginning(head, same, {"number": number, **told})
            onward = from_here(function, world, settings, state, heads, number + 1, facts)
            return onward.pop(head, []), onward

        for at, more in parts.circle(live, came, ["number", *told], round_, STRIDE, [Same(is_any=True)]).items():
            if at not in heads[already:]:
                raise Unproved(f"{function.name} goes back from {head} to {at}")
            arrived.setdefault(at, []).extend(more)


def counted(function):
    """What a function is told that counts: whole, and its lower half."""
    if function.name not in COUNTED:
        return {}
    told = unknown(f"argument{COUNTED[function.name]}")
    return {"counted": told, "lower half": wide(low(told, 32))}


STRIDE = ("SETTINGS", 8 * LENGTHS6, 8 * LENGTH_WORDS, "number")


def from_here(function, world, settings, begin, heads, next_number, facts=()):
    """Whoever ends has written what is claimed; whoever comes to a circle has written nothing yet. The latter, by the circle."""
    arrived, more = {}, next((amount(world, word) for word in counted(function).values()), None)
    for end, here in parts.runs(function, world, SUMMARIES, begin, lambda state, this: state.at in heads, facts):
        if end.at in heads:
            if end.writes:
                raise Unproved("something is written before the last round")
            number = next_number if end.at == begin.at else word(0)
            follows("no more rounds than lengths", z3.ULT(number, MOST_LENGTHS), *here)
            arrived.setdefault(end.at, []).append(Arrival(end, {"number": number, **counted(function)}, here))
            continue
        if function.name == ASKING and end.writes:
            follows("asking writes nothing", z3.BoolVal(False), *here)
        for what, goal in claims(world, settings, end.writes, word(spec.ADDRESS4), more):
            follows(what, goal, *here)
    return arrived
