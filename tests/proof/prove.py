"""`cargo xtask prove` runs this. A line for each theorem, and each fault; 0 only if all of them came out as they must."""

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import z3

import allowed
import allowed6
import answers
import bytecode
import counterexample
import counting
import egress
import follow4
import follow6
import judgement
import judgement6
import labels
import labels4
import labels6
import length_of_headers
import moves
import mutants
import mutants_of_flows
import mutants_of_samples
import mutants_of_tc
import parser
import replay
import replies
import root
import samples
import scheme
import scheme6
import with_ports
from hook import SENT, TC
from kept import Kept, Record
from machine import HEADERS, SAMPLE, Unproved, World
from settings import LAYOUTS, NAMES, SET_WORDS, Settings, of_daemon
from theorem import Refuted, follows

# The settings that the daemon gives judges, which a test of its own holds (filter-daemon/src/kernel/spec/tests.rs).
DAEMON = Path(__file__).parent / "settings.jsonl"

# What is not proved; docs/internals/proof.md has the whole list. Printed each time, so that nobody expects more.
NOT_PROVED = [
    "moving entries but for IPv4, two moves at most, one request at a time: that is for the models (cargo xtask test model)",
    "the programs that make calls fail to blocked destinations (`connect`): tests",
]


# The objects that lie beside the judge.
OTHER_OBJECTS = (("root", "root's"), ("egress", "egress program's"), ("judge-tc", "TC judge's"), ("root-tc", "TC root's"))
# Of the judge for TC with fewer lanes, since it does by the same modules what the one for XDP does.
LAYOUTS_OF_TC = ("4x16",)


def the_judge(path):
    return with_ports.the_program(path, "filterd_judge")


def the_root(judge):
    """It lies beside the judge, in an object of its own."""
    hook = bytecode.hook_of(judge)
    return bytecode.read(judge.with_name(hook.root_object), hook.section, hook.root)


def the_egress(judge, name=egress.EGRESS):
    """For frames with an Ethernet header, or that for frames without."""
    return bytecode.read(judge.with_name("egress"), "classifier", name).of_frames(is_bare=name == egress.BARE)


def the_function(path, name):
    return bytecode.read(path, ".text", name)


def of_source(program):
    """Whatever the settings are: it looks at none."""
    world = World(Settings("4x16"), program.hook)
    try:
        parser.prove(program, world)
    except Refuted as refuted:
        return None if program.hook.is_late else counterexample.of(refuted, world), refuted


def of_root(program):
    root.prove(program, World(Settings("4x16"), program.hook))


def of_counting(program):
    settings = Settings("4x16")
    world = World(settings, program.hook)
    counting.prove(program, world, settings, with_ports.cuts_of(program))


def of_labels(function):
    settings = Settings("4x16")
    labels.prove(function, World(settings, function.hook), settings)


def of_labels4(function, layout="4x16"):
    settings = Settings(layout)
    labels4.prove(function, World(settings, function.hook), settings)


def of_asking6(function):
    settings = Settings("4x16")
    labels6.prove_asking(function, World(settings, function.hook), settings)


def of_counting6(function):
    settings = Settings("4x16")
    labels6.prove_counting(function, World(settings, function.hook), settings)


def of_judgement(program, layout, *more, is_long=False):
    """What is known of the source is taken from the first theorem, which is proved anew: it takes a second."""
    settings = Settings(layout)
    cuts = with_ports.cuts_of(program)
    places = counting.places(cuts)
    world = World(settings, program.hook)
    world.facts += [fact(settings) for fact in more]
    judgement.prove(program, world, settings, next(cut for cut in cuts if cut.kind == "IPv4"), places, is_long)


def of_lists(program, layout):
    """The same, and for which list a hit counts where that takes long."""
    of_judgement(program, layout, is_long=True)


def of_judgement6(program):
    """The same of IPv6, of which lanes are no part."""
    settings = Settings("4x16")
    cuts = with_ports.cuts_of(program)
    world = World(settings, program.hook)
    judgement6.prove(program, world, settings, next(cut for cut in cuts if cut.kind == "IPv6"), counting.places(cuts))


