"""Faults put into what remembers own flows, and into what asks for them: as those in `mutants.py`, one instruction each."""

from mutants import AND32, LOAD8, Mutant

REPLIES = "replies"
FUNCTION = dict(function="filterd_replies")
# A number of 64 bits has its upper half in a place of its own.
UPPER, SET32, ADD64, SHIFT32_UP, LOAD4 = 0, 0xB4, 0x07, 0x64, 0x61
IF32_EQUAL, IF32_LESS, IF_EQUAL, IF32_NOT_EQUAL = 0x16, 0xA6, 0x15, 0x56


def of_replies(name, parts, changes, number=0, behind=None):
    return Mutant(name, REPLIES, parts, changes, number, behind or {}, **FUNCTION)


QUOTING = dict(code=IF32_EQUAL, immediate=3)

MUTANTS = [
    of_replies("behind a tag of 802.1ad nothing is looked for", dict(code=IF32_EQUAL, immediate=0x88A8), dict(immediate=0x88A9)),
    of_replies("behind eight tags IPv6 has another type", dict(code=IF32_EQUAL, immediate=0x86DD), dict(immediate=0x86DC), 8),
    of_replies("an IPv4 header may be too short", dict(code=IF32_LESS, immediate=5), dict(immediate=4)),
    of_replies("some later fragments have ports", dict(code=AND32, immediate=-14745600), dict(immediate=0x00FF0000)),
    of_replies("an IPv6 header is a byte shorter", dict(code=ADD64, immediate=42), dict(immediate=41)),
    of_replies("nine extension headers are looked behind", dict(code=SET32, target=9, immediate=8), dict(immediate=9)),
    of_replies("the first of several fragments is a later one", dict(code=AND32, immediate=0xFFF8), dict(immediate=0xFFFF)),
    of_replies("extension headers are shorter", dict(code=SHIFT32_UP, target=2, immediate=3), dict(immediate=2)),
    of_replies("an authentication header is longer", dict(code=SHIFT32_UP, target=2, immediate=2), dict(immediate=3)),
    of_replies("who asks for a connection replies", dict(code=UPPER, immediate=0x0200), dict(immediate=0x1200)),
    of_replies("who takes a connection does not reply", dict(code=UPPER, immediate=0x1200), dict(immediate=0x0200)),
    of_replies("an echo request replies", dict(code=IF_EQUAL, immediate=129), dict(immediate=128)),
    of_replies("an echo has another identifier", dict(code=0x77, target=1, immediate=32), dict(immediate=16)),
    of_replies("a source quench is an error", dict(code=IF32_EQUAL, immediate=3), dict(immediate=4)),
    of_replies("a timestamp is an error", dict(code=IF32_LESS, immediate=2), dict(immediate=3), 0, QUOTING),
    of_replies("ICMPv6 errors have one type fewer", dict(code=IF32_LESS, immediate=4), dict(immediate=3), 0, QUOTING),
    of_replies("an error is looked up by who sent what it quotes", dict(code=LOAD4, target=3, offset=-24), dict(offset=-28), 0, QUOTING),
    of_replies("an error is looked up by another network", dict(code=LOAD4, target=3, offset=-16), dict(offset=-20), 0, QUOTING),
    of_replies("nine extension headers are quoted", dict(code=SET32, target=9, immediate=8), dict(immediate=9), 1),
    of_replies("fragments are known by another key", dict(code=UPPER, immediate=0x100), dict(immediate=0x200)),
    of_replies("quoted fragments are known by another key", dict(code=UPPER, immediate=0x100), dict(immediate=0x200), 1),
    of_replies("UDP has another number", dict(code=UPPER, immediate=17), dict(immediate=16)),
    of_replies("a flow that is just too old is known", dict(code=0xBD, target=4, source=1), dict(code=0xAD)),
    of_replies("a clock that is behind makes flows old", dict(code=IF32_NOT_EQUAL, target=3, immediate=0), dict(immediate=1)),
]
