"""Theorems of lists with ports: which packets a clause wants (`wants`); what becomes of a source that clauses cover (`clauses`); and of
whom that is asked (`by_port`). To which port a packet is sent is for `port.py`, whom sets cover for `clauses.py`: here that may be
anything which these can say.
"""

import copy

import z3

import labelled
import labels
import specification as spec
import specification6 as six
import specification_ports as by
from bytecode import CALL, EXIT, LOAD
from follow4 import replies
from loads import read_in_order
from machine import Machine, Pointer, Read, State, Unproved, Write, number_of, put, same
from parser import looks_further
from settings import FIRST, SET_WORDS, SETS, Settings
from theorem import all_follow, follows, holds, obligations
from words import WORD, is_known, low, unknown, wide, word

WANTS, BY_PORT, PORT, COUNTED = "filterd_wants", "filterd_by_port", "filterd_port", "filterd_count_clause"
# Behind all sets, a setting and the ranges of each clause.
PORTS, PORT_WORDS = FIRST + len(SETS) * SET_WORDS, 1 + by.RANGES
OF_PORTS = z3.Function("ports", WORD, WORD)


class Clauses(Settings):
    """Settings, of which those of a clause are any words."""

    def at_unknown(self, at):
        return OF_PORTS(at), z3.And(z3.ULT(at - 8 * PORTS, 8 * PORT_WORDS * by.SLOTS), z3.Extract(2, 0, at) == 0)


def wants(function, world):
    """Of whatever clause it is asked, for whatever port. A range is two ports."""
    first, last, any_port = (unknown(name, 16) for name in ("first", "last", "any port"))
    follows("a port is outside of a range where a difference is less than nothing", differences(*map(wide, (first, last, any_port))))
    machine, slot, port = Machine(function, world), unknown("slot"), unknown("port")
    begin = machine.beginning()
    begin.registers.update({1: slot, 2: port})
    # Of a slot these bits are all there are.
    word_at = lambda number: OF_PORTS(z3.simplify(8 * PORTS + 8 * PORT_WORDS * wide(low(slot, 3)) + 8 * number))
    ranges = [word_at(number) for number in range(1, PORT_WORDS)]
    said, sent_to = [(z3.LShR(range_, 16), range_ & 0xFFFF) for range_ in ranges], wide(low(port, 16))
    facts = [z3.ULT(low(slot, 32), by.SLOTS), by.is_port(low(port, 32)), *(z3.ULT(range_, 1 << 32) for range_ in ranges)]
    # The lemma, of each range.
    facts += [differences(*range_, sent_to) for range_ in said]
    ends = machine.run(begin)
    obligations(machine, *facts)
    wanted = by.wants(word_at(0) != 0, z3.Or([by.is_within(*range_, sent_to) for range_ in said]), low(port, 32))
    for end in ends:
        claims = [("it writes nothing, and reads no table", z3.BoolVal(not end.writes and not end.reads)),
                  ("which packets a clause wants", low(end.registers[0], 32) == wanted)]
        all_follow(claims, [*facts, end.when])


def differences(first, last, port):
    """How the program finds that, without a branch: the highest bit of a difference of numbers so small."""
    return by.is_within(first, last, port) == (z3.Extract(63, 63, (port - first) | (last - port)) == 0)


class Packet:
    """One from an IPv4 source, or from an IPv6 one, about which functions answer what they can."""

    def __init__(self, family):
        self.family, self.source = family, [unknown("address", 32)] if family == 4 else [unknown("high"), unknown("low")]
        self.kinds = (spec.ADDRESS4, spec.NETWORK4) if family == 4 else (spec.NET64, spec.OTHER6)
        self.port, self.allows = unknown("port"), unknown("allows")
        self.holds = [unknown(f"holds{slot}") for slot in range(by.SLOTS)]
        self.wants = z3.Function("wants", z3.BitVecSort(32), z3.BitVecSort(32), WORD)
        self.wanted = [low(self.wants(word(slot, 32), low(self.port, 32)), 32) for slot in range(by.SLOTS)]

    def facts(self):
        """What a clause's sets say is a reason of the family, or none (theorem `clauses`). When nobody can say whether a clause wants it,
        and what it answers else, is for `wants`."""
        yield by.is_port(low(self.port, 32))
        for held, wanted in zip(self.holds, self.wanted):
            yield z3.Or(low(held, 32) == 0, *(low(held, 32) == kind for kind in self.kinds))
            yield z3.And(z3.ULE(wanted, by.UNTOLD), (wanted == by.UNTOLD) == (low(self.port, 32) == by.LATER))

    def sets(self, slot):
        return f"filterd_c{slot}_{self.family}"

    @property
    def allowed(self):
        return f"filterd_allows{self.family}"

    def summaries(self):
        """What the functions answer, that are asked about this packet and its source. Of another source they say something else. That
        they were asked is told as if it were read."""

        def of_source(name, answer):
            def of(_, registers):
                is_it = z3.And([low(registers[number], part.size()) == part for number, part in enumerate(self.source, 1)])
                return (), z3.If(is_it, answer, z3.FreshConst(WORD, "of another")), Read(name, word(0))
            return of

        def wants_(_, registers):
            return (), self.wants(low(registers[1], 32), low(registers[2], 32))

        def counted(_, registers):
            parts = [low(registers[number], part.size()) for number, part in enumerate(self.source, 2)]
            kind = low(registers[2 + len(parts)], 32)
            return (Write(COUNTED, wide(low(registers[1], 32)), z3.Concat(*parts, kind)),), None

        yield from ((self.sets(slot), of_source(self.sets(slot), self.holds[slot])) for slot in range(by.SLOTS))
        yield from ((WANTS, wants_), (PORT, of_packet(lambda _: self.port)), ("filterd_replies", replies))
        yield from ((self.allowed, of_source(self.allowed, self.allows)), (f"{COUNTED}{self.family}", counted))


