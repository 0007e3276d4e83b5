"""What a program knows where it is: numbers and pointers in its registers and on its stack, and what it has read and written."""

from dataclasses import dataclass, field, replace

import z3

from words import is_known, wide


class Unproved(Exception):
    """The program does what this machine has no rule for: then nothing is claimed of it."""


@dataclass(frozen=True)
class Pointer:
    region: str
    offset: z3.BitVecRef


@dataclass(frozen=True)
class Read:
    """One word of a table that others write, by one load."""

    table: str
    at: z3.BitVecRef


@dataclass(frozen=True)
class Write:
    table: str
    at: z3.BitVecRef
    value: z3.BitVecRef


@dataclass
class State:
    at: int
    registers: dict
    stack: dict = field(default_factory=dict)
    when: z3.BoolRef = field(default_factory=lambda: z3.BoolVal(True))
    reads: tuple = ()
    writes: tuple = ()
    calls: int = 0
    # Somebody who comes here, if one is known: a model of `when`.
    example: z3.ModelRef | None = None

    def copy(self, **changes):
        return replace(self, **{"registers": dict(self.registers), "stack": dict(self.stack), **changes})


def known(value):
    value = z3.simplify(value)
    if not is_known(value):
        raise Unproved(f"a place that depends on what is not known: {str(value)[:80]}")
    return value.as_signed_long()


def shape_of(value):
    if isinstance(value, Pointer):
        return value.region, value.offset.get_id()
    return value.as_long() if is_known(value) else "number"


def same(one, two):
    return one == two if isinstance(one, Pointer) else one.get_id() == two.get_id()


def number_of(bytes_):
    """Little-endian, as the machine is."""
    return wide(z3.simplify(z3.Concat(*reversed(bytes_)) if len(bytes_) > 1 else bytes_[0]))


def put(stack, at, value, size):
    for number in range(at - 7, at + size):
        if isinstance(stack.get(number), Pointer):
            del stack[number]
    if isinstance(value, Pointer):
        for number in range(at, at + size):
            stack.pop(number, None)
        stack[at] = value
        return
    for number in range(size):
        stack[at + number] = z3.simplify(z3.Extract(8 * number + 7, 8 * number, value))
