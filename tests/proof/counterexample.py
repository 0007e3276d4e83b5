"""A frame of which the judge does not find the source, written down so that `cargo xtask test program` replays it in the kernel.

It is replayed with its true source listed, so that what is missed is seen. What shows other theorems wrong is for replay.py.
"""

import ipaddress
import json

import z3

# What the kernel takes for a frame, and what one can read.
SHORTEST, LONGEST = 14, 128


def of(refuted, world):
    """In one piece if there is such a frame."""
    small = [z3.UGE(world.linear, SHORTEST), z3.ULE(world.length, LONGEST)]
    for piece in ([world.linear == world.length], []):
        solver = z3.SolverFor("QF_UFBV")
        solver.add(*refuted.wrong, *small, *piece)
        if refuted.wrong and solver.check() == z3.sat:
            return written(solver.model(), world)
    return None


def written(model, world):
    number = lambda value: model.eval(value, model_completion=True).as_long()
    is_so = lambda value: z3.is_true(model.eval(value, model_completion=True))
    source = world.source
    block, expected = [], None
    if is_so(source.is_ipv4):
        block, expected = [str(ipaddress.IPv4Address(number(source.address)))], "ipv4_address"
    elif is_so(source.is_ipv6):
        block, expected = [str(ipaddress.IPv6Address(number(source.high) << 64 | number(source.low)))], "ipv6_other"
    else:
        kinds = {"not_ip": source.not_ip, "malformed": source.malformed, "too_many_tags": source.too_many_tags}
        expected = next(name for name, holds in kinds.items() if is_so(holds))
    frame = bytes(number(world.frame[at]) for at in range(number(world.length)))
    return {"frame": frame.hex(), "linear": number(world.linear), "block": block, "expected": expected}


def keep(place, name, found):
    """In a line of its own, in the place of an older one of the same name."""
    lines = place.read_text().splitlines() if place.exists() else []
    others = [line for line in lines if json.loads(line)["of"] != name]
    place.write_text("".join(line + "\n" for line in sorted([*others, json.dumps({"of": name, **found})])))
    return place