def of_packet(answer):
    """Who is asked about the packet itself."""
    def of(_, registers):
        if registers[1] != Pointer("context", word(0)):
            raise Unproved("something else is asked about than the packet")
        return (), answer(registers)
    return of


def clauses(function, world, settings, family):
    """Of whatever packet of this family: what its clauses make of it, and what follows where one drops it. Between the two nothing is
    known but which clause that is, and why."""
    world, packet = copy.copy(world), Packet(family)
    world.facts = [*world.facts, *packet.facts()]
    machine = Machine(function, world, summaries=dict(packet.summaries()))
    begin = machine.beginning()
    begin.registers.update({number: wide(part) for number, part in enumerate(packet.source, 2)})
    ends = machine.run(begin, looks_further(function))
    obligations(machine, *world.facts)
    found, dropped = by.by_clauses([low(held, 32) for held in packet.holds], packet.wanted), []
    for end in ends:
        here = [*world.facts, end.when]
        # The slots are asked in order.
        read_in_order(end, [(packet.sets(slot), [word(0)]) for slot in range(by.SLOTS)], here)
        follows("clauses write nothing", z3.BoolVal(not end.writes), *here)
        if function.instructions[end.at].code == EXIT:
            all_follow([("why it passes", low(end.registers[0], 32) == found), ("it is not dropped", z3.Not(by.is_drop(found)))], here)
            continue
        follows("it is dropped", by.is_drop(found), *here)
        dropped.append(end)
    spared(machine, packet, settings, cut(machine, dropped, found))


def cut(machine, ends, found):
    """A state of whoever is dropped: what is the same for all of them, and by which clause, and why, wherever that stands."""
    first, live = ends[0], machine.live[ends[0].at]
    is_same = lambda of: all(same(of(first), of(end)) for end in ends)
    state = State(first.at, {})
    for register in live:
        if is_same(lambda end: end.registers[register]):
            state.registers[register] = first.registers[register]
            continue
        for end in ends:
            follows(f"what is in register {register}", low(end.registers[register], 32) == found, *machine.world.facts, end.when)
        state.registers[register] = wide(TOLD)
    shared = {at for at in first.stack if all(at in end.stack for end in ends)}
    state.stack = {at: first.stack[at] for at in shared if is_same(lambda end: end.stack[at])}
    for at in shared - state.stack.keys():
        bytes_ = set(range(at, at + 4))
        is_it = lambda end: holds(low(number_of([end.stack[byte] for byte in sorted(bytes_)]), 32) == found, *machine.world.facts, end.when)
        if at % 4 == 0 and bytes_ <= shared and all(map(is_it, ends)):
            put(state.stack, at, TOLD, 4)
    if {end.at for end in ends} != {first.at}:
        raise Unproved("those who are dropped come to several places")
    return state


TOLD = unknown("told", 32)


class Careful(Machine):
    """Joins only those for whom known numbers on the stack are the same: by these it tells where a frame is read."""

    def shape(self, state):
        number = lambda byte: byte.as_long() if z3.is_expr(byte) and is_known(byte) else None
        return super().shape(state), tuple((at, number(byte)) for at, byte in sorted(state.stack.items()))