def of_follow6(function):
    settings = Settings("4x16")
    follow6.prove(function, World(settings, function.hook), settings)


def of_follow4(function):
    settings = Settings("4x16")
    follow4.prove(function, World(settings, function.hook), settings)


def of_replies(function):
    settings = Settings("4x16")
    replies.prove(function, World(settings, function.hook), settings)


def of_samples(function):
    settings = Settings("4x16")
    samples.prove(function, World(settings, function.hook), settings)


def of_egress(program):
    egress.prove(program, World(Settings("4x16"), program.hook))


def of_allowed(function, layout="4x16"):
    settings = Settings(layout, "ALLOW_")
    allowed.prove(function, World(settings, function.hook), settings)


def of_allowed6(function):
    settings = Settings("4x16", "ALLOW_")
    allowed6.prove(function, World(settings, function.hook), settings)


def of_lookup(program):
    """The same where nothing is counted for lists and nothing may be allowed: a fault is found sooner."""
    of_judgement(program, "4x16", is_plain, lambda settings: settings.lists == 0)


def of_judgement_of_lists(program):
    of_judgement(program, "4x16", is_plain, lambda settings: settings.lists != 0)


def of_judgement_with_more(program):
    of_judgement(program, "4x16", lambda settings: z3.And(settings.overlap != 0, settings.lists == 0))


def is_plain(settings):
    return z3.And(settings.match_new == 0, settings.overlap == 0)


def of_other_machine(judge, other, change=lambda program: program):
    """What is proved of the one object holds of the other, if it has the same functions, instruction by instruction."""
    ones, others = bytecode.functions(judge), bytecode.functions(other)
    if ones.keys() != others.keys():
        follows(f"{other} has the functions of {judge}", z3.BoolVal(False))
    for place, one in ones.items():
        if one != change(others[place]):
            follows(f"{one.name} is the same", z3.BoolVal(False))


def of_shared(judge, other, names):
    """What is proved of the one judge holds of the other, for functions that are the same and call no others. They are given no context."""
    for name in names:
        one, twin = (bytecode.functions(path)[".text", name] for path in (judge, other))
        follows(f"{name} is the same", z3.BoolVal(one == twin))
        called = {this.symbol for this in one.instructions if this.code == bytecode.CALL and this.symbol}
        follows(f"{name} calls what is the same", z3.BoolVal(called <= set(names)))


def of_headers(function):
    length_of_headers.prove(function, World(Settings("4x16"), function.hook))


def of_settings(more=None):
    of_daemon(DAEMON, more)


def one_differs(program):
    return program.with_instruction(0, immediate=1) if program.name == "filterd_judge" else program


OF = {
    mutants.PARSER: of_source, mutants.JUDGEMENT: of_lookup, mutants.LISTS: of_judgement_of_lists,
    mutants.ALLOW: of_judgement_with_more, mutants.FOLLOW4: of_follow4, mutants.ALLOWED: of_allowed,
    mutants.COUNTING: of_counting, mutants.JUDGEMENT6: of_judgement6, mutants.FOLLOW6: of_follow6, mutants.LABELS: of_labels,
    mutants.LABELS4: of_labels4, mutants.LABELS6: of_counting6, mutants.ASKED6: of_asking6,
    mutants.ROOT: of_root, mutants.ALLOWED6: of_allowed6,
    mutants_of_tc.BARE: of_source, mutants_of_tc.HEADERS: of_headers,
    mutants_of_tc.SENT: of_source, mutants_of_tc.BARE_SENT: of_source, mutants_of_tc.SENT_COUNTING: of_counting,
    mutants_of_flows.REPLIES: of_replies, mutants_of_flows.EGRESS: of_egress,
    mutants_of_flows.BARE_EGRESS: of_egress, mutants_of_samples.SAMPLES: of_samples,
}


