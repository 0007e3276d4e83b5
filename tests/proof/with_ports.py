"""All theorems of lists with ports, and their faults: `prove.py` takes them with the others."""

from functools import cache

import bytecode
import clause_labels
import clauses
import counting
import parser
import port
import ports
import specification_ports as by
import twins
from machine import World
from mutants_of_ports import ALIKE, ASKED6, BY_PORT, BY_SLOT, CLAUSES4, CLAUSES6, COUNTED4, COUNTED6, COUNTING, FOUR, HEADER, LONGER
from mutants_of_ports import MUTANTS, OF_3X21, OF_5X12, PORT, SHORTER, SIX, TWINS, WANTS
from settings import Settings

PROGRAM = "filterd_ports"


@cache
def cuts_of(program):
    """Where a program knows the source of a packet. It looks at no settings before, so each process proves that of it once. More is not
    known of one kind of frames than of another."""
    return parser.merged([cut for hook in program.hook.any.kinds() for cut in parser.prove(program, World(Settings("4x16"), hook))])


def in_first_slot(function, layout="4x16"):
    """The function, a world with the settings of the first slot's sets, and these."""
    settings = Settings(layout, clauses.FIRST_CLAUSE)
    return function, World(settings, function.hook), settings


def of_wants(function):
    ports.wants(function, World(ports.Clauses("4x16"), function.hook))


def of_header(function):
    port.header(function, World(Settings("4x16"), function.hook))


def of_port(function):
    port.port(function, World(Settings("4x16"), function.hook))


def of_clauses4(function):
    settings = Settings("4x16")
    ports.clauses(function, World(settings, function.hook), settings, 4)


def of_clauses6(function):
    settings = Settings("4x16")
    ports.clauses(function, World(settings, function.hook), settings, 6)


def of_by_port(function):
    ports.by_port(function, World(Settings("4x16"), function.hook))


def of_four(function, layout="4x16"):
    clauses.four(*in_first_slot(function, layout))


def of_shorter(function):
    clauses.shorter(*in_first_slot(function))


def of_longer(function):
    clauses.longer(*in_first_slot(function))


def of_six(function):
    clauses.sixes(*in_first_slot(function))


def of_slots(judge, other=None):
    """All of them; or one that is another than it was."""
    functions = {name: function for (_, name), function in bytecode.functions(judge).items()}
    clauses.are_alike(functions | ({other.name: other} if other else {}))


def of_alike(function, judge):
    of_slots(judge, function)


def of_by_slot(function):
    clause_labels.by_slot(function, World(Settings("4x16"), function.hook), 4 if function.name.endswith("4") else 6)


def of_counted4(function, layout="4x16"):
    clause_labels.four(*in_first_slot(function, layout))


def of_3x21(function):
    of_counted4(function, "3x21")


def of_5x12(function):
    of_counted4(function, "5x12")


def of_counted6(function):
    clause_labels.six(*in_first_slot(function))


def of_asked6(function):
    clause_labels.asking(*in_first_slot(function))


def of_twins(program, judge):
    """What is proved of the judge holds of this program, up to where packets are counted."""
    both = [counting.places(cuts_of(one)) for one in (the_program(judge, "filterd_judge"), program)]
    twins.prove(the_program(judge, "filterd_judge"), program, World(Settings("4x16"), program.hook.of(is_bare=False, is_sent=False)), both)


def of_counting(program):
    settings = Settings("4x16")
    counting.prove(program, World(settings, program.hook), settings, cuts_of(program))


def the_program(judge, name):
    return bytecode.read(judge, bytecode.hook_of(judge).section, name)


def the_function(judge, name):
    return the_program(judge, name) if name == PROGRAM else bytecode.read(judge, ".text", name)


def theorems(judge, layouts):
    """Name and what proves it, for each."""
    of = lambda name: the_function(judge, name)
    first = lambda kind: of(clauses.name(kind))
    what = "the program asks them of a packet from a source on no other list, and does as the judge does in all else"
    yield f"ports: {what}", of_twins, (of(PROGRAM), judge)
    yield "ports: of every reason follow the verdict and its counters", of_counting, (of(PROGRAM),)
    yield "ports: of every frame the sender is asked for", of_by_port, (of(ports.BY_PORT),)
    for family, prove in (4, of_clauses4), (6, of_clauses6):
        what = "is dropped if a clause that covers it wants the packet; by the first of these it is told and counted"
        yield f"ports: an IPv{family} source {what}", prove, (of(f"{ports.BY_PORT}{family}"),)
    what = "a clause wants what is sent to its ports, or to all but these, and what hides its port; later fragments it does not"
    yield f"ports: {what}", of_wants, (of(ports.WANTS),)
    yield "ports: of every frame it is found where its IP header lies", of_header, (of(port.HEADER),)
    yield "ports: of every packet with a source it is found to which port it is sent", of_port, (of(port.PORT),)
    for layout in layouts:
        what = f"ports, lanes {layout}: a clause covers an IPv4 source if its set holds it; words read once and in order"
        yield what, of_four, (first("4"), layout)
    yield "ports: a clause covers an IPv6 source if its set holds it; words read once for each prefix and in order", of_six, (first("6"),)
    yield "ports: each IPv6 length up to /64 is looked up for it", of_shorter, (first("shorter"),)
    yield "ports: each IPv6 length beyond /64 is looked up for it", of_longer, (first("longer"),)
    for family in (4, 6):
        yield f"ports: what drops an IPv{family} source counts it, by its slot", of_by_slot, (of(f"{clause_labels.COUNT_CLAUSE}{family}"),)
    for layout in layouts:
        what = f"ports, lanes {layout}: an IPv4 source counts for the list whose label stands beside it in the clause's tables"
        yield what, of_counted4, (first("count4"), layout)
    what = "an IPv6 source counts for the list of its /64 if that made it a hit; else of the levels, of a shorter prefix, or a longer one"
    yield f"ports: {what}", of_counted6, (first("count6"),)
    yield "ports: a clause asked for an IPv6 prefix answers the label beside it, and writes nothing", of_asked6, (first("of_six"),)
    yield f"ports: all {by.SLOTS} slots have the same functions, each with maps and settings of its own", of_slots, (judge,)


OF = {
    WANTS: of_wants, HEADER: of_header, PORT: of_port, CLAUSES4: of_clauses4, CLAUSES6: of_clauses6, BY_PORT: of_by_port, FOUR: of_four,
    SHORTER: of_shorter, LONGER: of_longer, SIX: of_six, ALIKE: of_alike, BY_SLOT: of_by_slot, COUNTED4: of_counted4, COUNTED6: of_counted6,
    OF_3X21: of_3x21, OF_5X12: of_5x12, ASKED6: of_asked6, TWINS: of_twins, COUNTING: of_counting,
}


def faults(judge):
    """The same of what must be refuted."""
    for mutant in MUTANTS:
        more = (judge,) if mutant.of in (ALIKE, TWINS) else ()
        yield f"{mutant.of}: {mutant.name}", OF[mutant.of], (mutant.made_of(the_function(judge, mutant.function)), *more)
