"""Faults put into the program for lists with ports, and into what it asks: as those in `mutants.py`, one instruction each."""

from mutants import ADD, AND32, IF32_EQUAL, IF_EQUAL, IF_MORE, IF_NOT_EQUAL, KEEP, LOAD8, OR, SHIFT_DOWN, SHIFT_UP, SWAP
from mutants import TIMES32, Mutant

WANTS, HEADER, PORT, BY_PORT = "ports wanted", "where a header lies", "the port", "ports of every frame"
CLAUSES4, CLAUSES6 = "clauses of IPv4", "clauses of IPv6"
FOUR, SIX, SHORTER, LONGER, ALIKE = "a clause's IPv4", "a clause's IPv6", "a clause's shorter", "a clause's longer", "slots"
BY_SLOT, COUNTED4, COUNTED6, ASKED6 = "counted by slot", "a clause's labels, IPv4", "a clause's labels, IPv6", "a clause asked for a label"
OF_3X21, OF_5X12 = "a clause's labels, lanes 3x21", "a clause's labels, lanes 5x12"
TWINS, COUNTING = "ports beside the judge", "ports counted"
SET32, ADD32, SHIFT32_UP = 0xB4, 0x04, 0x64


def of(theorem, function):
    """Makes those of one theorem and function."""
    return lambda name, parts, changes, number=0, behind=None: Mutant(name, theorem, parts, changes, number, behind or {}, function)


wants, header, port = of(WANTS, "filterd_wants"), of(HEADER, "filterd_header"), of(PORT, "filterd_port")
clauses4, clauses6, by_port = of(CLAUSES4, "filterd_by_port4"), of(CLAUSES6, "filterd_by_port6"), of(BY_PORT, "filterd_by_port")
four, six, shorter, longer = (of(theorem, f"filterd_c0_{kind}") for theorem, kind in
                              ((FOUR, "4"), (SIX, "6"), (SHORTER, "shorter"), (LONGER, "longer")))
counted4, counted6, asked6 = of(COUNTED4, "filterd_c0_count4"), of(COUNTED6, "filterd_c0_count6"), of(ASKED6, "filterd_c0_of_six")
twin, counting = of(TWINS, "filterd_ports"), of(COUNTING, "filterd_ports")
ASKED, ROWS = dict(symbol="filterd_by_port"), dict(code=0x85, immediate=8)
# Where the function that counts an IPv6 source asks for its /64.
OF_64 = dict(code=LOAD8, target=3, offset=5896)

