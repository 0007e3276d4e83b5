"""Numbers of so many bits as the solver knows them, and their products."""

from contextlib import contextmanager
from functools import reduce

import z3

WORD = z3.BitVecSort(64)


def word(value, bits=64):
    """A number that is known."""
    return z3.BitVecVal(value, bits)


def unknown(name, bits=64):
    """Any number."""
    return z3.BitVec(name, bits)


def low(value, bits):
    """The lowest bits of it."""
    return z3.simplify(z3.Extract(bits - 1, 0, value))


def wide(value):
    """The same number in 64 bits."""
    return z3.simplify(z3.ZeroExt(64 - value.size(), value)) if value.size() < 64 else value


def is_known(value):
    return z3.is_bv_value(value)


# Any function of two words that does not care for their order, nor, of three, for which two are taken first. What holds for each of
# these holds for the product. So nothing that is proved depends on what a product is, and the solver need not multiply secret numbers.
PRODUCT = z3.Function("product", WORD, WORD, WORD)
# A known factor has no more bits than this if what is done with it is shifting and adding, such as one for each lane.
PLAIN_BITS = 8
# Where numbers are known that elsewhere are any, products are calculated.
calculating = [False]


@contextmanager
def calculated():
    calculating[0] = True
    try:
        yield
    finally:
        calculating[0] = False


def times(first, second):
    """The lowest bits of the product, as many as the factors have. A known factor multiplies truly, unless it has so many bits
    that it is there to spread numbers."""
    bits, (first, second) = first.size(), map(z3.simplify, (first, second))
    if calculating[0] or any(is_known(factor) and factor.as_long().bit_count() <= PLAIN_BITS for factor in (first, second)):
        return z3.simplify(first * second)
    # Lower halves of products come from lower halves of factors; so one function of 64 bits does for both widths.
    ordered = sorted((*factors(first), *factors(second)), key=lambda factor: factor.sexpr())
    return low(reduce(PRODUCT, ordered), bits)


def factors(number):
    """Of a product as wide as the one in which it occurs those that it is made of; else the number itself."""
    whole = number.arg(0) if number.size() < 64 and z3.is_app_of(number, z3.Z3_OP_EXTRACT) and number.params()[1] == 0 else number
    if whole.size() == 64 and whole.decl().eq(PRODUCT):
        return [factor for part in whole.children() for factor in factors(part)]
    return [wide(number)]