def spared(machine, packet, settings, begin):
    """What follows where a clause drops a packet. What spares it is asked in order; of IPv6 in parts, since the packet is read anew for
    one of them, with many ways through."""
    world = machine.world
    slot = z3.LShR(TOLD, 8)
    facts = [*world.facts, z3.ULE(1, slot), z3.ULE(slot, by.SLOTS), z3.Or([TOLD & 0xFF == kind for kind in packet.kinds])]
    is_allowed = z3.And(spec.may_overlap(world.table("OVERLAP"), settings), low(packet.allows, 32) != 0)
    is_reply = z3.And(settings.match_new != 0, low(unknown("replies"), 32) != 0)
    allowed, replied = [("OVERLAP", is_allowed, spec.ALLOWED), (packet.allowed, None, None)], [("filterd_replies", is_reply, spec.REPLY)]
    if packet.family == 4:
        return last(machine, packet, settings, begin, facts, allowed + replied)
    is_6 = world.source.is_ipv6
    is_neighbour = six.is_neighbour_discovery(world.frame, world.length)
    begin = part(machine, begin, facts, allowed, reads_context)
    begin = part(machine, begin, [*facts, is_6], [("the frame", is_neighbour, six.NEIGHBOUR)], looks_further(machine.program))
    return last(machine, packet, settings, begin, facts, replied)


def reads_context(state, this):
    return this.kind == LOAD and state.registers.get(this.source) == Pointer("context", word(0))


def ends_of(machine, begin, facts, asked, stop=lambda state, this: False):
    """All ends from there, what follows from what was asked, and what is known at each."""
    world = copy.copy(machine.world)
    world.facts = facts
    machine = Careful(machine.program, world, summaries=machine.summaries)
    ends = machine.run(begin, stop)
    obligations(machine, *facts)
    for end in ends:
        here = [*facts, end.when]
        read_in_order(end, [(name, [word(0)]) for name, *_ in asked], here)
        yield end, by.after_all(TOLD, *((is_so, reason) for _, is_so, reason in asked if reason)), here


def part(machine, begin, facts, asked, stop):
    """Whom this spares has his answer; the others come to one place, of whom no more is known than before."""
    onward = []
    for end, told, here in ends_of(machine, begin, facts, asked, stop):
        claims = [("nothing is written", z3.BoolVal(not end.writes))]
        if machine.program.instructions[end.at].code == EXIT:
            claims += [("who is spared", z3.Not(by.is_drop(told))), ("why", low(end.registers[0], 32) == told)]
        else:
            claims += [("who is not", told == TOLD)]
            onward.append(end)
        all_follow(claims, here)
    return cut(machine, onward, TOLD)


def last(machine, packet, settings, begin, facts, asked):
    """Here all end, and what stands is counted."""
    for end, told, here in ends_of(machine, begin, facts, asked):
        counts = z3.And(settings.lists != 0, z3.Or(told == spec.REPLY, by.is_drop(told)))
        kind = low(z3.If(told == spec.REPLY, word(labelled.REPLY), labelled.kind_of_drop(settings, unknown("clock0"))), 32)
        claims = [("the reason, and by which clause", low(end.registers[0], 32) == told),
                  ("what a clause drops, and a reply, is counted for its list", counts == bool(end.writes)),
                  ("nothing else is written", z3.BoolVal(all(write.table == COUNTED for write in end.writes) and len(end.writes) < 2))]
        for write in end.writes:
            claims += [("by which clause it is counted", write.at == wide(TOLD)),
                       ("who is counted, and as what", write.value == z3.Concat(*packet.source, labels.word_of(machine.world, kind)))]
        all_follow(claims, here)


def by_port(function, world):
    """Of every frame: its source is asked for, and nobody's if it has none. What is answered is answered."""
    machine = Machine(function, world)
    ends = machine.run(machine.beginning(), lambda state, this: this.code == CALL and this.symbol is not None)
    obligations(machine, *world.facts)
    source = world.source
    asks = {f"{BY_PORT}4": (source.is_ipv4, [source.address]), f"{BY_PORT}6": (source.is_ipv6, [source.high, source.low])}
    has_none = z3.Not(z3.Or(source.is_ipv4, source.is_ipv6))
    for end in ends:
        here, asked = [*world.facts, end.when], function.instructions[end.at].symbol
        claims = [("it writes nothing, and reads no table", z3.BoolVal(not end.writes and not end.reads))]
        if asked is None:
            all_follow([*claims, ("nobody else has no source", has_none), ("nobody holds it", low(end.registers[0], 32) == 0)], here)
            continue
        is_one, parts = asks[asked]
        sources = [(f"whose source is {asked} asked for", low(end.registers[at], part.size()) == part) for at, part in enumerate(parts, 2)]
        follows("which function is asked", is_one, *here)
        for what, goal in sources:
            follows(what, goal, *here)
        all_follow(claims, here)
        answered(Machine(function, world, summaries={asked: of_packet(lambda _: unknown("by port"))}), end)


def answered(machine, state):
    for end in machine.run(state):
        all_follow([("what is answered", low(end.registers[0], 32) == low(unknown("by port"), 32)), 
                    ("it writes nothing", z3.BoolVal(not end.writes))], [*machine.world.facts, end.when])