# What reads a frame: at TC proved of frames with an Ethernet header, and of those without; and of received ones. What finds the source, and
# what counts, is proved of sent ones, too.
OF_FRAMES = of_source, of_replies, with_ports.of_by_port, with_ports.of_header, with_ports.of_port, with_ports.of_clauses6
OF_VERDICTS = of_counting, with_ports.of_counting


def theorems(judge, others):
    """Name and what proves it, for each."""
    for other in others:
        yield f"the object for {other.parent.name} has the same functions, instruction by instruction", of_other_machine, (judge, other)
        for name, whose in OTHER_OBJECTS:
            places = judge.with_name(name), other.with_name(name)
            yield f"the {whose} object for {other.parent.name} has the same", of_other_machine, places
    yield "settings: those that the daemon gives judges are as theorems take them to be", of_settings, ()
    yield from of_ipv6(judge)
    # The solver takes longer for these behind others.
    for layout in LAYOUTS:
        what = f"moves, lanes {layout}: whoever looks while one comes finds what is so at one moment; nobody else leaves or comes"
        yield what, moves.prove, (layout,)
    for lemma in [*scheme.LEMMAS, *scheme6.LEMMAS]:
        yield f"scheme: {lemma.__doc__.split('.')[0].split(':')[0]}", lemma, ()
    yield from of_judge(judge, LAYOUTS)
    yield from of_tc(judge, judge.with_name(TC.judge))
    yield "own flows: an answer is looked up by the key of what it answers, and no other flow has that", answers.prove, ()
    what = "egress: of every frame that is sent what begins a flow is noted, or keeps it up; nothing else is written, and it goes on"
    yield what, of_egress, (the_egress(judge),)
    yield f"without Ethernet headers, {what}", of_egress, (the_egress(judge, egress.BARE),)


def of_ipv6(judge):
    """The same of how a judge at one hook looks for IPv6 sources."""
    name = "judgement, IPv6: the reason for every IPv6 source; words read once for each prefix and in order"
    yield name, of_judgement6, (the_judge(judge),)
    what = "allowed, IPv6: an IPv6 source is allowed if the set to allow holds it; words read once for each prefix and in order"
    yield what, of_allowed6, (the_function(judge, allowed6.ALLOWED6),)


def of_judge(judge, layouts):
    """The same of all else that it does, and of the root beside it."""
    yield "root: it jumps to the judge, with the packet as it is; where there is none, the packet passes", of_root, (the_root(judge),)
    program = the_judge(judge)
    yield "source: of every frame the judge finds the sender that the specification finds", of_source, (program,)
    yield "counting: of every reason follow the verdict and its counters, and nothing else is written", of_counting, (program,)
    for name in labels.COUNTING:
        what = f"labels: a hit that {name} counts for a list writes one counter of lists, and nothing else"
        yield what, of_labels, (the_function(judge, name),)
    for layout in layouts:
        what = f"labels, IPv4, lanes {layout}: an address counts for the list whose label stands beside it"
        yield what, of_labels4, (the_function(judge, labels.COUNT_ADDRESS4), layout)
    what = "labels, IPv6: a hit by who knows what counts for the list of the levels, of a shorter prefix, or of a longer one, in this order"
    yield what, of_counting6, (the_function(judge, labels.COUNT6),)
    yield "labels, IPv6: asked for a prefix, the label that stands beside it", of_asking6, (the_function(judge, labels.ASKING),)
    yield "labels: asking for a label writes nothing", of_labels, (the_function(judge, labels.ASKING),)
    what = "follow4: of an IPv4 hit what is allowed passes, and a reply; all else stands and is counted once for a list"
    yield what, of_follow4, (the_function(judge, judgement.HIT),)
    for layout in layouts:
        what = f"allowed, lanes {layout}: an IPv4 source is allowed if the set to allow holds it"
        yield what, of_allowed, (the_function(judge, allowed.ALLOWED4), layout)
    what = "replies: a packet is one if the flow that the specification finds in it is known, and not too old"
    yield what, of_replies, (the_function(judge, follow4.REPLIES),)
    what = "samples: who watches is told of drops; words are written that no reason has, and nothing else of any table"
    yield what, of_samples, (the_function(judge, SAMPLE),)
    yield from with_ports.theorems(judge, layouts)
    what = "follow6: of an IPv6 hit what is allowed passes, so do neighbour discovery and a reply; all else stands and is counted once"
    yield what, of_follow6, (the_function(judge, judgement6.HIT),)
    for layout in layouts:
        name = f"judgement, lanes {layout}: the reason for every IPv4 source; words read once and in order"
        yield name, of_judgement, (program, layout)