MUTANTS = [
    wants("a range ends a port early", dict(code=0x57, immediate=0xFFFF), dict(immediate=0xFFFE), 3),
    wants("a range begins elsewhere", dict(code=SHIFT_DOWN, immediate=16), dict(immediate=15), 5),
    wants("the last range is not asked", dict(code=LOAD8, offset=256), dict(offset=248)),
    wants("all ports but some are told by a range", dict(code=LOAD8, offset=31560), dict(offset=31568)),
    wants("what hides its port passes", dict(code=IF32_EQUAL, immediate=3 << 16), dict(immediate=4 << 16)),
    wants("another protocol is wanted by port", dict(code=IF_EQUAL, target=1, immediate=0), dict(code=IF_NOT_EQUAL)),
    wants("a later fragment is wanted", dict(code=SET32, target=0, immediate=2), dict(immediate=0)),

    header("IPv4 behind a tag lies elsewhere", dict(code=SET32, target=2, immediate=36), dict(immediate=32)),
    header("tags of 802.1ad are no tags", dict(code=IF32_EQUAL, immediate=0x88A8), dict(immediate=0x88A9)),

    port("the source port is taken", dict(code=AND32, immediate=-65536), dict(immediate=0xFFFF)),
    port("an IPv4 header may be too short", dict(code=0xA6, immediate=20), dict(immediate=16)),
    port("IPv4 options are no part of the header", dict(code=AND32, immediate=60), dict(immediate=52)),
    port("some later fragments have ports", dict(code=AND32, immediate=-14745600), dict(immediate=0x00FF0000)),
    port("the first of several fragments is a later one", dict(code=AND32, immediate=0xFFF8), dict(immediate=0xFFFF)),
    port("behind eight extension headers is a port", dict(code=SET32, target=8, immediate=8), dict(immediate=9)),
    port("an IPv6 header is a byte shorter", dict(code=ADD32, immediate=40), dict(immediate=39)),
    port("extension headers are shorter", dict(code=SHIFT32_UP, immediate=3), dict(immediate=2)),
    port("an authentication header is longer", dict(code=SHIFT32_UP, immediate=2), dict(immediate=3)),
    port("ports may lie behind a packet's end", dict(code=0x2D, target=3, source=1), dict(code=0xAD)),
    port("UDP has another number", dict(code=IF32_EQUAL, immediate=17), dict(immediate=16)),
    port("what hides its port has none", dict(code=SET32, target=9, immediate=3 << 16), dict(immediate=1 << 16)),

    by_port("an IPv4 source is asked for in the wire's order", dict(code=SWAP, target=2, immediate=32), dict(code=KEEP)),
    by_port("IPv6 has another type", dict(code=IF32_EQUAL, immediate=0x86DD), dict(immediate=0x86DE)),
    by_port("what has no source is held", dict(code=SET32, target=6, immediate=0), dict(immediate=4)),
    by_port("an IPv6 source is asked for in halves", dict(code=SWAP, target=3, immediate=64), dict(immediate=32)),

    clauses4("a later fragment counts as sent elsewhere", dict(code=SET32, target=2, immediate=12), dict(immediate=11)),
    clauses4("what is sent elsewhere counts as a later fragment", dict(code=SET32, target=1, immediate=11), dict(immediate=12)),
    clauses4("a clause is told by its neighbour's number", dict(code=ADD32, target=8, immediate=256), dict(immediate=512)),
    clauses4("the last clause is not asked", dict(code=IF_MORE, target=1, immediate=7), dict(immediate=6)),
    clauses4("a clause is asked for another's sources", dict(symbol="filterd_c3_4"), dict(symbol="filterd_c1_4")),
    clauses4("a clause's reply counts as dropped for its list", dict(code=SET32, target=3, immediate=3), dict(immediate=0)),
    clauses4("what is allowed counts as a reply", dict(code=SET32, target=0, immediate=9), dict(immediate=10)),
    clauses4("a pause counts as drops", dict(code=SET32, target=3, immediate=2), dict(immediate=0)),
    clauses4("a drop that only counts is told as dropped", dict(code=SET32, target=3, immediate=1), dict(immediate=0)),
    clauses6("neighbour discovery counts as allowed", dict(code=SET32, target=0, immediate=8), dict(immediate=9)),
    clauses6("a later fragment counts as sent elsewhere", dict(code=SET32, target=2, immediate=12), dict(immediate=11)),
    clauses6("what was routed is neighbour discovery", dict(code=IF32_EQUAL, immediate=15103), dict(immediate=15102)),
    clauses6("a clause is asked for IPv4's reasons", dict(code=0x56, immediate=6), dict(immediate=4)),

    four("a clause is asked for an address by another stash", dict(code=AND32, immediate=4088), dict(immediate=4080)),
    four("a prefix of a clause is an address", dict(code=SET32, target=0, immediate=5), dict(immediate=4)),
    four("a clause has a setting of what is blocked on all ports", dict(code=LOAD8, offset=5784), dict(offset=56)),
    four("a clause's sources are those of another", dict(symbol="C0_ADDRESSES"), dict(symbol="C1_ADDRESSES")),
    four("second homes of a clause are elsewhere", dict(code=TIMES32, immediate=-1640531527), dict(immediate=-1640531525)),
    six("a clause's /64 has another kind", dict(code=OR, immediate=5), dict(immediate=9)),
    six("a clause's /64 is another prefix", dict(code=SET32, target=0, immediate=6), dict(immediate=7)),
    six("a clause's levels are those of another", dict(symbol="C0_LEVELS"), dict(symbol="C1_LEVELS"), 1),
    six("a length of a clause is asked again and again", dict(code=0xAF, target=8, source=9), dict(code=0xBF)),
    six("a clause asks for one shorter length fewer", dict(code=0xA6, immediate=48), dict(immediate=47)),
    shorter("a clause's shorter prefix has another kind", dict(code=OR, immediate=9), dict(immediate=5)),
    shorter("a clause without a table holds what is longer", dict(code=LOAD8, offset=5904), dict(offset=5896)),
    longer("a clause's longer prefix has its neighbour's mask", dict(code=LOAD8, offset=6096), dict(offset=6088)),
    longer("a clause's hash takes other bits", dict(code=SET32, immediate=34), dict(immediate=33)),

    of(ALIKE, "filterd_c5_4")("a slot has an instruction of its own", dict(code=SET32, target=0, immediate=5), dict(immediate=4)),
    of(ALIKE, "filterd_c2_6")("a slot asks another's lengths", dict(symbol="filterd_c2_shorter"), dict(symbol="filterd_c1_shorter")),
    of(ALIKE, "filterd_c7_count4")("a slot has labels of another", dict(symbol="C7_ADDRESS_LABELS"), dict(symbol="C6_ADDRESS_LABELS")),

    of(BY_SLOT, "filterd_count_clause4")("a clause's hit counts by another slot", dict(symbol="filterd_c6_count4"),
                                         dict(symbol="filterd_c5_count4")),
    of(BY_SLOT, "filterd_count_clause6")("a /64 of a clause counts as another prefix", dict(code=SET32, immediate=1), dict(immediate=0)),
    counted4("an address of a clause has its neighbour's label", dict(code=ADD32, immediate=4095), dict(immediate=4096)),
    counted4("a prefix of a clause has the label of the next /16", dict(code=AND32, immediate=32), dict(immediate=0)),
    counted4("a clause's hit is counted in another row", dict(code=SHIFT_UP, target=0, immediate=13), dict(immediate=12)),
    # These two go unseen where lanes are 4x16.
    of(OF_3X21, "filterd_c0_count4")("no lane begins at bit 42", dict(code=AND32, target=4, immediate=63), dict(immediate=48)),
    of(OF_5X12, "filterd_c0_count4")("bits behind the last lane are counted as lanes", dict(code=AND32, immediate=15), dict(immediate=-1)),
    counted6("a clause's IPv6 hit counts double", dict(code=ADD, immediate=1), dict(immediate=2), 0, ROWS),
    counted6("a clause's IPv6 hit counts as something else", dict(code=AND32, target=7, immediate=3), dict(immediate=1)),
    counted6("who is told of no /64 asks for it", dict(code=0x56, target=3, immediate=0), dict(code=IF32_EQUAL)),
    counted6("a /64 is asked for where there are no levels", dict(code=IF_EQUAL, target=3, immediate=0), dict(offset=0), 0, OF_64),
    counted6("a /64 of a clause is asked for as another kind", dict(code=SET32, target=1, immediate=4), dict(immediate=8), 0, OF_64),
    counted6("a /64 of a clause has no label", dict(code=0x57, target=9, immediate=255), dict(immediate=0)),
    counted6("labels of a clause's levels are those of another", dict(symbol="C0_LEVEL_LABELS"), dict(symbol="C1_LEVEL_LABELS")),
    counted6("a word of a clause's levels has its neighbour's label", dict(code=0x57, target=1, immediate=56), dict(immediate=48)),
    counted6("pages of labels of a clause's levels begin elsewhere", dict(code=ADD32, target=2, immediate=1024), dict(immediate=1088)),
    counted6("behind a clause's levels there are labels", dict(code=ADD, target=2, immediate=1024), dict(immediate=2048)),
    counted6("a clause's shorter prefix is asked for as another kind", dict(code=SET32, target=1, immediate=8), dict(immediate=4)),
    counted6("a clause's shorter prefix that has a label is passed over", dict(code=0xA6, target=0, immediate=256), dict(immediate=0)),
    counted6("a clause's longer prefix is asked for as another kind", dict(code=SET32, target=1, immediate=0), dict(immediate=8), 1),
    asked6("a slot of a clause has its neighbour's label", dict(code=SET32, target=8, immediate=2), dict(immediate=1)),
    asked6("labels of a clause's slots begin a word further", dict(code=ADD32, immediate=4096), dict(immediate=4104)),
    asked6("labels of a clause's IPv6 stash are those of another", dict(code=0x57, immediate=4088), dict(immediate=4080)),
    asked6("a way of a clause's IPv6 stash has its neighbour's label", dict(code=0xB7, target=4, immediate=16), dict(immediate=8)),
    asked6("a clause's longer prefix is found by other bits", dict(code=SET32, immediate=34), dict(immediate=33)),
    asked6("who is asked for a label of a clause writes it", dict(code=LOAD8, offset=0), dict(code=0x7B, target=1, source=0), 0,
           dict(symbol="C0_SIX_LABELS")),

    twin("who is on no list is asked for as a reply", ASKED, dict(symbol="filterd_replies")),
    twin("a page is looked for where there is none", dict(code=IF_NOT_EQUAL, target=4, immediate=0), dict(immediate=1)),
    twin("the other's second homes are elsewhere", dict(code=TIMES32, immediate=-1640531527), dict(immediate=-1640531525)),
    twin("who is on a list is asked for by ports", dict(symbol="filterd_follow4"), ASKED),
    twin("the other takes another answer", dict(code=AND32, target=6, immediate=255), dict(immediate=251), 0, ASKED),
    twin("what is sent elsewhere counts as unlisted", dict(code=SET32, target=7, immediate=11), dict(immediate=0), 0, ASKED),
    twin("the other asks another set", dict(symbol="NETWORKS"), dict(symbol="C0_NETWORKS")),
    twin("the other reads a /64's slot twice", dict(code=LOAD8, offset=24), dict(offset=16), 0, dict(code=OR, immediate=5)),
    twin("the other counts for another label", dict(code=ADD32, immediate=4095), dict(immediate=4096), 0, dict(symbol="ADDRESSES")),
    twin("the other's IPv4 has another type", dict(code=IF32_EQUAL, immediate=0x0800), dict(immediate=0x0801)),
    counting("the other's rows overlap", dict(code=SHIFT32_UP, immediate=11), dict(immediate=10)),
    counting("what passes counts double in the other", dict(code=ADD, immediate=1), dict(immediate=2), 0, ASKED),
]
