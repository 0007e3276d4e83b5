"""What refutes a program, as the kernel can be given it: a frame, settings and words of maps, and what becomes of the packet by the
specification. `cargo xtask test program` replays it.

A theorem's own counterexample has products that may be none. So the solver is asked once more about whole packets, where keys, settings
and source are numbers, and chooses the words of the tables. That the program then does what is wrong is seen before it is written.
"""

import json
from dataclasses import dataclass, replace

import z3

import bytecode
import outcome
import scenes
from machine import Unproved
from settings import NAMES, SET_WORDS
from still import judged
from words import calculated

SECONDS = 20
JUDGE = "filterd_judge"
# In which scenes what a theorem is about is seen.
KINDS = {"of_source": "frame", "of_counting": "reasons", "of_labels": "labels", "of_judgement": "four", "of_lookup": "four",
         "of_judgement_of_lists": "four", "of_judgement_with_more": "allowed", "of_judgement6": "six", "of_follow4": "allowed",
         "of_follow6": "followed6", "of_allowed": "allowed", "of_counting6": "labels6", "of_asking6": "labels6"}


@dataclass
class Program:
    """The judge, and all that it calls; one instruction may be another."""

    functions: dict

    @property
    def judge(self):
        return self.functions[JUDGE]

    def with_function(self, program):
        return Program({**self.functions, program.name: program})


def read(path):
    return Program({name: function for (_, name), function in bytecode.functions(path).items()})


def find(program, kind, hints):
    """Of the first scene in which it ends otherwise than the specification says: the scene with the words that the solver chose, or
    why there is none."""
    with calculated():
        for scene in scenes.of(kind, hints):
            found = shown(program, scene)
            if found:
                return found
    return None


def shown(program, scene):
    world, ends = judged(program.judge, program.functions, scene)
    reason = outcome.reason(world)
    solver = z3.SolverFor("QF_UFBV")
    solver.set("timeout", SECONDS * 1000)
    solver.add(*outcome.assumed(world))
    solver.add(z3.Or([z3.And(end.when, z3.Not(outcome.is_right(world, end, reason))) for end in ends]))
    if solver.check() != z3.sat:
        return None
    return replace(scene, tables=world.words_of(solver.model()), free=())


def run(program, scene):
    """What truly becomes of a packet of which all is known, and whether that is right."""
    world, ends = judged(program.judge, program.functions, scene)
    ends = [end for end in ends if z3.is_true(z3.simplify(end.when))]
    if len(ends) != 1:
        raise Unproved(f"{len(ends)} ends where all is known")
    reason = z3.simplify(outcome.reason(world))
    return outcome.observed(ends[0]), z3.is_true(z3.simplify(outcome.is_right(world, ends[0], reason))), outcome.wanted(world, reason)


def written(real, mutant, scene):
    """As a line of the file. The words of maps are by their number, as those of settings are."""
    with calculated():
        seen, is_right, wanted = run(mutant or real, scene)
        if is_right:
            raise Unproved("what the solver has found is none")
        if mutant:
            wanted, is_right, _ = run(real, scene)
            if not is_right:
                raise Unproved("the judge itself is wrong about it")
    number = lambda words: {str(at): word for at, word in sorted(words.items()) if word}
    return {
        "frame": scene.frame.hex(), "linear": len(scene.frame) if scene.linear is None else scene.linear,
        "processor": scene.processor, "settings": number(scene.settings), "maps": maps(scene),
        "flows": [list(key) for key in scene.flows], "expected": told(wanted), "seen": told(seen),
    }


def told(seen):
    return {**seen, "counted": {name: {str(at): more for at, more in words.items()} for name, words in seen["counted"].items()}}


def maps(scene):
    """How many words each has, a few more than are in use, and those that are not zero."""
    setting = lambda name, set_: scene.settings.get(NAMES[name] + set_ * SET_WORDS, 0)
    found = {}
    for set_, prefix in enumerate(("", "ALLOW_")):
        if setting("in_use", set_):
            found[prefix + "ADDRESSES"] = STASH + setting("buckets", set_)
        if setting("networks4", set_):
            found[prefix + "NETWORKS"] = BITS
        if setting("last_level_start", set_):
            found[prefix + "LEVELS"] = setting("last_level_start", set_) // 8 + PAGE
        if setting("has_table6", set_):
            found[prefix + "SIX"] = STASH + 4 * setting("buckets6", set_)
    if setting("overlap", 0):
        found["OVERLAP"] = 1
    if setting("lists", 0):
        rows = scene.settings[NAMES["last_processor"]] + 1
        found |= {"LISTS": 1024 * rows, "ADDRESS_LABELS": scene.settings.get(scenes.LABEL_WORDS["4"], 0),
                  "SIX_LABELS": scene.settings.get(scenes.LABEL_WORDS["6"], 0)}
        if setting("level_pages", 0):
            found["LEVEL_LABELS"] = found["LEVELS"] // 8 + 32 * setting("level_pages", 0)
    # What a solver chose for a place far behind the end nobody reads: a number that leads there is compared first.
    words = {name: {str(at // 8): word for at, word in sorted(words.items()) if word and at // 8 < found[name] + SPARE}
             for name, words in scene.tables.items() if name in found}
    return {name: {"words": count + SPARE, "not zero": words.get(name, {})} for name, count in found.items() if count}


# Words in front of the buckets; of /20s and /24s; of a page of the levels; and such as a fault may read beyond the end.
STASH, BITS, PAGE, SPARE = 8 + 512 * 8, (1 << 20) // 64 + (1 << 24) // 64, 1 << 10, 64


def of(judge, prove, program, refuted, frame, mutant):
    """The line for a theorem that is refuted of this function, or why there is none. `frame` is what the theorem itself shows."""
    if prove.__name__ not in KINDS:
        return "there are no packets to try for this theorem"
    if program.hook.is_late:
        return "no packets are tried at TC"
    real = read(judge)
    hints = scenes.hints(refuted) | ({"frame": (bytes.fromhex(frame["frame"]), frame["linear"])} if frame else {})
    broken = real.with_function(program)
    try:
        scene = find(broken, KINDS[prove.__name__], hints)
        return written(real, broken if mutant else None, scene) if scene else "no packet that was tried shows it"
    except Unproved as unproved:
        return f"no packet that was tried shows it: {unproved}"


def keep(place, name, mutant, found):
    """In a line of its own, in the place of an older one of the same name."""
    lines = place.read_text().splitlines() if place.exists() else []
    others = [line for line in lines if json.loads(line)["of"] != name]
    broken = {part: getattr(mutant, part) for part in ("behind", "parts", "number", "changes")} if mutant else None
    line = {"of": name, **({"mutant": {"function": mutant.function or JUDGE, **broken}} if mutant else {}), **found}
    place.write_text("".join(one + "\n" for one in sorted([*others, json.dumps(line)])))
    return place