def of_tc(judge, judge_tc):
    """The same of the judge for TC. What is the same function in both is proved once."""
    shared = sorted(name for (section, name), function in bytecode.functions(judge_tc).items()
                    if function == bytecode.functions(judge).get((section, name)))
    name = f"shared: {len(shared)} functions are those of the judge for XDP, instruction by instruction"
    yield TC.prefix + name, of_shared, (judge, judge_tc, shared)
    for name, prove, arguments in [*of_ipv6(judge_tc), *of_judge(judge_tc, LAYOUTS_OF_TC)]:
        if prove in OF_FRAMES:
            yield from of_both(name, prove, arguments[0])
        elif prove in OF_VERDICTS:
            yield TC.prefix + name, prove, (arguments[0].of_frames(is_sent=False),)
        elif getattr(arguments[0], "name", None) not in shared:
            yield TC.prefix + name, prove, arguments
    what = "headers: of every frame the length of its headers, which frames of the wire that were joined have each"
    yield from of_both(what, of_headers, the_function(judge_tc, HEADERS))
    yield from of_sent(the_judge(judge_tc))


def of_both(name, prove, function, prefix=TC.prefix, is_sent=False):
    """Of frames with an Ethernet header, and of those without."""
    yield prefix + name, prove, (function.of_frames(is_bare=False, is_sent=is_sent),)
    yield f"{prefix}without Ethernet headers, {name}", prove, (function.of_frames(is_bare=True, is_sent=is_sent),)


def of_sent(program):
    """What the judge for TC does otherwise where frames are sent. All else is proved of both at once."""
    what = "source: of every frame the judge finds the destination that the specification finds"
    yield from of_both(what, of_source, program, SENT, is_sent=True)
    what = "counting: a listed destination is dropped, and counted as one; what passes is not counted, and nothing else is written"
    yield SENT + what, of_counting, (program.of_frames(is_sent=True),)


def long_theorems(judge):
    """Those that take longer than one waits: proved when mutants are refuted."""
    name = f"judgement, lanes {judgement.SLOW}, of lists: what the judge itself counts is the list whose label stands there"
    yield name, of_lists, (the_judge(judge), judgement.SLOW)


def faults(judge):
    """The same of what must be refuted."""
    yield "settings: one more shorter length than there is", of_settings, ({NAMES["shorter"]: 50},)
    yield "settings: one more shorter length is allowed than there is", of_settings, ({NAMES["shorter"] + SET_WORDS: 50},)
    yield "the object for another machine has the same functions: one instruction differs", of_other_machine, (judge, judge, one_differs)
    yield from ((f"scheme: {name}", fault, ()) for name, fault in (scheme.FAULTS | scheme6.FAULTS).items())
    yield from ((f"own flows: {fault}", answers.with_fault, (fault,)) for fault in answers.FAULTS)
    yield from ((f"moves: {fault}", moves.prove, ("4x16", fault)) for fault in [*moves.AT_ONCE, *moves.INTO_STASH, *moves.IN_BATCH])
    yield from with_ports.faults(judge)
    for prefix, path, those in (("", judge, [*mutants.MUTANTS, *mutants_of_flows.MUTANTS, *mutants_of_samples.MUTANTS]),
                                (TC.prefix, judge.with_name(TC.judge), mutants_of_tc.MUTANTS)):
        for mutant in those:
            program = the_function(path, mutant.function) if mutant.function else the_judge(path)
            program = the_root(path) if mutant.of == mutants.ROOT else program
            program = the_egress(path) if mutant.of == mutants_of_flows.EGRESS else program
            program = the_egress(path, egress.BARE) if mutant.of == mutants_of_flows.BARE_EGRESS else program
            program = program.of_frames(**mutants_of_tc.FRAMES.get(mutant.of, {}))
            yield f"{prefix}{mutant.of}: {mutant.name}", OF[mutant.of], (mutant.made_of(program),)


