"""Lemmas of the scheme by which IPv6 prefixes are spread over a table (filter-common/src/cuckoo/exact64 and six): a bucket and a code
say which prefix up to /64 stands there, or which number a longer one was hashed to. And what theorem `judgement6` takes from
arithmetic.
"""

from functools import partial

import z3

import specification6 as six
from scheme import in_whole_numbers
from theorem import follows
from words import unknown, word

# Whole bits of the number of buckets.
SIZES = range(7, 25)
KINDS = (six.LONGER, six.NET64, six.SHORTER)


def folding():
    """Folding 64 bits undoes itself."""
    x = unknown("x")
    follows("folding twice", six.fold(six.fold(x)) == x)


def dividing():
    """Multiplying 64 bits by an odd factor can be undone: one step more than 32 bits take."""
    x, odd, inverse = unknown("x"), unknown("odd"), unknown("inverse")
    follows("dividing undoes multiplying", z3.simplify(x * odd * inverse == x * (odd * inverse), som=True))
    follows("the last step leaves nothing wrong", x * x == 0, z3.Extract(31, 0, x) == 0)


def stretches(more=0):
    """The places of one bucket of the IPv6 table are a stretch no longer than a code's bits count."""
    for size in SIZES:
        place, buckets, bucket, start, rest = z3.Ints("place buckets bucket start rest")
        # Of a place the upper half chooses the bucket.
        facts = [0 <= place, place < 1 << 32, 1 << size <= buckets, buckets < 1 << size + 1,
                 place * buckets == bucket * (1 << 32) + rest, 0 <= rest, rest < 1 << 32,
                 start * buckets >= bucket * (1 << 32), (start - 1) * buckets < bucket * (1 << 32)]
        in_whole_numbers("a bucket is one of the table's", z3.And(0 <= bucket, bucket < buckets), facts)
        in_whole_numbers("a place is in its stretch", z3.And(start <= place, place - start < 1 << 32 - size - more), facts)
    start, within = unknown("start"), unknown("within")
    for size in SIZES:
        mask = word((1 << 64 - size) - 1)
        place = start + within
        follows("a place is told by its stretch and its lowest bits", start + ((place & mask) - start & mask) == place,
                z3.ULE(within, mask))


def remainders():
    """The lowest bits of an IPv6 place follow from those of the number, which are what a code keeps."""
    x, factor = unknown("x"), unknown("factor")
    for size in SIZES:
        top = 63 - size
        follows("lowest bits of a product", z3.Extract(top, 0, (x & word((1 << 64 - size) - 1)) * factor)
                == z3.Extract(top, 0, x * factor))


def codes(net64=six.NET64):
    """No IPv6 code is that of an empty slot, and codes tell the home and the kind."""
    number, more, other = unknown("number"), unknown("more"), unknown("other")
    plain = {kind: number << six.TAG_BITS | kind for kind in (net64, six.SHORTER)}
    others = {kind: other << six.TAG_BITS | kind for kind in (net64, six.SHORTER)}
    for side in (0, 1):
        for end in (0, 1):
            follows("a /64 is no shorter prefix", plain[net64] | side != others[six.SHORTER] | end)
        for code in plain.values():
            follows("a code is not empty", code | side != 0)
    for code in plain.values():
        follows("codes tell the home", code | 1 != code)
    for size in SIZES:
        tag = z3.LShR(more, 34 - size) << 2 | six.LONGER
        few = z3.ULT(more, 1 << 32)
        follows("what a tag has fits into it", z3.ULT(tag | 1, 1 << size), few)
        for code in others.values():
            for side in (0, 1):
                follows("a longer prefix is neither", number << size | tag | side != code | 1, few)
                follows("a longer prefix is neither", number << size | tag | side != code, few)


def stash():
    """A place in the stash and what stands there tell an IPv6 number and its kind."""
    one, other = unknown("one"), unknown("other")
    for kind in KINDS:
        for another in KINDS:
            said = z3.And(z3.LShR(one, 55) == z3.LShR(other, 55), one << 9 | kind == other << 9 | another)
            follows("two prefixes with one code", z3.And(one == other, kind == another), said)
        follows("a code is not empty", one << 9 | kind != 0)


def keys():
    """Prefixes shorter than /64 have keys of their own, whatever their lengths."""
    one, other, long, short = unknown("one"), unknown("other"), unknown("long"), unknown("short")
    is_length = lambda bit: z3.And(bit & bit - 1 == 0, z3.UGT(bit, 1))
    key = lambda network, bit: network & -bit | z3.LShR(bit, 1)
    follows("two prefixes with one key", z3.And(long == short, one & -long == other & -short),
            is_length(long), is_length(short), key(one, long) == key(other, short))


def counting_bits():
    """Taking the lowest bit of a number away leaves one bit less: by induction, half of the number after the other."""
    x = unknown("x")
    half = z3.LShR(x, 1)
    follows("an odd number loses its last bit", x & x - 1 == half << 1, z3.Extract(0, 0, x) == 1)
    follows("an even one loses what its half loses", x & x - 1 == (half & half - 1) << 1, z3.Extract(0, 0, x) == 0)
    follows("only nothing has none", z3.Or(z3.Extract(0, 0, x) == 1, half != 0), x != 0)


LEMMAS = [folding, dividing, stretches, remainders, codes, stash, keys, counting_bits]
FAULTS = {
    "an IPv6 stretch is longer than a code's bits count": partial(stretches, more=1),
    "a /64 has the tag of a shorter prefix": partial(codes, net64=six.SHORTER),
}
