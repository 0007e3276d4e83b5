"""Where a judge runs: what the kernel tells it of a frame, and what its answers mean. All else is the same at each hook.

A frame without an Ethernet header is taken for one that has any: the kernel tells the type that would stand in it, and offsets count from
behind it. So what the specification says of frames is said of these, too.
"""

from dataclasses import dataclass, replace

# Bytes of an Ethernet header.
ETHERNET = 14
XDP_LOAD_BYTES, SKB_LOAD_BYTES = 189, 26
# Fields that mean something else where frames have no Ethernet header.
OF_FRAME = ("data", "data_end", "protocol")


@dataclass(frozen=True)
class Hook:
    # What names of theorems begin with; the section of its programs; the objects with the judge and the root; the root's name.
    prefix: str
    section: str
    judge: str
    root_object: str
    root: str
    # What a program answers.
    drops: int
    passes: int
    # Fields of the context by their offset, and those of them that a program needs to find the source. Each has 32 bits.
    fields: tuple
    of_source: tuple
    # The helper that copies bytes of a frame.
    load_bytes: int
    # Does the kernel join frames before, and remove VLAN tags?
    is_late: bool
    # Has no frame an Ethernet header? None where it must not matter: then no program may ask.
    is_bare: bool | None = False
    # Are frames sent, and so judged by their destination? None as above.
    is_sent: bool | None = False

    @property
    def shift(self):
        """How far before a frame its Ethernet header would begin that it does not have."""
        return ETHERNET if self.is_bare else 0

    def of(self, **kind):
        """The same with one kind of frames: `is_bare`, `is_sent`, or both."""
        return replace(self, **kind)

    @property
    def any(self):
        """The same with whatever frames come there."""
        return next(hook for hook in HOOKS if hook.section == self.section)

    def kinds(self):
        """One for each kind of frames that may come."""
        choices = lambda known: (False, True) if known is None else (known,)
        return [self.of(is_bare=is_bare, is_sent=is_sent) for is_sent in choices(self.is_sent) for is_bare in choices(self.is_bare)]

    def field_at(self, offset):
        return dict(self.fields).get(offset)


XDP = Hook("", "xdp.frags", "judge", "root", "filterd_root", 1, 2, ((0, "data"), (4, "data_end"), (12, "interface")),
           ("data", "data_end"), XDP_LOAD_BYTES, is_late=False)
# struct __sk_buff; TC_ACT_SHOT, and TC_ACT_UNSPEC, which leaves it to the filters of others.
TC = Hook("TC, ", "classifier", "judge-tc", "root-tc", "filterd_tc_root", 2, -1,
          ((0, "length"), (16, "protocol"), (20, "has_tag"), (24, "tag"), (40, "interface"), (76, "data"), (80, "data_end"),
           (164, "joined")),
          OF_FRAME + ("has_tag", "tag"), SKB_LOAD_BYTES, is_late=True, is_bare=None, is_sent=None)
# What names of theorems about sent frames begin with.
SENT = TC.prefix + "sent, "
HOOKS = XDP, TC


def of_sections(names):
    """The hook of an object that has these sections."""
    return next((hook for hook in HOOKS if hook.section in names), XDP)