def attempt(name, prove, arguments, judge):
    """Where one fails, what shows it is looked for, if it is told by which judge."""
    begun = time.time()
    outcome, why, found, shown = "proved", "", None, None
    try:
        found, refuted = prove(*arguments) or (None, None)
        if refuted:
            raise refuted
    except Refuted as refuted:
        outcome, why = "refuted" if refuted.model is not None else "unknown", str(refuted)
        if judge and arguments:
            shown = replay.of(judge, prove, arguments[0], refuted, found, FAULTS.get(name))
    except Unproved as unproved:
        outcome, why = "unknown", str(unproved)
    return name, outcome, why, found, shown, time.time() - begun


# By the names under which they are told.
FAULTS = {f"{mutant.of}: {mutant.name}": mutant for mutant in mutants.MUTANTS}


def all_of(todo, expected, kept, judge, counterexamples, record=Record()):
    """How many did not come out as expected."""
    wrong = 0
    notice = kept.notice([name for name, _, _ in todo])
    if notice:
        print(notice)
    for name, _, _ in todo:
        if kept.has(name):
            print(f"ok     {expected:8}     kept  {name}")
    todo = [one for one in todo if not kept.has(one[0])]
    for name, _, _ in todo:
        if record.has(name):
            print(f"ok     {expected:8} recorded  {name}")
    todo = [one for one in todo if not record.has(one[0])]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as processes:
        judge = judge if counterexamples else None
        for asked in as_completed([processes.submit(attempt, *one, judge) for one in todo]):
            if asked.exception():
                # Not after all the others.
                processes.shutdown(wait=False, cancel_futures=True)
            name, outcome, why, found, shown, seconds = asked.result()
            is_right = outcome == expected
            if is_right:
                kept.add(name)
                record.note(name, seconds)
            wrong += not is_right
            verdict, because = "ok" if is_right else "FAILED", f" ({why})" if why else ""
            print(f"{verdict:6} {outcome:8} {seconds:6.1f} s  {name}{because}", flush=True)
            if found and counterexamples:
                print(f"       a frame that shows it: {counterexample.keep(counterexamples, name, found)}")
            if isinstance(shown, dict):
                print(f"       replayed: {replay.keep(counterexamples.with_name('replays.jsonl'), name, FAULTS.get(name), shown)}")
            elif shown:
                print(f"       not replayed: {shown}")
    return wrong


def main():
    options = argparse.ArgumentParser()
    options.add_argument("judge", type=Path)
    options.add_argument("--other", type=Path, action="append", default=[])
    options.add_argument("--mutants", action="store_true")
    options.add_argument("--kept", type=Path)
    options.add_argument("--recorded", type=Path)
    options.add_argument("--record", type=Path)
    options.add_argument("--key")
    options.add_argument("--counterexamples", type=Path)
    options.add_argument("--counterexamples-of-mutants", type=Path)
    options = options.parse_args()
    kept = Kept(options.kept)
    record = Record.read(options.recorded, options.key) if options.recorded else Record()
    wrong = all_of(list(theorems(options.judge, options.other)), "proved", kept, options.judge, options.counterexamples, record)
    if options.record and not wrong:
        record.write(options.record, options.key)
    if options.mutants:
        wrong += all_of(list(long_theorems(options.judge)), "proved", kept, options.judge, options.counterexamples)
        wrong += all_of(list(faults(options.judge)), "refuted", kept, options.judge, options.counterexamples_of_mutants)
    for what in NOT_PROVED:
        print(f"not proved: {what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
