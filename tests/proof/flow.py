"""What can be told of a program without running it: in which order its parts lie, and which registers are still needed."""

from bytecode import ALU32, ALU64, ARGUMENTS, CALL, CONSTANT, EXIT, JUMP, JUMPS, JUMPS32, LOAD, LONG_JUMP, STORE, STORE_IMMEDIATE


def order(program):
    """A number for each instruction: smaller before larger on every way that does not come back (reverse postorder)."""
    done, way, seen = [], [(0, iter(program.following(0)))], {0}
    while way:
        at, rest = way[-1]
        step = next((to for to in rest if to not in seen), None)
        if step is None:
            done.append(at)
            way.pop()
        else:
            seen.add(step)
            way.append((step, iter(program.following(step))))
    return {at: number for number, at in enumerate(reversed(done))}


def joins(program):
    """Where several ways meet."""
    ways = [to for at in order(program) for to in program.following(at)]
    return {at for at in ways if ways.count(at) > 1}


def is_passed_by_all(program, at):
    """Does every way to an exit go by here?"""
    seen, waiting = {at}, [0]
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        if program.instructions[here].code == EXIT:
            return False
        seen.add(here)
        waiting += program.following(here)
    return True


def live(program):
    """For each instruction, the registers whose values may still be read when it begins."""
    needed = {at: frozenset() for at in order(program)}
    backward, changed = sorted(needed, key=order(program).get, reverse=True), True
    while changed:
        changed = False
        for at in backward:
            after = frozenset().union(*(needed[to] for to in program.following(at)))
            read, written = touched(program.instructions[at])
            now = after - written | read
            changed, needed[at] = changed or now != needed[at], now
    return needed


def touched(this):
    """Which registers an instruction reads, and which it writes."""
    some = lambda *registers: frozenset(registers)
    if this.code == EXIT:
        return some(0), some()
    if this.code == CALL:
        count = ARGUMENTS.get(this.symbol or this.immediate, 5)
        return some(*range(1, count + 1)), some(0, 1, 2, 3, 4, 5)
    if this.code in (JUMP, LONG_JUMP):
        return some(), some()
    if this.code == CONSTANT:
        return some(), some(this.target)
    second = some(this.source) if this.takes_register else some()
    if this.kind == LOAD:
        return some(this.source), some(this.target)
    if this.kind == STORE:
        return some(this.target, this.source), some()
    if this.kind == STORE_IMMEDIATE:
        return some(this.target), some()
    if this.kind in (JUMPS, JUMPS32):
        return some(this.target) | second, some()
    assert this.kind in (ALU32, ALU64)
    if this.operation == 0xB0:
        return second, some(this.target)
    if this.operation in (0xD0, 0x80):
        return some(this.target), some(this.target)
    return some(this.target) | second, some(this.target)
