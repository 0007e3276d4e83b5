"""Lemmas of the scheme by which IPv4 addresses are spread over a table: a bucket and a code say which address stands there, and no
two addresses say the same. They are about the scheme as filter-common/src/cuckoo tells it, for every key and every address.
"""

from functools import partial

import z3

import specification as spec
from settings import LAYOUTS
from theorem import Refuted, follows
from words import unknown, word

number = lambda name: unknown(name, 32)


def folding():
    """Folding undoes itself."""
    x = number("x")
    follows("folding twice", spec.fold(spec.fold(x)) == x)


def dividing():
    """Multiplying by an odd factor can be undone: Newton's steps find its inverse."""
    x, odd, inverse = number("x"), number("odd"), number("inverse")
    follows("dividing undoes multiplying", z3.simplify(x * odd * inverse == x * (odd * inverse), som=True))
    wide = unknown("wide")
    product = unknown("odd") * unknown("inverse")
    follows("three bits are right at first", z3.Extract(2, 0, wide * wide) == 1, z3.Extract(0, 0, wide) == 1)
    step = z3.simplify(product * (2 - product) - 1 + (product - 1) * (product - 1) == 0, som=True)
    follows("what a step leaves is the square of what was wrong", step)
    for bits in (3, 6, 12, 24):
        follows("and so it doubles the bits that are right", z3.Extract(2 * bits - 1, 0, wide * wide) == 0,
                z3.Extract(bits - 1, 0, wide) == 0)


def stretches(room=1):
    """The places of one bucket are a stretch of consecutive numbers, shorter than remainders count: so a bucket and the lowest bits
    of a place are that place. With any number of buckets, in whole numbers of any size."""
    for smallest, largest, _, bits in LAYOUTS.values():
        remainders = (1 << bits - 1) // room
        place, buckets, bucket, start, rest = z3.Ints("place buckets bucket start rest")
        facts = [0 <= place, place < 1 << 32, 1 << smallest <= buckets, buckets < 1 << largest + 1,
                 place * buckets == bucket * (1 << 32) + rest, 0 <= rest, rest < 1 << 32,
                 # start is bucket * 2^32 / buckets, rounded up.
                 start * buckets >= bucket * (1 << 32), (start - 1) * buckets < bucket * (1 << 32)]
        in_whole_numbers("a bucket is one of the table's", z3.And(0 <= bucket, bucket < buckets), facts)
        in_whole_numbers("a place is in its stretch", z3.And(start <= place, place - start < remainders), facts)
    start, within, low_bits = number("start"), number("within"), number("low")
    for _, _, _, bits in LAYOUTS.values():
        mask = word((1 << bits - 1) - 1, 32)
        place = start + within
        follows("a place is told by its stretch and its lowest bits", start + ((place & mask) - start & mask) == place,
                z3.ULE(within, mask))


def in_whole_numbers(what, goal, facts):
    solver = z3.Solver()
    solver.set("timeout", 60000)
    solver.add(*facts, z3.Not(goal))
    answer = solver.check()
    if answer != z3.unsat:
        raise Refuted(what, solver.model() if answer == z3.sat else None)


def remainders():
    """The lowest bits of both places follow from the remainder, which is what a code keeps."""
    x, factor = number("x"), number("factor")
    for _, _, _, bits in LAYOUTS.values():
        top = bits - 2
        follows("lowest bits of a product", z3.Extract(top, 0, (x & word((1 << bits - 1) - 1, 32)) * factor)
                == z3.Extract(top, 0, x * factor))


def codes():
    """No code is that of an empty lane, and codes of the two homes differ."""
    remainder, other = number("remainder"), number("other")
    for _, _, _, bits in LAYOUTS.values():
        side = word(1 << bits - 1, 32)
        small = [z3.ULT(remainder, side), z3.ULT(other, side)]
        follows("a first code is not empty", remainder | side != 0, *small)
        follows("codes tell the home", remainder | side != other, *small)
        follows("remainder zero has one home", z3.Not(word(0, 32) * word(0x9E3779B9, 32) != 0))


def lanes(exact=True):
    """The test of all lanes at once is the test of each."""
    for _, _, count, bits in LAYOUTS.values():
        first, second, code = unknown("first"), unknown("second"), unknown("code")
        ones = word(sum(1 << lane * bits for lane in range(count)))
        highs = ones << bits - 1
        in_some = lambda text, code: z3.Or([z3.Extract(lane * bits + bits - 1, lane * bits, text)
                                            == z3.Extract(bits - 1, 0, code) for lane in range(count)])
        differs, plain = first ^ code * ones, second ^ code * ones
        not_plain = ~plain if exact else word(2**64 - 1)
        seen = (((differs ^ highs) - ones & differs) | (plain - ones & not_plain)) & highs
        side = word(1 << bits - 1)
        follows("all lanes at once", (seen != 0) == z3.Or(in_some(first, code | side), in_some(second, code)),
                z3.ULT(code, side))


def bits_of_networks():
    """Each /20 and each /24 has a bit of its own."""
    one, other = unknown("one", 20 + 4), unknown("other", 20 + 4)
    place = lambda number: z3.Concat(z3.LShR(number, 6), number & 63)
    follows("two networks with one bit", one == other, place(one) == place(other))


LEMMAS = [folding, dividing, stretches, remainders, codes, lanes, bits_of_networks]
# Each with a fault in it: the solver must find it.
FAULTS = {
    "a stretch is longer than remainders count": partial(stretches, room=4096),
    "a borrow counts as a lane": partial(lanes, exact=False),
}
