"""Faults put into the compiled judge on purpose, one instruction each. The theorem that one is for must be refuted of it.

An instruction is found by what it does, not by where it is, so that this outlives a new compiler: the first (or that of a number)
that has these parts.
"""

from dataclasses import dataclass, field

PARSER, JUDGEMENT, COUNTING, LABELS, LISTS = "source", "judgement", "counting", "labels", "judgement with lists"
JUDGEMENT6, FOLLOW6 = "judgement of IPv6", "follow6"
ALLOW, FOLLOW4, ALLOWED = "judgement where something may be allowed", "follow4", "allowed"
ROOT, ALLOWED6, LABELS4 = "root", "allowed6", "labels of IPv4"
LABELS6, ASKED6 = "labels of IPv6", "a label of IPv6"
# Codes of RFC 9669, as they are read aloud.
MOVE32, XOR32, ADD, AND32, SWAP, KEEP = 0xBC, 0xAC, 0x07, 0x54, 0xDC, 0xD4
IF_EQUAL, IF_NOT_EQUAL, IF32_EQUAL, IF32_MORE, IF_MORE = 0x15, 0x55, 0x16, 0x26, 0x25
XOR, SHIFT_UP, SHIFT_DOWN, SHIFT32_DOWN, TIMES32, OR, LOAD8 = 0xA7, 0x67, 0x77, 0x74, 0x24, 0x47, 0x79


@dataclass(frozen=True)
class Mutant:
    name: str
    of: str
    parts: dict
    changes: dict
    number: int = 0
    # Only instructions behind the first that has these parts.
    behind: dict = field(default_factory=dict)
    # Where it is not the judge itself.
    function: str | None = None

    def made_of(self, program):
        """The program with this fault."""
        has = lambda this, parts: all(getattr(this, part) == value for part, value in parts.items())
        numbered = list(enumerate(program.instructions))
        begin = next(at for at, this in numbered if has(this, self.behind))
        places = [at for at, this in numbered if at >= begin and has(this, self.parts)]
        if len(places) <= self.number:
            raise LookupError(f"the mutant {self.name!r}: there is no such instruction in {program.name}")
        return program.with_instruction(places[self.number], **self.changes)


STASHED = dict(code=SHIFT_UP, immediate=41)
ROWS, ADDRESSES = dict(code=0x85, immediate=8), dict(symbol="ADDRESSES")

# Where IPv6 begins; the /64; the circle of the shorter lengths, and where one goes on to the next; the hash of the longer ones; and where
# their stash begins.
SIX, KEYED = dict(code=LOAD8, offset=168), dict(code=LOAD8, offset=240)
SHORTER, NEXT, LONGER = dict(code=0x61, offset=192), dict(code=0x1D), dict(code=LOAD8, offset=264)
IN_STASH = dict(code=SHIFT_UP, immediate=9)
ADDRESS_COUNTED, OTHER_COUNTED, FOLLOWED, ASKED = "filterd_count_address4", "filterd_count6", "filterd_follow6", "filterd_label6"
MAY_OVERLAP, FOLLOWED4, ALLOWS = dict(symbol="OVERLAP"), "filterd_follow4", "filterd_allows4"
# Of IPv6 that may be allowed: the function, its levels, and its circles of shorter and longer lengths.
ALLOWS6, ALLOW_LEVELS, ALLOW_SIX = "filterd_allows6", dict(symbol="ALLOW_LEVELS"), dict(symbol="ALLOW_SIX")
ALLOW_SHORTER, ALLOW_LONGER = dict(code=0x61, offset=3056), dict(code=LOAD8, offset=3064)

