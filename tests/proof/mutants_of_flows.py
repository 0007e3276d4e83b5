"""Faults put into what remembers own flows, and into what asks for them: as those in `mutants.py`, one instruction each."""

from mutants import AND32, LOAD8, Mutant

REPLIES, EGRESS, BARE_EGRESS = "replies", "egress", "egress without an Ethernet header"
FUNCTION = dict(function="filterd_replies")
# A number of 64 bits has its upper half in a place of its own.
UPPER, SET32, MOVE, ADD64, SHIFT32_UP, SHIFT32_DOWN, LOAD4, STORE8 = 0, 0xB4, 0xB7, 0x07, 0x64, 0x74, 0x61, 0x7B
IF32_EQUAL, IF32_LESS, IF_EQUAL, IF32_NOT_EQUAL = 0x16, 0xA6, 0x15, 0x56


def of_replies(name, parts, changes, number=0, behind=None):
    return Mutant(name, REPLIES, parts, changes, number, behind or {}, **FUNCTION)


def of_egress(name, parts, changes, number=0, behind=None):
    return Mutant(name, EGRESS, parts, changes, number, behind or {})


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

    of_egress("others' programs are not asked", dict(code=SET32, target=0, immediate=-1), dict(immediate=0)),
    of_egress("what is sent behind a tag of 802.1Q is not looked at", dict(code=IF32_EQUAL, immediate=0x8100), dict(immediate=0x8101)),
    of_egress("a later fragment that is sent has ports", dict(code=AND32, immediate=-14745600), dict(immediate=0x00FF0000)),
    of_egress("a flow is known by this host", dict(code=LOAD4, target=3, offset=-32), dict(offset=-36)),
    of_egress("an IPv6 flow is known by another network", dict(code=LOAD4, target=3, offset=-24), dict(offset=-40)),
    of_egress("nine extension headers are looked behind", dict(code=SET32, target=8, immediate=8), dict(immediate=9)),
    of_egress("who takes a connection begins one", dict(code=UPPER, immediate=0x1200), dict(immediate=0x0200)),
    of_egress("an echo reply begins a flow", dict(code=IF_EQUAL, immediate=8), dict(immediate=0)),
    of_egress("an ICMPv6 echo reply begins a flow", dict(code=IF_EQUAL, immediate=128), dict(immediate=129)),
    of_egress("ports are twice as wide", dict(code=SHIFT32_DOWN, immediate=22), dict(immediate=23)),
    of_egress("a port has another bit", dict(code=0x57, immediate=63), dict(immediate=31)),
    of_egress("every flow is noted each time", dict(code=0xA5, immediate=10**9), dict(immediate=0)),
    of_egress("a flow that is just too old is kept up", dict(code=0xBD, target=3, source=1), dict(code=0xAD)),
    of_egress("what is not known begins a flow", dict(code=SET32, target=7, immediate=0), dict(immediate=1)),
    of_egress("a flow is noted only if it is not known", dict(code=MOVE, target=4, immediate=0), dict(immediate=1)),
    of_egress("fragments are noted under another key", dict(code=UPPER, immediate=0x100), dict(immediate=0x200)),
    of_egress("fragments are noted with another time", dict(code=STORE8, target=10, offset=-8, source=6), dict(source=8), 1),
    of_egress("no flow counts as a new one", dict(code=IF32_NOT_EQUAL, target=8, immediate=0), dict(immediate=2)),
    of_egress("processors share a counter", dict(code=AND32, target=0, immediate=63), dict(immediate=31)),
    of_egress("a new flow counts double", dict(code=ADD64, target=1, immediate=1), dict(immediate=2)),

    Mutant("the type is that of a removed tag", BARE_EGRESS, dict(code=LOAD4, target=1, offset=16), dict(offset=24)),
    Mutant("an IPv4 header is looked for behind another", BARE_EGRESS, dict(code=SET32, target=2, immediate=0), dict(immediate=14)),
    Mutant("IPv6 has another type", BARE_EGRESS, dict(code=IF32_EQUAL, immediate=0x86DD), dict(immediate=0x86DC)),
]
