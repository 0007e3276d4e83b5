"""For which list a hit is counted, as docs/internals/labels.md says. Written from there, and from the heads of `labels` and
`set/labelled` of filter-common.

A label is a byte, the number of a list; 0 are all lists without one, and whatever has no label. Beside the slots of a table lies one for
each, those of its stash first; for what is told by bits there is an entry for each 256 of them: a label for all, or a page of bytes.
"""

import z3

import specification as spec
from words import low, wide, word

OTHER = word(0, 8)
# What becomes of a packet that is counted for a list: four counters for each label.
KINDS = 4
DROPPED, WOULD_DROP, PAUSED, REPLY = range(KINDS)
ROW = 256 * KINDS * 8
IN_STASH = 512 * 8
PAGE, DIRECTORY4 = 256, 1 << 15


def counter(settings, processor, label, kind):
    """That of this label and kind in this processor's row: its first byte."""
    return spec.own_number(settings, processor) * ROW + wide(label) * KINDS * 8 + kind * 8


def kind_of_drop(settings, clock):
    """While drops are enforced, while they are only counted, while that is paused."""
    action = spec.enforcement(settings, clock)
    return z3.If(action == spec.ENFORCE, word(DROPPED), z3.If(action == spec.COUNT, word(WOULD_DROP), word(PAUSED)))


def beside(words, number, first=word(0)):
    """The label of this number: eight in a word, behind so many words."""
    number = wide(number)
    return low(z3.LShR(words((first << 3) + (z3.LShR(number, 3) << 3)), (number & 7) << 3), 8)


def of_number4(words, number, settings):
    """The label of this number beside the table of IPv4 addresses. There are no more than its words have."""
    return z3.If(z3.ULT(z3.LShR(number, 3), low(settings.label_words, 32)), beside(words, number), OTHER)


def of_network4(words, address, settings):
    """An entry for each /16, which has a page where lists meet in it, with a byte for each /24."""
    pair = words(wide(z3.LShR(address, 17)) << 3)
    entry = z3.If(z3.Extract(16, 16, address) == 1, z3.Extract(63, 32, pair), low(pair, 32))
    label = by_entry(words, entry, z3.LShR(address, 8) & 255, settings.network_pages, word(DIRECTORY4))
    return z3.If(settings.network_pages == 0, OTHER, label)


def by_entry(words, entry, number, pages, directory):
    """A label for all, or a page, behind so many words. A page's number has 24 bits, and where there is no such page it is nobody's."""
    page = entry - 256 & 0xFFFFFF
    in_page = z3.If(z3.ULT(page, low(pages, 32)), beside(words, page << 8 | number, directory), OTHER)
    return z3.If(z3.ULT(entry, 256), low(entry, 8), in_page)


def lanes4(table, found, settings, remainder):
    """Where somebody is seen who stands in a lane, and the number of his label there. Only who is about to move is seen in several: then
    the lowest of these counts, and his first home's before his second's."""
    # A remainder of zero has one home: its code in the second would be that of an empty lane.
    homes = [(found.homes[0], found.buckets[0], remainder | settings.side, z3.BoolVal(True)),
             (found.homes[1], found.buckets[1], remainder, remainder != 0)]
    for lane in range(settings.lanes):
        for home, bucket, code, has_one in homes:
            content = z3.Extract((lane + 1) * settings.bits - 1, lane * settings.bits, table(home))
            yield z3.And(has_one, content == low(wide(code), settings.bits)), IN_STASH + low(bucket, 32) * settings.lanes + lane


def slot4(table, found, settings, remainder):
    """The number of the label of whoever is seen in a lane, and whether he is."""
    number, is_seen = word(0, 32), z3.BoolVal(False)
    for is_here, its_number in reversed(list(lanes4(table, found, settings, remainder))):
        number, is_seen = z3.If(is_here, its_number, number), z3.Or(is_seen, is_here)
    return number, is_seen


def way4(table, found, shuffled):
    """The same of whoever stands in the stash, by the first of the ways that have him."""
    code, number, is_seen = wide(shuffled) << (32 + 9) | 1, word(0, 32), z3.BoolVal(False)
    for way, at in reversed(list(enumerate(found.ways))):
        is_here = table(at) == code
        number = z3.If(is_here, (z3.LShR(shuffled, 32 - 9) << 3) + way, number)
        is_seen = z3.Or(is_seen, is_here)
    return number, is_seen


def of_address4(words, table, found, shuffled, settings):
    """Whoever stands nowhere any more counts for nobody."""
    remainder = shuffled & low(settings.remainder_mask, 32)
    slot, in_table = slot4(table, found, settings, remainder)
    way, in_stash = way4(table, found, shuffled)
    label = z3.If(in_table, of_number4(words, slot, settings), z3.If(in_stash, beside(words, way), OTHER))
    return z3.If(settings.label_words == 0, OTHER, label)
