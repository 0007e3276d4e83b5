#!/usr/bin/env python3
"""Measures how long filterd takes to start after a kill, under load: to its first log line, and until it is ready.

    sudo tests/measure/starts.py target/release/filterd --starts 1000 --busy 6

Each start is killed, and the next one begins at once. A start without a log line after half a second is looked at: what the
kernel does for each of its processes at that moment is printed. Everything happens in a network namespace of its own."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# A start that has said nothing for so long is looked at, and again after as long.
SILENT = 0.5
PATIENCE = 120


def run(*words):
    subprocess.run(words, check=True)


def processes_of(pid):
    """It, and what it has started."""
    found = [pid]
    for one in found:
        try:
            children = Path(f"/proc/{one}/task/{one}/children").read_text().split()
        except OSError:
            continue
        found += [int(child) for child in children]
    return found


def look_at(pid):
    for one in processes_of(pid):
        for task in Path(f"/proc/{one}/task").glob("*"):
            try:
                name = (task / "comm").read_text().strip()
                state = (task / "stat").read_text().rsplit(")", 1)[1].split()[0]
                syscall = (task / "syscall").read_text().split()[0]
                stack = " ".join(line.split("] ")[-1].split("+")[0] for line in (task / "stack").read_text().splitlines())
                print(f"    {name} ({task.name}): {state}, system call {syscall}: {stack}", flush=True)
            except OSError:
                continue


class Start:
    def __init__(self, command, log):
        self.begun, self.first, self.ready = time.monotonic(), None, None
        with open(log, "wb") as file:
            self.process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.log = log

    def wait(self):
        looked = SILENT
        while self.ready is None:
            text = Path(self.log).read_bytes()
            taken = time.monotonic() - self.begun
            if self.first is None and text:
                self.first = taken
            if b"ready: " in text:
                self.ready = taken
            elif self.process.poll() is not None or taken > PATIENCE:
                sys.exit(f"it did not start within {taken:.1f} s:\n{text.decode()}")
            elif self.first is None and taken > looked:
                print(f"  {taken:.2f} s without a word:", flush=True)
                look_at(self.process.pid)
                looked *= 2
            else:
                time.sleep(0.001)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def load(stop):
    """Computes, and writes to disk now and then, as builds do."""
    with tempfile.NamedTemporaryFile() as file:
        while not stop.is_set():
            sum(range(2_000_000))
            file.write(os.urandom(1 << 20))
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)


def told(what, times):
    times = sorted(times)
    at = lambda part: times[min(len(times) - 1, int(len(times) * part))]
    print(f"{what}: median {at(.5):.3f} s, 90 % {at(.9):.3f} s, 99 % {at(.99):.3f} s, longest {times[-1]:.3f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("filterd")
    parser.add_argument("--starts", type=int, default=1000)
    parser.add_argument("--busy", type=int, default=6, help="processes that compute and write meanwhile")
    asked = parser.parse_args()
    filterd, name = str(Path(asked.filterd).resolve()), f"starts-{os.getpid()}"
    pins = f"/sys/fs/bpf/{name}"
    run("ip", "netns", "add", name)
    busy = []
    try:
        with tempfile.TemporaryDirectory(prefix="filterd-starts-") as home:
            run("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", "peer")
            run("ip", "-n", name, "link", "set", "eth0", "up")
            Path(home, "list.txt").write_text("".join(f"10.{n >> 8}.{n & 255}.7\n" for n in range(20_000)))
            Path(home, "f.yaml").write_text(f"interfaces: [eth0]\nlists: [{{name: l, path: {home}/list.txt, include_special: true}}]\n")
            places = ["--socket", f"{home}/sock", "--state-dir", f"{home}/state", "--pin-dir", pins]
            command = ["nsenter", f"--net=/run/netns/{name}", filterd, *places, "--config", f"{home}/f.yaml", "--user", "root"]
            for _ in range(asked.busy):
                pid = os.fork()
                if pid == 0:
                    load(threading.Event())
                busy.append(pid)
            firsts, readies = [], []
            for number in range(asked.starts):
                start = Start(command, f"{home}/log")
                start.wait()
                if number % 10 == 0:
                    words = ["--socket", f"{home}/sock", "--timeout", "60s", "add", f"192.0.2.{number // 10 % 256}"]
                    subprocess.run([filterd, *words], check=False, stdout=subprocess.DEVNULL)
                start.kill()
                firsts.append(start.first or start.ready)
                readies.append(start.ready)
                if number % 100 == 99:
                    print(f"{number + 1} starts, load {os.getloadavg()[0]:.1f}", flush=True)
                    told("  first line", firsts)
            told("first line", firsts)
            told("ready", readies)
            subprocess.run([filterd, "detach", "--socket", f"{home}/sock", "--pin-dir", pins], check=False)
    finally:
        for pid in busy:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        run("ip", "netns", "del", name)


if __name__ == "__main__":
    main()
