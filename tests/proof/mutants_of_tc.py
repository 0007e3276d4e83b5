"""Faults put into the judge for TC: as those in `mutants.py`, one instruction each. They are about what the judge for XDP does not do."""

from mutants import ADD, ADDRESS_COUNTED, ALLOW, AND32, COUNTING, FOLLOW6, FOLLOWED, IF32_EQUAL, IF_EQUAL, IF_NOT_EQUAL, LABELS, LISTS
from mutants import MAY_OVERLAP, PARSER, ROOT, SHIFT32_DOWN, SHIFT_DOWN, Mutant

BARE, HEADERS = "source without an Ethernet header", "headers"
SENT, BARE_SENT, SENT_COUNTING = "source of sent frames", "source of sent frames without an Ethernet header", "counting of sent frames"
# With which frames each is refuted; others with any.
FRAMES = {
    PARSER: dict(is_bare=False, is_sent=False), BARE: dict(is_bare=True, is_sent=False), HEADERS: dict(is_bare=False, is_sent=False),
    COUNTING: dict(is_sent=False),
    SENT: dict(is_bare=False, is_sent=True), BARE_SENT: dict(is_bare=True, is_sent=True), SENT_COUNTING: dict(is_sent=True),
}
FUNCTION = "filterd_headers"
ADD32, MULTIPLY, SET32, SHIFT32_UP, LOAD4, IF32_MORE = 0x04, 0x2F, 0xB4, 0x64, 0x61, 0x26
MOVE, STORE4 = 0xB7, 0x63
HEADERS_ASKED = dict(symbol=FUNCTION)
# Where the reason is known; and where it is asked whether what is sent is listed.
WHERE_ALL_MEET, IS_LISTED = dict(code=STORE4, target=10, offset=-56), dict(code=AND32, target=2, immediate=12)

MUTANTS = [
    Mutant("what nobody has judged is dropped", ROOT, dict(code=SET32, target=0, immediate=-1), dict(immediate=2)),

    # The second of each is in the round that counts tags for good.
    Mutant("a removed tag is no tag", PARSER, dict(code=AND32, immediate=4), dict(immediate=0), 1),
    Mutant("the id of a removed tag does not count", PARSER, dict(code=AND32, target=2, immediate=0xFFF), dict(immediate=0)),
    Mutant("a priority of a removed tag counts as an id", PARSER, dict(code=AND32, target=2, immediate=0xFFF), dict(immediate=0xFFFF)),

    Mutant("the type is that of a removed tag", BARE, dict(code=LOAD4, target=1, offset=16), dict(offset=24)),
    Mutant("a copy is taken from behind a header that is not there", BARE, dict(code=SET32, target=1, immediate=-14), dict(immediate=0), 1),

    Mutant("what passes is left to nobody else", COUNTING, dict(code=SET32, target=0, immediate=-1), dict(immediate=0), 1),
    Mutant("what is dropped goes on", COUNTING, dict(code=SET32, target=0, immediate=2), dict(immediate=-1)),
    Mutant("frames that were joined pass as one", COUNTING, dict(code=IF32_MORE, target=6, immediate=1), dict(immediate=0xFFFF)),
    Mutant("frames that were joined are dropped as one", COUNTING, dict(code=IF32_MORE, target=8, immediate=1), dict(immediate=0xFFFF)),
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

    Mutant("a received IPv4 frame is judged by its destination", PARSER, dict(code=MOVE, target=3, immediate=12), dict(immediate=16)),
    Mutant("a received IPv6 frame is judged by its destination", PARSER, dict(code=MOVE, target=3, immediate=8), dict(immediate=24)),
    Mutant("a sent IPv4 frame is judged by its source", SENT, dict(code=MOVE, target=3, immediate=16), dict(immediate=12)),
    Mutant("behind a tag a sent IPv4 frame is judged by its source", SENT, dict(code=MOVE, target=3, immediate=16), dict(immediate=12), 1),
    Mutant("a sent IPv6 frame is judged by its source", SENT, dict(code=MOVE, target=3, immediate=24), dict(immediate=8)),
    Mutant("a sent IPv4 frame in another part is judged by its source", SENT, dict(code=ADD, target=2, immediate=-24), dict(immediate=-28)),
    Mutant("half of a sent IPv6 frame's destination is the source's", BARE_SENT, dict(code=ADD, target=3, immediate=-8), dict(immediate=-24)),
    Mutant("a sent IPv6 frame is judged by its source after a hit", FOLLOW6, dict(code=MOVE, target=2, immediate=24), dict(immediate=8), 0, {},
           FOLLOWED),

    Mutant("what is received is taken for sent", COUNTING, dict(code=IF_NOT_EQUAL, target=1, immediate=0), dict(code=IF_EQUAL), 0,
           WHERE_ALL_MEET),
    Mutant("what is sent is taken for received", SENT_COUNTING, dict(code=IF_NOT_EQUAL, target=1, immediate=0), dict(code=IF_EQUAL), 0,
           WHERE_ALL_MEET),
    Mutant("what is sent and passes is left to nobody else", SENT_COUNTING, dict(code=SET32, target=0, immediate=-1), dict(immediate=0)),
    Mutant("too many tags drop a sent frame", SENT_COUNTING, dict(code=IF32_EQUAL, target=2, immediate=4), dict(immediate=0), 0, IS_LISTED),
    Mutant("a listed destination passes", SENT_COUNTING, dict(code=SET32, target=1, immediate=1), dict(immediate=0), 0, IS_LISTED),
    Mutant("what is sent and passes is counted", SENT_COUNTING, dict(code=IF_EQUAL, target=1, immediate=0), dict(code=IF_NOT_EQUAL), 0,
           IS_LISTED),
    Mutant("what is sent counts for another reason", SENT_COUNTING, dict(code=SET32, target=9, immediate=16), dict(immediate=15)),
    Mutant("a sent frame is dropped while nothing is enforced", SENT_COUNTING, dict(code=IF_EQUAL, target=1, immediate=1), dict(immediate=0), 0,
           IS_LISTED),
    Mutant("what may be allowed is not asked for", ALLOW, dict(code=IF_NOT_EQUAL, target=1, immediate=0), dict(immediate=1), 0, MAY_OVERLAP),
]