MUTANTS = [
    Mutant("what nobody has judged is dropped", ROOT, dict(code=0xB4, target=0, immediate=2), dict(immediate=1)),
    Mutant("the root jumps to another slot", ROOT, dict(code=0xB4, target=3, immediate=0), dict(immediate=1)),
    Mutant("the root reads which slot it jumps to", ROOT, dict(code=0xB4, target=3), dict(code=0x61, source=1)),
    Mutant("the root asks for the time, and does not jump", ROOT, dict(code=0x85, immediate=12), dict(immediate=125)),

    Mutant("tags of 802.1Q are no tags", PARSER, dict(immediate=0x8100), dict(immediate=0x8101)),
    Mutant("tags of 802.1ad are no tags", PARSER, dict(immediate=0x88A8), dict(immediate=0x88A9)),
    Mutant("older provider tags are no tags", PARSER, dict(immediate=0x9100), dict(immediate=0x9101)),
    Mutant("IPv4 has another type", PARSER, dict(code=IF32_EQUAL, immediate=0x0800), dict(immediate=0x0801)),
    Mutant("behind one tag IPv4 has another type", PARSER, dict(code=IF32_EQUAL, immediate=0x0800), dict(immediate=0x0801), 1),
    Mutant("a bit of the version is dropped", PARSER, dict(code=AND32, immediate=0xF0), dict(immediate=0xE0)),
    Mutant("another version is IPv4", PARSER, dict(code=IF32_EQUAL, immediate=64), dict(immediate=80)),
    Mutant("a header may end a byte early", PARSER, dict(code=ADD, immediate=22), dict(immediate=21), 1),
    Mutant("bytes of the address stay in the wire's order", PARSER, dict(code=SWAP, immediate=32), dict(code=KEEP)),
    Mutant("five tags may have an id", PARSER, dict(code=IF32_MORE, immediate=4), dict(immediate=5)),
    Mutant("a priority counts as an id", PARSER, dict(code=AND32, immediate=0xFF0F), dict(immediate=0xFFFF)),
    Mutant("seven tags are too many", PARSER, dict(code=IF_MORE, immediate=43), dict(immediate=39)),
    Mutant("a tag in another part is read elsewhere", PARSER, dict(code=0x04, immediate=-40), dict(immediate=-39)),
    Mutant("an IPv6 source is read from a byte on", PARSER, dict(code=LOAD8, source=2, offset=10), dict(offset=9)),

    Mutant("a fold is too short", JUDGEMENT, dict(code=SHIFT32_DOWN, immediate=16), dict(immediate=15)),
    Mutant("second homes are elsewhere", JUDGEMENT, dict(code=TIMES32, immediate=-1640531527), dict(immediate=-1640531525)),
    Mutant("buckets are a word further", JUDGEMENT, dict(code=ADD, immediate=32832), dict(immediate=32840)),
    Mutant("a borrow counts as a lane", JUDGEMENT, dict(code=XOR, immediate=-1), dict(immediate=0)),
    Mutant("remainder zero has a second home", JUDGEMENT, dict(code=IF_EQUAL, target=3, immediate=0, offset=1), dict(offset=0)),
    Mutant("the first home is loaded twice", JUDGEMENT, dict(code=XOR32), dict(code=MOVE32), 0,
           dict(code=TIMES32, immediate=-1640531527)),
    Mutant("the stash knows another code", JUDGEMENT, STASHED, dict(immediate=40)),
    Mutant("the stash knows another kind", JUDGEMENT, dict(code=OR, immediate=1), dict(immediate=3), 0, STASHED),
    Mutant("a way of the stash is loaded twice", JUDGEMENT, dict(code=LOAD8, offset=72), dict(offset=64), 0, STASHED),
    Mutant("the stash is looked at in another set", JUDGEMENT, dict(code=AND32, immediate=4088), dict(immediate=2040)),
    Mutant("a hit in the stash passes", JUDGEMENT, dict(code=0x65, immediate=-1), dict(code=0xC5), 0, STASHED),
    Mutant("a /20 is asked by another bit", JUDGEMENT, dict(code=SHIFT32_DOWN, immediate=12), dict(immediate=11), 1),
    Mutant("/24s are a word further", JUDGEMENT, dict(code=ADD, immediate=131072), dict(immediate=131080)),
    Mutant("rows of processors overlap", COUNTING, dict(code=0x64, immediate=11), dict(immediate=10)),
    Mutant("what passes counts double", COUNTING, dict(code=ADD, immediate=1), dict(immediate=2), 4, ROWS),
    Mutant("what does not enforce drops", COUNTING, dict(code=IF_EQUAL, immediate=1), dict(immediate=0)),
    Mutant("rows of lists overlap", LABELS, dict(code=SHIFT_UP, target=0, immediate=13), dict(immediate=12), 0, {},
           ADDRESS_COUNTED),
    Mutant("a hit counts double for its list", LABELS, dict(code=ADD, immediate=1), dict(immediate=2), 0, ROWS, ADDRESS_COUNTED),
    Mutant("an IPv6 hit counts double for its list", LABELS, dict(code=ADD, immediate=1), dict(immediate=2), 0, ROWS, OTHER_COUNTED),
    Mutant("one more length is asked for its label", LABELS, dict(code=IF_EQUAL, immediate=64), dict(immediate=65), 0, {},
           OTHER_COUNTED),
    Mutant("an address has its neighbour's label", LABELS4, dict(code=0x04, immediate=4095), dict(immediate=4096), 0, {},
           ADDRESS_COUNTED),
    Mutant("whoever is in his second home has the label of his first", LABELS4, dict(code=XOR32, target=8, source=3), dict(code=MOVE32),
           0, {}, ADDRESS_COUNTED),
    Mutant("remainder zero has the label of an empty lane", LABELS4, dict(code=IF_EQUAL, target=0, immediate=0, offset=1), dict(offset=0),
           0, {}, ADDRESS_COUNTED),
    Mutant("the labels of a stash are those of another set", LABELS4, dict(code=0x57, immediate=4088), dict(immediate=4080), 0, {},
           ADDRESS_COUNTED),
    Mutant("a way of the stash has its neighbour's label", LABELS4, dict(code=0xB7, target=3, immediate=16), dict(immediate=8), 0, {},
           ADDRESS_COUNTED),
    Mutant("a label loses a bit", LABELS4, dict(code=0x57, immediate=255), dict(immediate=127), 0, {}, ADDRESS_COUNTED),
    Mutant("what became of it counts as something else", LABELS4, dict(code=AND32, target=6, immediate=3), dict(immediate=1), 0, {},
           ADDRESS_COUNTED),
    Mutant("a word of the levels has its neighbour's label", LABELS6, dict(code=0x57, target=1, immediate=56), dict(immediate=48),
           0, {}, OTHER_COUNTED),
    Mutant("pages of labels of the levels begin elsewhere", LABELS6, dict(code=0x04, target=2, immediate=1024), dict(immediate=1088),
           0, {}, OTHER_COUNTED),
    Mutant("behind the levels there are labels", LABELS6, dict(code=ADD, target=2, immediate=1024), dict(immediate=2048),
           0, {}, OTHER_COUNTED),
    Mutant("a shorter prefix is asked for as another kind", LABELS6, dict(code=0xB4, target=1, immediate=8), dict(immediate=4),
           0, {}, OTHER_COUNTED),
    Mutant("a shorter prefix that has a label is passed over", LABELS6, dict(code=0xA6, target=0, immediate=256), dict(immediate=0),
           0, {}, OTHER_COUNTED),
    Mutant("a longer prefix is asked for as another kind", LABELS6, dict(code=0xB4, target=1, immediate=0), dict(immediate=8),
           1, {}, OTHER_COUNTED),
    Mutant("a slot has its neighbour's label", ASKED6, dict(code=0xB4, target=8, immediate=2), dict(immediate=1), 0, {}, ASKED),
    Mutant("labels of slots begin a word further", ASKED6, dict(code=0x04, immediate=4096), dict(immediate=4104), 0, {}, ASKED),
    Mutant("labels of an IPv6 stash are those of another set", ASKED6, dict(code=0x57, immediate=4088), dict(immediate=4080), 0, {}, ASKED),
    Mutant("a way of an IPv6 stash has its neighbour's label", ASKED6, dict(code=0xB7, target=4, immediate=16), dict(immediate=8),
           0, {}, ASKED),
    Mutant("a hit in a lane has its neighbour's label", LISTS, dict(code=0x04, immediate=4095), dict(immediate=4096), 0, ADDRESSES),
    Mutant("a page of labels begins a word further", LISTS, dict(code=ADD, immediate=262144), dict(immediate=262152)),
    Mutant("a prefix has the label of the next /16", LISTS, dict(code=AND32, immediate=32), dict(immediate=0), 0,
           dict(symbol="NETWORK_LABELS")),
    Mutant("a hit is counted elsewhere", LISTS, dict(code=SHIFT_UP, target=0, immediate=13), dict(immediate=14)),
    Mutant("an address counts as a prefix", JUDGEMENT, dict(code=0xA4, immediate=5), dict(immediate=4)),

    Mutant("what may be allowed is not asked for", ALLOW, dict(code=IF_NOT_EQUAL, target=1, immediate=0), dict(immediate=1), 0,
           MAY_OVERLAP),
    Mutant("who follows a hit is told its neighbour's label", ALLOW, dict(code=0x04, immediate=4095), dict(immediate=4096), 0, ADDRESSES),
    Mutant("a prefix is told by another label", ALLOW, dict(code=0xB4, target=3, immediate=-2), dict(immediate=-3), 0, MAY_OVERLAP),
    Mutant("what is allowed counts as a reply", ALLOW, dict(code=0xB4, target=9, immediate=9), dict(immediate=10), 0, MAY_OVERLAP),
    Mutant("what is allowed stands", FOLLOW4, dict(code=0xB4, target=0, immediate=2), dict(immediate=0), 2, {}, FOLLOWED4),
    Mutant("a reply stands", FOLLOW4, dict(code=0xB4, target=0, immediate=1), dict(immediate=0), 0, {}, FOLLOWED4),
    Mutant("another address is asked for", FOLLOW4, dict(code=SHIFT32_DOWN, immediate=16), dict(immediate=15), 1, {}, FOLLOWED4),
    Mutant("a step to the inverse is wrong", FOLLOW4, dict(code=0xB4, target=9, immediate=2), dict(immediate=1), 0, {}, FOLLOWED4),
    Mutant("a reply counts as a drop", FOLLOW4, dict(code=0xB4, target=2, immediate=3), dict(immediate=0), 0, {}, FOLLOWED4),
    Mutant("a pause counts as drops", FOLLOW4, dict(code=0xB4, target=2, immediate=2), dict(immediate=0), 0, {}, FOLLOWED4),
    Mutant("a followed prefix has the label of the next /16", FOLLOW4, dict(code=0x57, target=6, immediate=32), dict(immediate=0), 0, {},
           FOLLOWED4),
    Mutant("a followed address has its neighbour's label", FOLLOW4, dict(code=SHIFT32_DOWN, target=3, immediate=3), dict(immediate=4),
           0, {}, FOLLOWED4),
    Mutant("a hit that stands counts double", FOLLOW4, dict(code=ADD, target=2, immediate=1), dict(immediate=2), 0, {}, FOLLOWED4),
    Mutant("the set to allow has a setting of the set to block", ALLOWED, dict(code=LOAD8, offset=2920), dict(offset=56), 0, {}, ALLOWS),
    Mutant("the stash of what is allowed knows another kind", ALLOWED, dict(code=OR, immediate=1), dict(immediate=3), 0, {}, ALLOWS),
    Mutant("second homes of what is allowed are elsewhere", ALLOWED, dict(code=TIMES32, immediate=-1640531527),
           dict(immediate=-1640531525), 0, {}, ALLOWS),

    Mutant("a /14 is asked by another bit", JUDGEMENT6, dict(code=SHIFT_DOWN, immediate=50), dict(immediate=49), 0, SIX),
    Mutant("a page has another number", JUDGEMENT6, dict(code=SHIFT_DOWN, immediate=51), dict(immediate=52), 0, SIX),
    Mutant("a /24 is asked by another bit", JUDGEMENT6, dict(code=SHIFT_DOWN, immediate=37), dict(immediate=36), 0, SIX),
    Mutant("a node has another number", JUDGEMENT6, dict(code=SHIFT_DOWN, immediate=41), dict(immediate=42), 0, SIX),
    Mutant("what is longer is asked of another word", JUDGEMENT6, dict(code=LOAD8, source=0, offset=32), dict(offset=16), 0, SIX),
    Mutant("the last page is not there", JUDGEMENT6, dict(code=0x2D, target=4, source=1), dict(code=0x3D), 0, SIX),
    Mutant("a node may lie anywhere", JUDGEMENT6, dict(code=0x2D, target=3, source=1), dict(source=3), 0, SIX),
    Mutant("a class stands elsewhere", JUDGEMENT6, dict(code=0x44, target=3, immediate=8), dict(immediate=9), 0, SIX),
    Mutant("a class keeps other lengths", JUDGEMENT6, dict(immediate=674774784), dict(immediate=674774784 ^ 1 << 8), 0, SIX),
    Mutant("a whole /14 passes", JUDGEMENT6, dict(code=0xC5, immediate=1), dict(code=0x65), 0, SIX),
    Mutant("an IPv6 fold is too short", JUDGEMENT6, dict(code=SHIFT_DOWN, immediate=32), dict(immediate=31), 0, KEYED),
    Mutant("the tag of a /64 is too short", JUDGEMENT6, dict(code=SHIFT_UP, immediate=7), dict(immediate=6), 0, KEYED),
    Mutant("a /64 has another kind", JUDGEMENT6, dict(code=OR, immediate=5), dict(immediate=9), 0, KEYED),
    Mutant("a slot of a /64 is loaded twice", JUDGEMENT6, dict(code=LOAD8, offset=24), dict(offset=16), 0, KEYED),
    Mutant("the stash knows a /64 by another kind", JUDGEMENT6, dict(code=OR, immediate=4), dict(immediate=8), 0, IN_STASH),
    Mutant("the stash of IPv6 is looked at in another set", JUDGEMENT6, dict(code=0x57, immediate=32704), dict(immediate=16320), 0, KEYED),
    Mutant("no one stands behind a shorter prefix", JUDGEMENT6, dict(code=SHIFT_DOWN, immediate=1), dict(immediate=2), 0, SHORTER),
    Mutant("a shorter prefix has another kind", JUDGEMENT6, dict(code=OR, immediate=9), dict(immediate=5), 0, SHORTER),
    Mutant("a length is asked again and again", JUDGEMENT6, dict(code=0xAF, target=9, source=2), dict(code=0xBF), 0, NEXT),
    Mutant("one shorter length fewer is asked", JUDGEMENT6, dict(code=0xA6, immediate=48), dict(immediate=47), 0, NEXT),
    Mutant("a mask is its neighbour's", JUDGEMENT6, dict(code=LOAD8, offset=-24), dict(offset=-32), 0, NEXT),
    Mutant("factors of a hash are mixed up", JUDGEMENT6, dict(code=LOAD8, offset=264), dict(offset=280), 0, NEXT),
    Mutant("a factor of a hash may be even", JUDGEMENT6, dict(code=OR, immediate=1), dict(immediate=0), 0, LONGER),
    Mutant("a tag takes other bits of a hash", JUDGEMENT6, dict(code=0xB4, immediate=34), dict(immediate=33), 0, LONGER),
    Mutant("one longer length fewer is asked", JUDGEMENT6, dict(code=IF_EQUAL, immediate=64), dict(immediate=63), 0, LONGER),
    Mutant("another prefix counts as a /64", JUDGEMENT6, dict(code=0xB4, target=6, immediate=7), dict(immediate=6), 0, SIX),
    Mutant("who follows a /64 is told another home", JUDGEMENT6, dict(code=0x64, target=4, immediate=1), dict(immediate=2),
           0, dict(code=LOAD8, offset=224)),
    Mutant("who follows a shorter prefix is told another home", JUDGEMENT6, dict(code=0x64, target=4, immediate=1), dict(immediate=2),
           1, dict(code=LOAD8, offset=224)),
    Mutant("who follows a shorter prefix is told of a /64", JUDGEMENT6, dict(code=0xB4, target=2, immediate=8), dict(immediate=4),
           0, dict(code=LOAD8, offset=224)),
    Mutant("who follows a /32 is told that it is a word", JUDGEMENT6, dict(code=0x44, immediate=-(1 << 31)), dict(immediate=0), 0, SIX),
    Mutant("neighbour discovery counts as allowed", JUDGEMENT6, dict(code=0xB4, target=9, immediate=8), dict(immediate=9), 0, SIX),
    Mutant("other ICMPv6 passes", FOLLOW6, dict(code=0xA6, immediate=0x8A00), dict(immediate=0x8B00), 0, {}, FOLLOWED),
    Mutant("what was routed passes", FOLLOW6, dict(code=0x56, immediate=0xFF3A), dict(immediate=0xFE3A), 0, {}, FOLLOWED),
    Mutant("an allowed IPv6 source stands", FOLLOW6, dict(code=0xB4, target=2, immediate=9), dict(immediate=7), 0, MAY_OVERLAP, FOLLOWED),
    Mutant("neighbour discovery stands", FOLLOW6, dict(code=0xB4, target=0, immediate=3), dict(immediate=0), 0, {}, FOLLOWED),
    Mutant("a told hit has its neighbour's label", FOLLOW6, dict(code=AND32, target=6, immediate=56), dict(immediate=48),
           0, dict(symbol="LEVEL_LABELS"), FOLLOWED),
    Mutant("a told /32 has its neighbour's label", FOLLOW6, dict(code=AND32, target=4, immediate=56), dict(immediate=48),
           0, dict(symbol="LEVEL_LABELS"), FOLLOWED),
    Mutant("a reply counts as dropped for its list", FOLLOW6, dict(code=0xB4, target=3, immediate=3), dict(immediate=0), 0, {}, FOLLOWED),
    Mutant("a prefix in the stash is looked for in a home", FOLLOW6, dict(code=0x56, target=1, immediate=-1), dict(immediate=-2),
           0, {}, FOLLOWED),
    Mutant("a prefix has its neighbour's label", FOLLOW6, dict(code=0xB4, target=4, immediate=2), dict(immediate=1), 0, dict(symbol="SIX"),
           FOLLOWED),
    Mutant("a told hit counts double", FOLLOW6, dict(code=ADD, target=2, immediate=1), dict(immediate=2), 1, {}, FOLLOWED),

    Mutant("the IPv6 set to allow has a setting of the set to block", ALLOWED6, dict(code=LOAD8, offset=3032), dict(offset=168),
           0, {}, ALLOWS6),
    Mutant("what is allowed is asked of what is blocked", ALLOWED6, ALLOW_SIX, dict(symbol="SIX"), 0, {}, ALLOWS6),
    Mutant("the levels of what is allowed are those of what is blocked", ALLOWED6, ALLOW_LEVELS, dict(symbol="LEVELS"), 1, {}, ALLOWS6),
    Mutant("an allowed /14 is asked by another bit", ALLOWED6, dict(code=SHIFT_DOWN, immediate=47), dict(immediate=46), 0, {}, ALLOWS6),
    Mutant("a word of the table of what is allowed is written", ALLOWED6, dict(code=LOAD8, offset=120), dict(code=0x7B, target=0, source=1),
           0, {}, ALLOWS6),
    Mutant("an allowed /64 has another kind", ALLOWED6, dict(code=OR, immediate=5), dict(immediate=9), 0, {}, ALLOWS6),
    Mutant("a slot of an allowed /64 is loaded twice", ALLOWED6, dict(code=LOAD8, offset=24), dict(offset=16), 0, {}, ALLOWS6),
    Mutant("an allowed length is asked again and again", ALLOWED6, dict(code=0xAF, target=4, source=2), dict(code=0xBF),
           0, ALLOW_SHORTER, ALLOWS6),
    Mutant("an allowed length is answered as if it were not", ALLOWED6, dict(code=0xB4, target=0, immediate=1), dict(immediate=0),
           0, ALLOW_SHORTER, ALLOWS6),
    Mutant("one allowed length fewer is asked", ALLOWED6, dict(code=IF_EQUAL, immediate=64), dict(immediate=63),
           0, ALLOW_LONGER, ALLOWS6),
]
