"""Asks the solver whether something follows, and keeps how it went."""

import time
from dataclasses import dataclass

import z3

SECONDS = 300


@dataclass
class Refuted(Exception):
    """What was to be proved is wrong, or nobody knows: then there is no model."""

    what: str
    model: z3.ModelRef | None
    # What the model is one of.
    wrong: tuple = ()

    def __str__(self):
        return f"{self.what}: {'refuted' if self.model is not None else 'not decided in time'}"


def follows(what, goal, *facts):
    """Whatever `facts` allow, `goal` holds."""
    solver = z3.SolverFor("QF_UFBV")
    solver.set("timeout", SECONDS * 1000)
    solver.add(*facts, z3.Not(goal))
    answer = solver.check()
    if answer != z3.unsat:
        raise Refuted(what, solver.model() if answer == z3.sat else None, (*facts, z3.Not(goal)))


def all_follow(claims, facts, simpler=None, cases=()):
    """All of it is asked at once, and in parts only if it is wrong. Where somebody knows what is simpler, and all of it follows from that,
    nothing else is asked. Of cases each is asked by itself, in which none before holds; and that in which none does."""
    goal = z3.And([goal for _, goal in claims])
    apart = [z3.And(z3.Not(z3.Or(cases[:number])), *cases[number : number + 1]) for number in range(len(cases) + 1)]
    if simpler and not any(can_be(simpler(z3.And(*facts, case, z3.Not(goal)))) for case in apart):
        return
    if not holds(goal, *facts):
        for what, goal in claims:
            follows(what, goal, *facts)
        raise Refuted("all of it at once", None)


def holds(goal, *facts):
    """The same as yes or no. Where nobody knows, no."""
    return not can_be(*facts, z3.Not(goal))


def can_be(*facts):
    """Is there anything at all that `facts` allow? Where nobody knows, there may be."""
    return example(*facts)[0]


def example(*facts):
    """The same, and one of those that they allow, if anybody knows one."""
    solver = z3.SolverFor("QF_UFBV")
    solver.set("timeout", SECONDS * 1000)
    solver.add(*facts)
    answer = solver.check()
    return answer != z3.unsat, solver.model() if answer == z3.sat else None


def obligations(machine, *facts):
    """What the machine took for granted at each access."""
    for what in sorted({what for what, _, _ in machine.obligations}):
        wrong = [z3.And(when, z3.Not(goal)) for name, when, goal in machine.obligations if name == what]
        follows(what, z3.Not(z3.Or(wrong)), *facts)
