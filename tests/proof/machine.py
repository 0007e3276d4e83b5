"""Runs a program on unknown frames, tables and settings: all its ways at once, which are joined where they meet.

What comes out is a list of ends. Each has the condition under which it is reached, what the program answers there, what it has
read of the tables that other processors write, in which order, and what it has written.
"""

import heapq
from dataclasses import replace

import z3

import flow
import specification as spec
from bytecode import CALL, CONSTANT, EXIT, JUMP, JUMPS32, LOAD, LONG_JUMP, STORE, STORE_IMMEDIATE
from hook import OF_FRAME, XDP
from operations import calculate, compare
from settings import BARE, OUTBOUND, SETS
from states import Pointer, Read, State, Unproved, Write, known, number_of, put, same, shape_of
from theorem import can_be, example, holds
from words import WORD, is_known, low, unknown, wide, word


# What chooses drops to tell in full, and tells them: theorem `samples`.
SAMPLE = "filterd_sample"
# Finds how long the headers of a frame are: theorem `headers`.
HEADERS, LENGTH_OF_HEADERS = "filterd_headers", unknown("headers", 32)


class World:
    """What a program meets: a frame of which the first `linear` bytes can be reached at once, settings, tables, the processor. Of a frame
    without an Ethernet header bytes are counted as if it had one."""

    MOST = 256
    # Of these a processor reads and writes its own row, which nobody else does.
    COUNTERS = "COUNTERS"
    OWN = (COUNTERS, "LISTS")
    # Words of these change while a packet is judged.
    MOVING = tuple(name + kind for name in SETS for kind in ("ADDRESSES", "NETWORKS"))
    # What is read of these in which order does not matter: no verdict depends on it.
    LABELS = tuple(name + kind for name in SETS for kind in ("ADDRESS_LABELS", "NETWORK_LABELS", "LEVEL_LABELS", "SIX_LABELS"))

    def __init__(self, settings, hook=XDP):
        self.hook, self.all_settings = hook, settings
        self.frame = [unknown(f"byte{number}", 8) for number in range(self.MOST)]
        self.length, self.linear = unknown("length", 32), unknown("linear", 32)
        self.interface, self.processor = unknown("interface", 32), unknown("processor", 32)
        # Frames are no longer than the kernel makes them, and their first part has an Ethernet header at most as long as it is.
        self.facts = [z3.ULE(self.linear, self.length), z3.ULE(self.length, 1 << 20), *settings.facts]
        self.facts += [z3.ULE(hook.shift, self.linear)] if hook.shift else []
        # What the kernel tells of a frame behind the driver: a tag that it has removed, and how many frames it has joined.
        self.tag, self.has_tag = unknown("tag", 16), unknown("has tag", 1)
        is_tagged = z3.And(self.has_tag == 1, hook.is_late)
        self.removed = spec.Removed(is_tagged, self.tag & 0xFFF != 0)
        self.joined = wide(unknown("joined", 16)) if hook.is_late else word(1)
        self.tables = {}

    @property
    def segments(self):
        """How many frames of the wire it is."""
        return z3.simplify(spec.segments(self.joined))

    @property
    def received(self):
        """The length as the kernel tells it."""
        return z3.simplify(self.length - self.hook.shift)

    @property
    def bytes_received(self):
        """The length of all frames of the wire that it is."""
        return z3.simplify(spec.bytes_of(wide(self.received), self.joined, LENGTH_OF_HEADERS))

    def settings(self, number):
        if number == BARE:
            self.must_know_frames()
            return word(int(self.hook.is_bare))
        if number == OUTBOUND:
            self.must_know_direction()
            return word(int(self.hook.is_sent))
        return self.all_settings.word(number)

    def must_know_frames(self):
        """What a theorem says of both kinds of frames at once asks for neither."""
        if self.hook.is_bare is None:
            raise Unproved("it matters whether frames have an Ethernet header")

    def must_know_direction(self):
        """The same of received frames and of sent ones."""
        if self.hook.is_sent is None:
            raise Unproved("it matters whether frames are sent")

    @property
    def source(self):
        """Who a frame is judged by: the sender, or whom it is sent to."""
        self.must_know_direction()
        return spec.source(self.frame, self.length, self.removed, self.hook.is_sent)

    def field(self, name):
        """A field of the context. The kernel tells the type as it is on the wire."""
        if name in OF_FRAME:
            self.must_know_frames()
        match name:
            case "data":
                return Pointer("frame", word(self.hook.shift))
            case "data_end":
                return Pointer("frame", wide(self.linear))
            case "protocol":
                return wide(z3.Concat(self.frame[13], self.frame[12]) if self.hook.is_bare else unknown("protocol", 16))
            case "length":
                return wide(self.received)
            case "has_tag":
                return wide(self.has_tag)
            case _:
                return wide(getattr(self, name))

    def decided(self, test):
        """A test that depends on nothing but whether a tag was removed, and comes out the same either way. It tells the last round of a
        circle that goes behind tags."""
        if not self.hook.is_late or not is_of(test, self.has_tag):
            return test
        ones = [z3.simplify(z3.substitute(test, (self.has_tag, word(bit, 1)))) for bit in range(2)]
        return next((one for one in map(z3.BoolVal, (False, True)) if all(one.eq(other) for other in ones)), test)

    def table(self, name):
        """What stands in a table: any function from places to words."""
        return self.tables.setdefault(name, z3.Function(name, WORD, WORD))

    def loaded(self, name, number):
        """What this load of a table's finds there. Entries move between any two, so no load says anything of another."""
        return self.table(f"{name}, load {number}" if name in self.MOVING else name)

    def number_of_slot(self):
        return self.tables.setdefault("slots", z3.Function("slots", WORD, z3.BitVecSort(8)))


