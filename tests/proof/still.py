"""One packet, and tables that stand still while it is judged: the frame, the settings and some words are known, the others are what
the solver likes. So what it finds is what the kernel can be given, with numbers that truly are multiplied.
"""

from dataclasses import dataclass, field

import z3

from machine import Machine, Pointer, Unproved, World, known
from settings import LAYOUTS, LENGTHS6, LENGTH_WORDS, NAMES, SET_WORDS, Settings
from words import WORD, is_known, wide, word

LOOKS_UP, CLOCK = 1, 160
# The interface that the kernel lets a packet of a test come in by: the loopback's.
INTERFACE = 1
# So that what is remembered of a flow is never too old, whatever the clock says.
NOW, JUST_NOW = 1 << 40, 2**64 - 1
FLOW = "FLOWS, a value"


@dataclass
class Scene:
    """What is known: bytes of the frame, words of settings and tables by number, the keys of own flows. Of the tables in `free`
    the other words may be anything; of all others they are zero."""

    frame: bytes
    settings: dict
    tables: dict = field(default_factory=dict)
    free: tuple = ()
    flows: tuple = ()
    # Is the frame part of one of these, as whoever made them knows?
    is_reply: bool = False
    processor: int = 0
    # How many of the frame's bytes can be reached at once, if not all.
    linear: int | None = None


class Known(Settings):
    """Settings of which every word is a number."""

    def __init__(self, words, set_=""):
        self.words = words
        # Where no table is looked into, its lanes do not matter.
        of_set = lambda name: words.get(NAMES[name] + (SET_WORDS if set_ else 0), 0)
        layouts = [layout for layout, (*_, lanes, bits) in LAYOUTS.items()
                   if of_set("lane_ones") == sum(1 << lane * bits for lane in range(lanes))]
        super().__init__([*layouts, "4x16"][0], set_)

    def word(self, number):
        return word(self.words.get(number, 0))

    def of_length(self, number, field_):
        at = known(wide(number)) if z3.is_expr(number) else number
        return self.word(self.of_set(LENGTHS6) + LENGTH_WORDS * at + field_)

    def at_unknown(self, at):
        raise Unproved("a setting whose place is not known")


class Still(World):
    """Where the scene is."""

    def __init__(self, scene):
        super().__init__(Known(scene.settings))
        self.scene, self.facts, self.asked = scene, [], []
        self.allow = Known(scene.settings, "ALLOW_")
        known_bytes = [*scene.frame, *bytes(self.MOST)][: self.MOST]
        self.frame = [word(byte, 8) for byte in known_bytes]
        self.length = word(len(scene.frame), 32)
        self.linear = word(len(scene.frame) if scene.linear is None else scene.linear, 32)
        self.interface, self.processor = word(INTERFACE, 32), word(scene.processor, 32)

    def table(self, name):
        return lambda at: self.word_at(name, at)

    def loaded(self, name, number):
        return self.table(name)

    def number_of_slot(self):
        return lambda at: word(0, 8)

    def word_at(self, name, at):
        """By its place in bytes."""
        at, words = z3.simplify(at), self.scene.tables.get(name, {})
        if is_known(at) and at.as_long() in words:
            return word(words[at.as_long()])
        others = word(0)
        if name in self.scene.free:
            others = z3.Function(name, WORD, WORD)(at)
            self.asked.append((name, at, others))
        if is_known(at):
            return others
        for place, number in words.items():
            others = z3.If(at == place, word(number), others)
        return others

    def words_of(self, model):
        """The words that were asked for, as the solver has chosen them, beside those that are known."""
        tables = {name: dict(words) for name, words in self.scene.tables.items()}
        for name, at, value in self.asked:
            number = lambda part: model.eval(part, model_completion=True).as_long()
            tables.setdefault(name, {}).setdefault(number(at), number(value))
        return {name: {at: number for at, number in words.items() if number} for name, words in tables.items()}


class Follower(Machine):
    """Goes through the functions that are called, too."""

    def __init__(self, program, world, functions):
        super().__init__(program, world)
        self.functions, self.inner = functions, {}

    def call(self, state, this):
        if not this.symbol:
            return super().call(state, this)
        if this.symbol not in self.inner:
            self.inner[this.symbol] = Follower(self.functions[this.symbol], self.world, self.functions)
        inner = self.inner[this.symbol]
        begin = inner.beginning()
        begin.registers.update({number: state.registers[number] for number in range(1, 6) if number in state.registers})
        begin.when, begin.writes, begin.calls = state.when, state.writes, state.calls
        ways = []
        for end in inner.run(begin):
            way = state.copy(at=state.at + 1, when=end.when, writes=end.writes, calls=end.calls)
            for register in range(1, 6):
                way.registers.pop(register, None)
            way.registers[0] = end.registers[0]
            ways.append(way)
        return self.joined(ways)

    def call_helper(self, state, number):
        if number == CLOCK:
            return word(NOW)
        if number != LOOKS_UP:
            return super().call_helper(state, number)
        key = self.of_stack(state, known(state.registers[2].offset), 8)
        parts = [key, *(self.of_stack(state, known(state.registers[2].offset) + at, 8) for at in (8, 16))]
        is_there = tuple(known(z3.simplify(part)) & 2**64 - 1 for part in parts) in self.world.scene.flows
        return Pointer(FLOW, word(0)) if is_there else word(0)

    def of_table(self, state, name, at, size):
        value = word(JUST_NOW) if name == FLOW else super().of_table(state, name, at, size)
        # Nothing is claimed of the order.
        state.reads = ()
        return value

    def branch(self, state, this):
        """What a map has is told from null."""
        first = state.registers.get(this.target)
        if isinstance(first, Pointer) and first.region == FLOW and not this.takes_register:
            state.at += 1 + (this.offset if this.operation == 0x50 else 0)
            return [state]
        return super().branch(state, this)


def judged(program, functions, scene):
    """All ends of the program, and where it ran. Functions are told by their names."""
    world = Still(scene)
    machine = Follower(program, world, functions)
    return world, machine.run(machine.beginning())
