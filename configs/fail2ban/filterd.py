"""fail2ban's bans in filterd: dropped in XDP, before anything else of the kernel sees them.

Lay this file into /etc/fail2ban/action.d, and say in jail.local:

    [sshd]
    action = filterd.py

The bans of a jail are entries of the live list f2b-JAIL, with their time and a note, and filterd keeps them on disk. Where
that is no name of a list (1 to 32 of a-z, 0-9, _ and -), the list is called something near to it, with a hash of the jail's
name behind: `filterd lists` shows it. A restart of fail2ban, or of filterd, unblocks nobody and blocks nobody anew: of what
fail2ban restores filterd is told only what it has not.
Stopping fail2ban leaves them to end by themselves; `fail2ban-client unban` takes them off, with --all those of every jail.
Nobody else's entries are touched.

What is asked while filterd does not answer is logged, kept, and asked again each second until it does.

For bans of a whole IPv6 /64 say so in filterd's configuration: lists: [{name: f2b-sshd, ipv6_prefix: 64}]
It is lifted with the last of its addresses.
"""

import hashlib
import json
import math
import re
import socket as sockets
import threading
import time

from fail2ban.server.actions import ActionBase

# Seconds: how long filterd may be silent, and how long to wait before it is asked again.
PATIENCE = 5
REST = 1


# The longest name of a list, and how much of it tells apart what else would be called the same.
LONGEST_NAME = 32
HASH = 8


def list_of(jail):
    """Where the bans of that jail go: filterd takes no other names of lists, and no two jails have the same."""
    name = "f2b-" + jail
    if re.fullmatch("[a-z0-9_-]{1,%d}" % LONGEST_NAME, name):
        return name
    near = re.sub("[^a-z0-9_-]", "-", name.lower())[: LONGEST_NAME - HASH - 1]
    return near + "-" + hashlib.sha256(jail.encode(errors="surrogateescape")).hexdigest()[:HASH]


class Refused(Exception):
    """filterd answers that it does not do it."""


class Filterd:
    """The control socket: one request, and each part of its answer.

    What was asked of one that hangs is not taken back by hanging up: it does that, too, once it goes on. So nothing else is
    asked before it has answered, or is gone: else a ban might come after the end of the same ban."""

    def __init__(self, path):
        self.path = path
        # The connection on which it owes an answer, and what has come of its next line.
        self._owing = None
        self._line = b""

    def does(self, method, **parameters):
        for _ in self.asks(method, **parameters):
            pass

    def asks(self, method, **parameters):
        self._settle()
        request = {"method": "io.filterd." + method, "parameters": parameters}
        self._owing = connection = sockets.socket(sockets.AF_UNIX)
        try:
            connection.settimeout(PATIENCE)
            connection.connect(self.path)
            connection.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            # What has no end yet is no request.
            self._hang_up()
            raise
        yield from self._answers()

    def _settle(self):
        """What it owes is waited for, whatever it is: who asked for it has been told that it did not come."""
        if self._owing:
            try:
                for _ in self._answers():
                    pass
            except (Refused, ConnectionError):
                pass

    def _answers(self):
        while True:
            answer = self._answer()
            if not answer.get("continues"):
                self._hang_up()
            if answer.get("error") == "io.filterd.Unavailable":
                raise ConnectionError(answer["parameters"]["message"])
            if "error" in answer:
                raise Refused(answer["parameters"]["message"])
            yield answer["parameters"]
            if not answer.get("continues"):
                return

    def _answer(self):
        try:
            while b"\n" not in self._line:
                some = self._owing.recv(1 << 16)
                if not some:
                    raise ConnectionError("filterd hung up")
                self._line += some
            line, _, self._line = self._line.partition(b"\n")
            return json.loads(line)
        except sockets.timeout:
            raise
        except (OSError, ValueError):
            self._hang_up()
            raise

    def _hang_up(self):
        self._owing.close()
        self._owing, self._line = None, b""


class FilterdAction(ActionBase):
    def __init__(self, jail, name, list=None, socket="/run/filterd/control.sock", **others):
        """`list` is where the bans go; what else a `banaction` is told (port, protocol, chain) says nothing here: who is
        banned is dropped."""
        super().__init__(jail, name)
        self._list = list or list_of(jail.name)
        self._filterd = Filterd(socket)
        # What filterd was not there to hear, in order: for each target the end of its ban (None: never), or False to lift it.
        self._unheard = {}
        # What filterd had when fail2ban began to restore.
        self._kept = None
        self._lock = threading.RLock()
        self._stopped = threading.Event()

    @property
    def _prolongable(self):
        return True

    def start(self):
        self._stopped.clear()

    def ban(self, aInfo):
        if aInfo["restored"] and str(aInfo["ip"]) in self._kept_by_filterd():
            return
        for_ever = aInfo["bantime"] < 0
        self._want(str(aInfo["ip"]), None if for_ever else aInfo["time"] + aInfo["bantime"])

    def prolong(self, aInfo):
        self.ban(aInfo)

    def unban(self, aInfo):
        self._want(str(aInfo["ip"]), False)

    def flush(self):
        """Before a stop, and for `unban --all`, but only one of them means it."""
        if self._jail.actions.active:
            with self._lock:
                self._unheard.clear()
                self._filterd.does("Flush", list=self._list)
        return True

    def stop(self):
        self._stopped.set()
        with self._lock:
            if self._unheard and not self._tell():
                self._logSys.error(
                    "filterd did not receive %d changes to list %s; it gets the bans when fail2ban starts again",
                    len(self._unheard),
                    self._list,
                )

    def _kept_by_filterd(self):
        with self._lock:
            if self._kept is None:
                try:
                    parts = self._filterd.asks("List", list=self._list)
                    self._kept = {entry["target"] for part in parts for entry in part["entries"]}
                except (OSError, ValueError, Refused):
                    # Whatever is restored is told once filterd answers.
                    self._kept = set()
            return self._kept

    def _want(self, target, until):
        with self._lock:
            waits = bool(self._unheard)
            self._unheard.pop(target, None)
            self._unheard[target] = until
            # Whoever waits is asked about in turn.
            if not waits and not self._tell():
                threading.Thread(target=self._ask_again, daemon=True).start()

    def _ask_again(self):
        while not self._stopped.wait(REST):
            with self._lock:
                if self._tell():
                    self._logSys.warning("filterd answers again and has all bans of list %s", self._list)
                    return

    def _tell(self):
        """Tells filterd what it did not hear. Is that all?"""
        while self._unheard:
            target, until = next(iter(self._unheard.items()))
            try:
                self._tell_one(target, until)
            except Refused as refused:
                self._logSys.error("filterd refused %s: %s", target, refused)
            except (OSError, ValueError) as error:
                self._logSys.error("cannot send %s to filterd (retrying every %d s): %s", target, REST, error)
                return False
            del self._unheard[target]
        return True

    def _tell_one(self, target, until):
        if until is False:
            return self._filterd.does("Remove", targets=[target], list=self._list)
        note = "banned by fail2ban, jail " + self._jail.name
        wanted = {"targets": [target], "list": self._list, "note": note}
        if until is not None:
            left = math.ceil(until - time.time())
            if left <= 0:
                return None
            wanted["ttl"] = left
        return self._filterd.does("Add", **wanted)


Action = FilterdAction
