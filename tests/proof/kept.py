"""Theorems that came out as expected before. Everything that decides them is in the directory's name (xtask/src/prove.rs), or
in the key of the record that comes with the source."""

import hashlib
import time


class Kept:
    def __init__(self, directory):
        self.directory = directory

    def has(self, name):
        return self.directory is not None and self.place(name).exists()

    def add(self, name):
        if self.directory is not None:
            self.directory.mkdir(parents=True, exist_ok=True)
            self.place(name).touch()

    def place(self, name):
        return self.directory / hashlib.sha256(name.encode()).hexdigest()

    def notice(self, names):
        """How many of these are kept, and since when; None if none is."""
        dates = [self.place(name).stat().st_mtime for name in names if self.has(name)]
        if not dates:
            return None
        oldest = time.strftime("%Y-%m-%d %H:%M", time.localtime(min(dates)))
        key = self.directory.name[:8]
        return f"proof: {len(dates)} of {len(names)} kept, the oldest from {oldest} (same inputs: key {key}…); --anew proves all"


class Record:
    """The theorems that take long: a file of their names, after the key of the objects and the proof."""

    LONG = 20

    def __init__(self, names=()):
        self.names = set(names)

    @classmethod
    def read(cls, file, key):
        """Empty, with a word, if it is of other objects or of another proof."""
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")] if file.exists() else []
        if not lines or lines[0] != f"key {key}":
            print(f"proof: {file.name} is of other objects or of another proof: all is proved; `cargo xtask prove --record` writes it")
            return cls()
        return cls(lines[1:])

    def has(self, name):
        return name in self.names

    def note(self, name, seconds):
        if seconds > self.LONG:
            self.names.add(name)

    def write(self, file, key):
        about = f"# Theorems that take longer than {self.LONG} s. `cargo xtask prove --record` proved them, and wrote this."
        file.write_text("\n".join([about, f"key {key}", *sorted(self.names)]) + "\n")
