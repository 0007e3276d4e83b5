"""Faults put into the judge for TC: as those in `mutants.py`, one instruction each. They are about what the judge for XDP does not do."""

from mutants import ADDRESS_COUNTED, AND32, COUNTING, LABELS, LISTS, PARSER, ROOT, SHIFT32_DOWN, SHIFT_DOWN, Mutant

BARE, HEADERS = "source without an Ethernet header", "headers"
FUNCTION = "filterd_headers"
ADD32, MULTIPLY, SET32, SHIFT32_UP, LOAD4, IF32_MORE = 0x04, 0x2F, 0xB4, 0x64, 0x61, 0x26
HEADERS_ASKED = dict(symbol=FUNCTION)

MUTANTS = [
    Mutant("what nobody has judged is dropped", ROOT, dict(code=SET32, target=0, immediate=-1), dict(immediate=2)),

    # The second of each is in the round that counts tags for good.
    Mutant("a removed tag is no tag", PARSER, dict(code=AND32, immediate=4), dict(immediate=0), 1),
    Mutant("the id of a removed tag does not count", PARSER, dict(code=AND32, target=2, immediate=0xFFF), dict(immediate=0)),
    Mutant("a priority of a removed tag counts as an id", PARSER, dict(code=AND32, target=2, immediate=0xFFF), dict(immediate=0xFFFF)),

    Mutant("the type is that of a removed tag", BARE, dict(code=LOAD4, target=1, offset=16), dict(offset=24)),
    Mutant("a copy is taken from behind a header that is not there", BARE, dict(code=SET32, target=1, immediate=-14), dict(immediate=0), 1),

    Mutant("what passes is left to nobody else", COUNTING, dict(code=SET32, target=0, immediate=-1), dict(immediate=0)),
    Mutant("what is dropped goes on", COUNTING, dict(code=SET32, target=0, immediate=2), dict(immediate=-1)),
    Mutant("frames that were joined pass as one", COUNTING, dict(code=IF32_MORE, target=6, immediate=1), dict(immediate=0xFFFF)),
    Mutant("frames that were joined are dropped as one", COUNTING, dict(code=IF32_MORE, target=6, immediate=1), dict(immediate=0xFFFF), 1),
    Mutant("headers of joined frames are counted once", COUNTING, dict(code=MULTIPLY, target=1, source=9), dict(code=0x0F), 0,
           HEADERS_ASKED),
    Mutant("headers of joined frames are counted for all of them", COUNTING, dict(code=ADD32, target=9, immediate=-1), dict(immediate=0)),

    Mutant("a list counts twice as many frames", LABELS, dict(code=SHIFT32_DOWN, target=6, immediate=8), dict(immediate=7), 0, {},
           ADDRESS_COUNTED),
    Mutant("who counts an address is told of twice as many frames", LISTS, dict(code=SHIFT32_UP, target=2, immediate=8), dict(immediate=9)),

    Mutant("a TCP header is as long as its words are bytes", HEADERS, dict(code=SHIFT_DOWN, target=1, immediate=34), dict(immediate=36), 0,
           {}, FUNCTION),
    Mutant("UDP has another number", HEADERS, dict(code=0x16, target=2, immediate=17), dict(immediate=16), 0, {}, FUNCTION),
    Mutant("a later fragment has headers", HEADERS, dict(code=AND32, target=3, immediate=-14745600), dict(immediate=0), 0, {}, FUNCTION),
]
