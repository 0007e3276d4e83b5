"""Theorems that came out as expected before. Everything that decides them is in the directory's name (xtask/src/prove.rs)."""

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