def is_of(value, name, most=64):
    """Is this name all that is unknown in a value of so many parts?"""
    waiting = [value]
    for _ in range(most):
        if not waiting:
            return True
        part = waiting.pop()
        if part.decl().kind() == z3.Z3_OP_UNINTERPRETED and not part.eq(name):
            return False
        waiting += part.children()
    return False


class Machine:
    # Behind each of eight tags, and behind none.
    MOST_PLACES = 9

    def __init__(self, program, world, prunes=False, summaries=None):
        # Is each way asked whether anything can go it? Where few ways are impossible, asking takes longer than going.
        self.program, self.world, self.prunes = program, world, prunes
        self.order, self.live, self.joins = flow.order(program), flow.live(program), flow.joins(program)
        # What must hold at each access lest this machine's rules be wrong: pairs of a condition and what follows from it.
        self.obligations = []
        # What functions write that are not followed, each as a theorem of its own says.
        self.summaries = summaries or {}

    def beginning(self):
        return State(0, {1: Pointer("context", word(0)), 10: Pointer("stack", word(0))})

    def run(self, state, stop=lambda state, instruction: False):
        """The ends of all ways from here: an exit each, or where `stop` says so of what comes later."""
        waiting, queue, ends, leaving = {state.at: [state]}, [(self.order[state.at], state.at)], [], True
        while queue:
            _, at = heapq.heappop(queue)
            for state in self.joined(waiting.pop(at, [])):
                for after in self.follow_if_possible(state, stop, ends, leaving):
                    if after.at not in waiting:
                        waiting[after.at] = []
                        heapq.heappush(queue, (self.order[after.at], after.at))
                    waiting[after.at].append(after)
            leaving = False
        return ends

    def joined(self, states):
        """As few as can be: those that differ in nothing but numbers and in how they came here become one."""
        groups = {}
        for state in states:
            groups.setdefault(self.shape(state), []).append(state)
        return [self.join(group) for group in groups.values()]

    def shape(self, state):
        shapes = [(register, shape_of(state.registers[register])) for register in sorted(self.live[state.at])
                  if register in state.registers]
        stack = [(at, shape_of(value)) for at, value in sorted(state.stack.items()) if isinstance(value, Pointer)]
        reads = [(read.table, read.at.get_id()) for read in state.reads]
        return tuple(shapes), tuple(stack), tuple(reads), tuple(write.table for write in state.writes), state.calls

    def join(self, states):
        first, *others = states
        for other in others:
            either = lambda one, two: one if same(one, two) else z3.If(other.when, two, one)
            registers = {register: either(first.registers[register], other.registers[register])
                         for register in self.live[first.at]
                         if register in first.registers and register in other.registers}
            stack = {at: either(first.stack[at], other.stack[at]) for at in first.stack.keys() & other.stack.keys()
                     if isinstance(first.stack[at], Pointer) == isinstance(other.stack[at], Pointer)}
            writes = tuple(Write(one.table, either(one.at, two.at), either(one.value, two.value))
                           for one, two in zip(first.writes, other.writes))
            first = replace(first, registers=registers, stack=stack, writes=writes, when=z3.Or(first.when, other.when))
        return first

    def alike(self, ends):
        """The same ends, of which those are one that have come to the same place by the same reads, writes and calls, whatever numbers
        they have: so what they have in common is asked once."""
        groups = {}
        for end in ends:
            number = lambda value: shape_of(value) if isinstance(value, Pointer) else "number"
            _, stack, *more = self.shape(end)
            needed = [register for register in sorted(self.live[end.at]) if register in end.registers]
            registers = tuple((register, number(end.registers[register])) for register in needed)
            groups.setdefault((end.at, registers, stack, *more), []).append(end)
        return [self.join(group) for group in groups.values()]

    def follow_if_possible(self, state, stop, ends, leaving):
        """Where there is no rule, nobody may come."""
        try:
            return self.follow(state, stop, ends, leaving)
        except Unproved:
            if can_be(state.when, *self.world.facts):
                raise
            return []

    def follow(self, state, stop, ends, leaving):
        """To where ways meet or part."""
        state = state.copy()
        while True:
            this = self.program.instructions[state.at]
            if not leaving and stop(state, this):
                ends.append(state)
                return []
            leaving = False
            if this.code == EXIT:
                ends.append(state)
                return []
            if this.code == JUMP:
                state.at += this.offset + 1
            elif this.code == LONG_JUMP:
                state.at += this.immediate + 1
            elif this.code == CALL:
                ways = self.call(state, this)
                if ways is not None:
                    return ways
                state.at += 1
            elif this.code == CONSTANT:
                self.constant(state, this)
                state.at += 2
            elif this.kind == LOAD:
                state.registers[this.target] = self.load(state, this)
                state.at += 1
            elif this.kind in (STORE, STORE_IMMEDIATE):
                self.store(state, this)
                state.at += 1
            elif this.kind in (5, JUMPS32):
                return self.branch(state, this)
            else:
                state.registers[this.target] = calculate(this, state.registers)
                state.at += 1
            if state.at in self.joins:
                return [state]

    def constant(self, state, this):
        upper = self.program.instructions[state.at + 1].immediate
        number = word((this.immediate & 0xFFFFFFFF) | (upper & 0xFFFFFFFF) << 32)
        state.registers[this.target] = Pointer(this.symbol, number) if this.symbol else number

    def branch(self, state, this):
        test = self.world.decided(z3.simplify(compare(this, state.registers)))
        aside, onward = state.at + 1 + this.offset, state.at + 1
        if z3.is_true(test) or z3.is_false(test):
            state.at = aside if z3.is_true(test) else onward
            return [state]
        ways = [state.copy(at=aside, when=z3.And(state.when, test)),
                state.copy(at=onward, when=z3.And(state.when, z3.Not(test)))]
        if not self.prunes:
            return ways
        # Something comes here, so where nothing goes the one way, it goes the other. Of whom an example is known need not be asked.
        goes = state.example.eval(test, model_completion=True) if state.example is not None else None
        first, second = reversed(ways) if z3.is_false(goes) else ways
        is_possible = z3.is_true(goes) or z3.is_false(goes)
        if not is_possible:
            is_possible, first.example = example(first.when, *self.world.facts)
        if not is_possible:
            return [second]
        can_be_other, second.example = example(second.when, *self.world.facts)
        return [first, second] if can_be_other else [first]

    def load(self, state, this):
        base = state.registers.get(this.source)
        if not isinstance(base, Pointer):
            raise Unproved(f"{self.program.name} {state.at}: a load from no pointer")
        at, size = z3.simplify(base.offset + this.offset), this.size
        if base.region == "context":
            return self.of_context(known(at), size)
        if base.region == "frame":
            return self.of_frame(state, at, size)
        if base.region == "stack":
            return self.of_stack(state, known(at), size)
        if base.region == "SETTINGS" and not is_known(at) and size == 8:
            value, is_there = self.world.all_settings.at_unknown(at)
            self.obligations.append(("a setting whose place is calculated is one of a length's", state.when, is_there))
            return value
        if base.region == "SETTINGS":
            number, within = divmod(known(at), 8)
            setting = z3.LShR(self.world.settings(number), 8 * within) if within else self.world.settings(number)
            return wide(low(setting, 8 * size))
        return self.of_table(state, base.region, at, size)

    def of_context(self, at, size):
        name = self.world.hook.field_at(at)
        if size != 4 or name is None:
            raise Unproved(f"{self.program.name}: the context at {at}")
        return self.world.field(name)

    def of_frame(self, state, at, size):
        value = None
        for place in self.places(state, at):
            first, is_here = self.within_frame(place, size), at == place
            self.obligations.append(("a read of the frame lies in its first part", z3.And(state.when, is_here),
                                     z3.ULE(word(first + size, 32), self.world.linear)))
            here = number_of(self.world.frame[first : first + size])
            value = here if value is None else z3.If(is_here, here, value)
        return value

    def places(self, state, at):
        """The places that it can be, of a few: where ways have met, it may depend on the way how far the headers before have reached."""
        if is_known(at):
            return [known(at)]
        places = []
        for _ in range(self.MOST_PLACES + 1):
            is_other, model = example(state.when, *self.world.facts, *(at != place for place in places))
            if not is_other:
                return places
            if model is None:
                break
            places.append(model.eval(at, model_completion=True).as_signed_long())
        raise Unproved(f"{self.program.name} {state.at}: a place in the frame that depends on what is not known")

    def within_frame(self, at, size):
        """Bytes have names up to the last one that any header can have."""
        if at < self.world.hook.shift or at + size > World.MOST:
            raise Unproved(f"{self.program.name}: the frame at {at}")
        return at

    def of_stack(self, state, at, size):
        whole = state.stack.get(at)
        if isinstance(whole, Pointer) and size == 8:
            return whole
        # What nobody has written, or not on every way that was joined, may be anything, each time it is read.
        bytes_ = [state.stack.get(number, z3.FreshConst(z3.BitVecSort(8), "unwritten")) for number in range(at, at + size)]
        if any(isinstance(byte, Pointer) for byte in bytes_):
            raise Unproved(f"{self.program.name} {state.at}: a part of a pointer")
        return number_of(bytes_)

    def of_table(self, state, name, at, size):
        if name == World.COUNTERS and size == 1:
            return wide(self.world.number_of_slot()(at))
        if size != 8:
            raise Unproved(f"{self.program.name} {state.at}: {size} bytes of {name}, no whole word")
        self.obligations.append((f"a word of {name} is read whole", state.when, z3.Extract(2, 0, at) == 0))
        if name not in World.OWN and name not in World.LABELS:
            state.reads += (Read(name, at),)
        if self.is_of_samples(state, name, at):
            return z3.FreshConst(WORD, "sampling")
        value = self.world.loaded(name, sum(read.table == name for read in state.reads))(at)
        for write in state.writes:
            if write.table == name:
                value = z3.If(write.at == at, write.value, value)
        return value

    def is_of_samples(self, state, name, at):
        """Is this one of the words of this processor's row that samples have for themselves? These are anything each time that they are
        read, and nobody is told what is written there: they are touched while somebody watches, and never else."""
        if name != World.COUNTERS:
            return False
        settings = self.world.all_settings
        is_one = spec.is_of_samples(settings, self.world.processor, at)
        if not holds(is_one, state.when, *self.world.facts):
            self.obligations.append(("a counter is no word of samples", state.when, z3.Not(is_one)))
            return False
        is_whole = z3.Extract(2, 0, at) == 0
        self.obligations.append(("words of samples are touched while somebody watches", state.when, z3.And(is_whole, settings.is_watched)))
        return True

    def store(self, state, this):
        base = state.registers.get(this.target)
        if not isinstance(base, Pointer):
            raise Unproved(f"{self.program.name} {state.at}: a store through no pointer")
        value = state.registers[this.source] if this.kind == STORE else word(this.immediate)
        at, size = z3.simplify(base.offset + this.offset), this.size
        if base.region == "stack":
            put(state.stack, known(at), value, size)
        elif size == 8 and base.region not in ("context", "frame", "SETTINGS"):
            if not self.is_of_samples(state, base.region, at):
                state.writes += (Write(base.region, at, value),)
        else:
            raise Unproved(f"{self.program.name} {state.at}: a store into {base.region}")

    def call(self, state, this):
        """What helpers of the kernel answer is assumed: docs/internals/proof.md lists each. Whoever goes through functions that are called
        tells the ways on from there."""
        if this.symbol:
            answer = self.call_function(state, this.symbol)
        else:
            answer = self.call_helper(state, this.immediate)
        for register in range(1, 6):
            state.registers.pop(register, None)
        state.registers[0] = answer

    def call_function(self, state, name):
        """A function of the judge's own, of which a theorem says what it writes, and perhaps what it answers. That it was called in
        its turn may be told as if it were a word that is read."""
        if name in (SAMPLE, HEADERS) and state.registers[1] != Pointer("context", word(0)):
            raise Unproved(f"{self.program.name} {state.at}: {name} of something else than the packet")
        if name == HEADERS:
            return wide(LENGTH_OF_HEADERS)
        if name == SAMPLE:
            return self.sample(state)
        if name not in self.summaries:
            raise Unproved(f"{self.program.name} {state.at}: it calls {name}")
        writes, answer, *reads = self.summaries[name](self.world, state.registers)
        state.writes += writes
        state.reads += tuple(reads)
        return z3.FreshConst(WORD, f"answer{state.at}") if answer is None else answer

    def sample(self, state):
        """It may write the words of samples, and tell of this packet: theorem `samples`. Nobody asks for its answer."""
        self.obligations.append(("drops are told in full while somebody watches", state.when, self.world.all_settings.is_watched))
        return z3.FreshConst(WORD, "sampled")

    def call_helper(self, state, number):
        if number == self.world.hook.load_bytes:
            return self.load_bytes(state)
        match number:
            case 8:
                return wide(self.world.processor)
            case 118:
                return z3.FreshConst(WORD, "jiffies")
            case 125:
                state.calls += 1
                return unknown(f"clock{state.calls - 1}")
            case 188:
                return wide(self.world.received)
            case _:
                raise Unproved(f"{self.program.name} {state.at}: it calls helper {number}")

    def load_bytes(self, state):
        """A copy of what lies there, wherever it lies, or nothing and an error."""
        self.world.must_know_frames()
        _, at, into, size = (state.registers[register] for register in range(1, 5))
        begin, size = known(into.offset), known(size)
        told = z3.simplify(low(at, 32))
        copied = [z3.FreshConst(z3.BitVecSort(8), "lost") for _ in range(size)]
        reaches = z3.BoolVal(False)
        for place in self.places(state, told):
            first, is_here = self.within_frame(place + self.world.hook.shift, size), told == place
            is_whole = z3.And(is_here, z3.ULE(word(first + size, 32), self.world.length))
            copied = [z3.If(is_whole, self.world.frame[first + number], copied[number]) for number in range(size)]
            reaches = z3.Or(reaches, is_whole)
        for number in range(size):
            state.stack[begin + number] = z3.simplify(copied[number])
        return z3.If(reaches, word(0), word(-22))
