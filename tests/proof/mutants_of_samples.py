"""Faults put into what tells drops in full, and into what asks it to: as those in `mutants.py`, one instruction each."""

from mutants import ADDRESS_COUNTED, COUNTING, LABELS, LISTS, OTHER_COUNTED, SHIFT_DOWN, SHIFT_UP, Mutant
from mutants_of_flows import ADD64, MOVE, SHIFT32_DOWN, STORE8, UPPER

SAMPLES = "samples"
IF_WATCHED, IF_MORE, IF_LESS, IF_NOT_LESS = 0x65, 0x25, 0xA5, 0x3D


def of_samples(name, parts, changes, number=0):
    return Mutant(name, SAMPLES, parts, changes, number, {}, "filterd_sample")


MUTANTS = [
    Mutant("drops are passed over in a counter", COUNTING, dict(code=STORE8, target=7, offset=904), dict(offset=1096)),
    Mutant("drops are told in full while nobody watches", COUNTING, dict(code=IF_WATCHED, target=9, immediate=-1), dict(code=0xC5), 0,
           dict(code=0x85, immediate=188)),
    Mutant("who watches changes what is dropped", COUNTING, dict(code=0xB4, target=0, immediate=1), dict(immediate=2), 0,
           dict(code=0x85, immediate=118)),
    Mutant("a label is noted in a counter", LABELS, dict(code=STORE8, offset=944), dict(offset=1096), 0, {}, ADDRESS_COUNTED),
    Mutant("a label of IPv6 is noted in a counter", LABELS, dict(code=STORE8, offset=944), dict(offset=1096), 0, {}, OTHER_COUNTED),
    Mutant("the judge notes a label in a counter", LISTS, dict(code=STORE8, offset=944), dict(offset=1096)),

    of_samples("rows of samples overlap", dict(code=SHIFT_UP, immediate=14), dict(immediate=13)),
    of_samples("a sampler counts in a counter", dict(code=STORE8, target=7, offset=904), dict(offset=1096)),
    of_samples("windows are twice as long", dict(code=SHIFT_DOWN, immediate=5), dict(immediate=6)),
    of_samples("the budget is one more", dict(code=IF_NOT_LESS, target=6, source=2), dict(code=0x2D)),
    of_samples("strata are larger", dict(code=IF_LESS, immediate=65536), dict(immediate=65537)),
    of_samples("the choice takes other bits", dict(code=SHIFT32_DOWN, immediate=16), dict(immediate=15)),
    of_samples("who has not been told of is lost twice", dict(code=MOVE, target=6, immediate=0), dict(immediate=1)),
    of_samples("a reason has another place", dict(code=SHIFT_UP, target=1, immediate=16), dict(immediate=15)),
    of_samples("less of a longer frame is told", dict(code=IF_MORE, target=0, immediate=128), dict(immediate=256)),
    of_samples("a frame begins within the words before it", dict(code=ADD64, target=8, immediate=40), dict(immediate=32)),
    of_samples("no list has another number", dict(code=UPPER, immediate=0x100), dict(immediate=0x200)),
    of_samples("an interface has another place", dict(code=SHIFT_UP, target=8, immediate=32), dict(immediate=31)),
    of_samples("whoever looks is woken by each", dict(code=MOVE, target=2, immediate=1), dict(immediate=0)),
    of_samples("a sample stands for another number", dict(code=STORE8, target=2, source=1, offset=8), dict(offset=16)),
]
