"""What an instruction makes of numbers and pointers (RFC 9669)."""

import z3

from bytecode import ALU32, JUMPS32
from states import Pointer, Unproved
from words import low, times, wide, word


def operands(this, registers):
    second = registers[this.source] if this.takes_register else word(this.immediate)
    return registers.get(this.target), second


def calculate(this, registers):
    if this.operation == 0xD0:
        return in_order(this, registers[this.target])
    first, second = operands(this, registers)
    if this.operation == 0xB0 and this.offset == 0:
        return second if this.kind != ALU32 or isinstance(second, Pointer) else wide(low(second, 32))
    if isinstance(first, Pointer) or isinstance(second, Pointer):
        return move(this, first, second)
    bits = 32 if this.kind == ALU32 else 64
    first, second = low(first, bits), low(second, bits)
    by = second & (bits - 1)
    results = {0x00: lambda: first + second, 0x10: lambda: first - second, 0x20: lambda: times(first, second),
               0x40: lambda: first | second, 0x50: lambda: first & second, 0x60: lambda: first << by,
               0x70: lambda: z3.LShR(first, by), 0x80: lambda: -first, 0xA0: lambda: first ^ second,
               0xC0: lambda: first >> by}
    if this.operation not in results or this.offset:
        raise Unproved(f"the operation {this.code:#x}")
    return wide(z3.simplify(results[this.operation]()))


def in_order(this, value):
    """be16, be32, be64: the bytes the other way round, on a machine that begins with the lowest."""
    value = low(value, this.immediate)
    if this.takes_register:
        value = z3.Concat(*(z3.Extract(at + 7, at, value) for at in range(0, this.immediate, 8)))
    return wide(z3.simplify(value))


def move(this, first, second):
    if this.kind == ALU32:
        raise Unproved("half a pointer")
    if this.operation == 0x00:
        pointer, number = (first, second) if isinstance(first, Pointer) else (second, first)
        return Pointer(pointer.region, z3.simplify(pointer.offset + number))
    if this.operation == 0x10 and not isinstance(second, Pointer):
        return Pointer(first.region, z3.simplify(first.offset - second))
    raise Unproved(f"the operation {this.code:#x} on a pointer")


def compare(this, registers):
    first, second = operands(this, registers)
    if isinstance(first, Pointer) and isinstance(second, Pointer) and first.region == second.region:
        first, second = first.offset, second.offset
    bits = 32 if this.kind == JUMPS32 else 64
    if isinstance(first, Pointer) != isinstance(second, Pointer) and bits == 32:
        # Where maps and packets lie nobody knows, so half of it may be anything.
        return z3.FreshConst(z3.BoolSort(), "half of a pointer")
    if isinstance(first, Pointer) or isinstance(second, Pointer):
        raise Unproved("a pointer compared with something else")
    first, second = low(first, bits), low(second, bits)
    return {0x10: lambda: first == second, 0x50: lambda: first != second, 0x20: lambda: z3.UGT(first, second),
            0x30: lambda: z3.UGE(first, second), 0xA0: lambda: z3.ULT(first, second), 0xB0: lambda: z3.ULE(first, second),
            0x60: lambda: first > second, 0x70: lambda: first >= second, 0xC0: lambda: first < second,
            0xD0: lambda: first <= second, 0x40: lambda: first & second != 0}[this.operation]()
