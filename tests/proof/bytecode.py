"""The instructions of an object file (RFC 9669), with the names that its loader would replace."""

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from elftools.elf.elffile import ELFFile

from hook import XDP, Hook, of_sections

BYTES = 8
CALL, EXIT, JUMP, LONG_JUMP, CONSTANT = 0x85, 0x95, 0x05, 0x06, 0x18
LOAD, STORE_IMMEDIATE, STORE, ALU32, JUMPS, JUMPS32, ALU64 = 1, 2, 3, 4, 5, 6, 7
SIZES = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}

# Of a clause's functions how many arguments each takes.
OF_CLAUSE = {"4": 1, "6": 2, "shorter": 2, "longer": 3, "count4": 3, "count6": 4, "of_six": 3}
# How many arguments the helpers of the kernel and the judge's own functions take.
ARGUMENTS = {1: 2, 2: 4, 5: 0, 7: 0, 8: 0, 26: 4, 118: 0, 125: 0, 131: 3, 132: 2, 160: 0, 188: 1, 189: 4, 12: 3,
             "filterd_sample": 2, "filterd_follow4": 3, "filterd_follow6": 4, "filterd_count_address4": 2, "filterd_count6": 3, "filterd_label6": 3,
             "filterd_replies": 1, "filterd_allows4": 1, "filterd_allows6": 2, "filterd_header": 1, "filterd_port": 1, "filterd_wants": 2,
             "filterd_headers": 1, "filterd_by_port": 1, "filterd_by_port4": 2, "filterd_by_port6": 3, "filterd_count_clause4": 3, "filterd_count_clause6": 4,
             **{f"filterd_c{slot}_{kind}": count for slot in range(8) for kind, count in OF_CLAUSE.items()}}


@dataclass(frozen=True)
class Instruction:
    code: int
    target: int
    source: int
    offset: int
    immediate: int
    symbol: str | None = None

    @property
    def kind(self):
        return self.code & 7

    @property
    def size(self):
        return SIZES[self.code & 0x18]

    @property
    def takes_register(self):
        return self.code & 8 != 0

    @property
    def operation(self):
        return self.code & 0xF0


@dataclass(frozen=True)
class Program:
    """One function: its instructions, the first of which has the number 0."""

    name: str
    instructions: tuple
    # Where its object runs.
    hook: Hook = field(default=XDP, compare=False)

    def following(self, at):
        """Where control may go from here."""
        this = self.instructions[at]
        if this.code == EXIT:
            return []
        if this.code == JUMP:
            return [at + 1 + this.offset]
        if this.code == LONG_JUMP:
            return [at + 1 + this.immediate]
        if this.code == CONSTANT:
            return [at + 2]
        if this.kind in (JUMPS, JUMPS32) and this.code != CALL:
            return [at + 1, at + 1 + this.offset]
        return [at + 1]

    def with_instruction(self, at, **changes):
        """The same with this one changed: a mutant."""
        changed = list(self.instructions)
        changed[at] = replace(changed[at], **changes)
        return replace(self, instructions=tuple(changed))

    def of_frames(self, **kind):
        """The same with one kind of frames: without an Ethernet header or with one (`is_bare`), sent or received (`is_sent`)."""
        return replace(self, hook=self.hook.of(**kind))


def read(path, section, name):
    """The function `name`, which lies in this section of the object."""
    return functions(path)[section, name]


@cache
def functions(path):
    """Each function of an object, by its section and name."""
    with Path(path).open("rb") as file:
        elf = ELFFile(file)
        table = list(elf.get_section_by_name(".symtab").iter_symbols())
        found = [symbol for symbol in table if symbol["st_info"]["type"] == "STT_FUNC"]
        sections = {index: instructions(elf, table, elf.get_section(index)) for index in {one["st_shndx"] for one in found}}
        hook, bounds = of_sections({name for name, _ in sections.values()}), lambda one: (one["st_value"], one["st_value"] + one["st_size"])
        return {(section, one.name): Program(one.name, code[slice(*(at // BYTES for at in bounds(one)))], hook)
                for one in found for section, code in [sections[one["st_shndx"]]]}


def hook_of(path):
    """Where an object runs."""
    return next(iter(functions(path).values())).hook


def instructions(elf, table, section):
    """All of a section's, and its name."""
    code, relocations = section.data(), elf.get_section_by_name(".rel" + section.name)
    named = {r["r_offset"]: table[r["r_info_sym"]].name for r in relocations.iter_relocations()} if relocations else {}
    return section.name, tuple(decode(code[at : at + BYTES], named.get(at)) for at in range(0, len(code), BYTES))


def decode(code, symbol):
    number = lambda part: int.from_bytes(part, "little", signed=True)
    return Instruction(code[0], code[1] & 15, code[1] >> 4, number(code[2:4]), number(code[4:8]), symbol)
