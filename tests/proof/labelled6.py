"""For which list an IPv6 hit is counted: what `labelled.py` says of IPv4."""

import z3

from labelled import IN_STASH, OTHER, beside, by_entry
from specification6 import STASH_WORDS, TAG_BITS
from words import low, wide, word

# In the place of a label: nobody has it. In that of a home: it was not seen.
NONE, UNSEEN = word(256, 32), word(2**32 - 1, 32)


def told(table, found):
    """Where the levels tell that everything is listed (`specification6.levels`): is it a node of /32s, and of what number, or what
    number has the word of a /14 or of a /24?"""
    (root_at, *_), (page_at, *_) = found.words[:2]
    is_whole = lambda at: z3.LShR(table(at), 63) == 1
    node = z3.LShR(table(page_at), 41) & 0x1FFFFF
    is_node = z3.Not(z3.Or(is_whole(root_at), is_whole(page_at)))
    return is_node, z3.If(is_node, node, z3.LShR(z3.If(is_whole(root_at), root_at, page_at), 3))


# In the place that is told, above a node's number.
OF_NODE = 1 << 31
# Words of a page: so many more the levels have than there are before the last page or node.
PAGE_WORDS = 1 << 10


def place(is_node, number):
    """Both as one number."""
    return low(number, 32) | z3.If(is_node, word(OF_NODE, 32), word(0, 32))


def of_told(words, high, place, settings):
    """Beside a word stands a label for all of it; beside a node an entry, whose pages lie behind a word for each node of eight. What is
    no place in levels of this size is nobody's."""
    is_node, number = place & OF_NODE != 0, wide(place & OF_NODE - 1)
    size = z3.LShR(settings.last_level_start, 3) + PAGE_WORDS
    by_node = by_entry(words, low(words(number << 3), 32), low(z3.LShR(high, 32), 32) & 255, settings.level_pages, z3.LShR(size, 6) << 3)
    has_node, has_word = z3.ULE(number << 3 + 3, settings.last_level_start), z3.ULT(number & ~word(7), size)
    label = z3.If(is_node, z3.If(has_node, by_node, OTHER), z3.If(has_word, beside(words, number), OTHER))
    return z3.If(settings.level_pages == 0, OTHER, label)


def home(table, probe, settings):
    """In which home a probe finds a prefix up to /64: twice its bucket, and one more if it is the first. It is not seen in the stash, nor
    where there are no labels."""
    in_first, in_second = (z3.Or([table(at) == code for at in slots]) for slots, code in zip(probe.words, probe.codes[:2]))
    first, second = (low(bucket << 1, 32) for bucket in probe.buckets)
    number = z3.If(in_first, first | 1, z3.If(in_second, second, UNSEEN))
    return z3.If(settings.label_words6 == 0, UNSEEN, number)


def of_home(words, table, number, tag, home, settings):
    """The label of a prefix up to /64 with this tag in this home. Whoever has left counts for the list of the first slot. What of it is no
    slot of a bucket that there is, is nobody's. And whether one slot at most has him."""
    bucket, code = wide(z3.LShR(home, 1)), number << TAG_BITS | tag | wide(home & 1)
    held = [table(8 * STASH_WORDS + (bucket << 5) + 8 * slot) == code for slot in range(4)]
    slot = z3.If(held[0], word(0), z3.If(held[1], word(1), z3.If(held[2], word(2), z3.If(held[3], word(3), word(0)))))
    beneath = IN_STASH + (bucket << 2) + slot
    is_there = z3.And(z3.ULT(bucket, wide(settings.buckets6)), z3.ULT(z3.LShR(beneath, 3), wide(low(settings.label_words6, 32))))
    is_unique = z3.And([z3.Not(z3.And(held[one], held[other])) for other in range(4) for one in range(other)])
    return z3.If(is_there, beside(words, beneath), OTHER), is_unique


def of_probe(words, table, probe, settings):
    """The label of whoever a probe finds, or that nobody has it: beside the slot that has him, else his way in the stash. Labels behind
    the last are nobody's."""
    first, second, (hot,), ways = probe.words
    label = NONE
    for way, at in reversed(list(enumerate(ways))):
        label = z3.If(table(at) == probe.codes[2], in_32(beside(words, z3.LShR(at - 64, 3))), label)
    label = z3.If(table(hot) == 0, NONE, label)
    for slots, code in ((second, probe.codes[1]), (first, probe.codes[0])):
        for at in reversed(slots):
            number = IN_STASH + z3.LShR(at - 8 * STASH_WORDS, 3)
            is_there = z3.ULT(z3.LShR(number, 3), wide(low(settings.label_words6, 32)))
            label = z3.If(table(at) == code, in_32(z3.If(is_there, beside(words, number), OTHER)), label)
    return z3.If(settings.label_words6 == 0, NONE, label)


def is_unique(table, probe):
    """No code stands in two slots of a bucket."""
    pairs = [(one, other) for slots in probe.words[:2] for at, one in enumerate(slots) for other in slots[at + 1:]]
    codes = lambda one: probe.codes[0] if any(one is at for at in probe.words[0]) else probe.codes[1]
    return z3.And([z3.Not(z3.And(table(one) == codes(one), table(other) == codes(one))) for one, other in pairs])


def in_32(label):
    return z3.ZeroExt(24, label)
