"""A machine for programs that read a frame wherever its headers say, and ask a map for what a key was last noted with.

What the kernel's helpers answer is assumed: docs/internals/proof.md lists each.
"""

import copy

import z3

from machine import Machine, Pointer, Read, Unproved, World, Write, known, number_of
from words import WORD, low, unknown, wide, word

# Helpers of the kernel, by their numbers.
LOOK_UP, NOTE, COARSE_CLOCK = 1, 2, 160
# bpf_skb_load_bytes, bpf_xdp_load_bytes.
LOADS = 26, 189
FLOWS, ENTRY = "FLOWS", " entry"
KEY_WORDS = 3
# Farther into a frame that comes in no helper reads, however long it is.
FARTHEST = 0xFFFF
# Is anything noted under the key that is asked for, and what? Each program asks once.
IS_KNOWN, LAST = z3.Bool("known"), unknown("last")
# What the clock says when it is first asked.
NOW = unknown("now0")


class Frame:
    """Any byte has a value, which depends on its place alone."""

    BYTE = z3.Function("frame", z3.BitVecSort(32), z3.BitVecSort(8))

    def __getitem__(self, at):
        if isinstance(at, slice):
            return [self[number] for number in range(at.start, at.stop)]
        return self.BYTE(z3.simplify(word(at, 32) if isinstance(at, int) else at))


def of_any_frame(world):
    """The same world with such a frame."""
    world = copy.copy(world)
    world.frame, world.facts = Frame(), list(world.facts)
    return world


class FrameMachine(Machine):
    def call_helper(self, state, number):
        if number == LOOK_UP:
            return self.look_up(state)
        if number == NOTE:
            return self.note(state)
        if number == COARSE_CLOCK:
            state.calls += 1
            return unknown(f"now{state.calls - 1}")
        return self.load_bytes(state) if number in LOADS else super().call_helper(state, number)

    def load_bytes(self, state):
        """A copy of what lies there, or nothing and an error."""
        self.world.must_know_frames()
        context, at, into, size = (state.registers[register] for register in range(1, 5))
        if context != Pointer("context", word(0)) or into.region != "stack":
            raise Unproved(f"{self.program.name} {state.at}: a copy of something else, or elsewhere")
        at, begin, size = z3.simplify(low(at, 32) + self.world.hook.shift), known(into.offset), known(low(size, 32))
        self.obligations.append(("the kernel reads that far into a frame", state.when, z3.ULE(at, FARTHEST)))
        if self.world.hook.shift:
            self.obligations.append(("no header is read that is not there", state.when, z3.ULE(self.world.hook.shift, at)))
        reaches = z3.ULE(at + size, self.world.length)
        for number in range(size):
            lost = unknown(f"lost{state.at}.{number}", 8)
            state.stack[begin + number] = z3.If(reaches, self.world.frame[at + number], lost)
        return z3.If(reaches, word(0), word(-22))

    def look_up(self, state):
        """A pointer to what stands under this key, or none. An array has one entry, which is there."""
        table, key = state.registers[1], state.registers[2]
        if table.region != FLOWS:
            if not z3.is_bv_value(key_at(state, key, 4)) or key_at(state, key, 4).as_long() != 0:
                raise Unproved(f"{self.program.name} {state.at}: another entry of {table.region} than the first")
            return Pointer(table.region + ENTRY, word(0))
        state.reads += (Read(FLOWS, key_at(state, key)),)
        return Pointer(FLOWS + ENTRY, word(0))

    def note(self, state):
        """As if it were written: the key, and what is noted with it, whatever was there before."""
        table, key, value, flags = (state.registers[register] for register in range(1, 5))
        # With flags it would not be noted whatever is there.
        name = table.region if known(flags) == 0 else f"{table.region}, with flags"
        state.writes += (Write(name, key_at(state, key), key_at(state, value, 8)),)
        return z3.FreshConst(WORD, "noted")

    # Of what a helper points to, whether it is there; all else is.
    MAY_BE = {FLOWS + ENTRY: IS_KNOWN}

    def branch(self, state, this):
        """Whether something is there is asked by comparing where it lies with zero."""
        asked = state.registers.get(this.target)
        if not isinstance(asked, Pointer) or this.takes_register or this.immediate != 0:
            return super().branch(state, this)
        is_there = self.MAY_BE.get(asked.region, z3.BoolVal(True))
        state = state.copy()
        state.registers[this.target] = z3.If(is_there, word(1), word(0))
        states = super().branch(state, this)
        for one in states:
            one.registers[this.target] = asked
        return states

    def of_table(self, state, name, at, size):
        if name != FLOWS + ENTRY:
            return super().of_table(state, name, at, size)
        if size != 8 or known(at) != 0:
            raise Unproved(f"{self.program.name} {state.at}: a part of an entry")
        self.obligations.append(("an entry is read only if it is there", state.when, IS_KNOWN))
        return LAST


def key_of(numbers):
    """A key of these words, by name, the first in the highest bits."""
    return z3.Concat(*numbers.values())


def key_at(state, pointer, size=8 * KEY_WORDS):
    """What stands where this points to: the first word in the highest bits."""
    if not isinstance(pointer, Pointer) or pointer.region != "stack":
        raise Unproved("a key that lies elsewhere than on the stack")
    begin = known(pointer.offset)
    bytes_ = [state.stack.get(number) for number in range(begin, begin + size)]
    if any(not z3.is_expr(byte) for byte in bytes_):
        raise Unproved("a key that nobody has written")
    words = [number_of(bytes_[at : at + 8]) for at in range(0, size, 8)]
    return z3.simplify(z3.Concat(*words) if len(words) > 1 else words[0])
