"""Shows how a run goes: a live bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from pipeline.tally import Tally

PLAIN_SECONDS = 5.0
"""Time between two plain lines."""


class RunProgress:
    """Progress of one run; see `pipeline.run.Progress`.

    Args:
        stream: where to show it; a terminal gets a live bar.
    """

    def __init__(self, stream: TextIO | None = None):
        self._stream = stream or sys.stderr
        self._console = Console(file=getattr(self._stream, "beneath", self._stream))  # it moves the cursor
        self._live: Live | None = None
        self._said = 0.0
        self._name, self._title = "", ""
        self._shards = self._done = self._before = 0
        self._tally, self._looking = Tally(), 0
        self._started = 0.0

    def begin(self, name: str, number: int, passes: int, shards: int, done: int) -> None:
        """Start a pass; `done` of its `shards` stand from before."""
        self._name, self._title = name, f"[{number}/{passes}] {name}"
        self._shards, self._done, self._before = shards, done, done
        self._tally, self._looking = Tally(), 0
        self._started = self._said = time.monotonic()
        if self._console.is_terminal:
            self._live = Live(Text(self._line()), console=self._console, refresh_per_second=8, transient=True)
            self._live.start()

    def shard(self, tally: Tally | None) -> None:
        """Count a finished shard."""
        self._done += 1
        if tally is not None:
            self._tally.read += tally.read
            self._tally.kept += tally.kept
            self._tally.bytes_in += tally.bytes_in
        self._show()

    def look(self, documents: int) -> None:
        """Take note of how many documents of unfinished shards are behind us."""
        self._looking = documents
        self._show()

    def end(self, name: str, seconds: float) -> None:
        """Close the pass with one line that stays."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        kept = f", kept {_share(self._tally.kept, self._tally.read)}" if self._tally.read else ""
        counts = f"{self._tally.read:,} documents{kept}, " if self._tally.read else ""
        resumed = f" ({self._before} of {self._shards} shards stood already)" if self._before else ""
        self._print(f"{self._title}: {counts}{seconds:.1f} s{resumed}")

    def note(self, text: str) -> None:
        """Say something that stays on the screen."""
        self._print(f"note: {text}")

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)

    def _show(self) -> None:
        if self._live is not None:
            self._live.update(Text(self._line()))
        elif time.monotonic() - self._said >= PLAIN_SECONDS:
            self._said = time.monotonic()
            self._print(self._line())

    def _line(self) -> str:
        elapsed = max(1e-6, time.monotonic() - self._started)
        fresh = self._done - self._before
        parts = [self._title]
        if self._shards:
            share = self._done / self._shards
            if self._live is not None or self._console.is_terminal:
                full = int(share * 24)
                parts.append("█" * full + "·" * (24 - full))
            parts.append(f"{self._done}/{self._shards} shards")
        parts.append(f"{self._tally.read + self._looking:,} documents")
        parts.append(f"{self._tally.bytes_in / 1e6 / elapsed:.1f} MB/s")
        if self._tally.read:
            parts.append(f"kept {_share(self._tally.kept, self._tally.read)}")
        if fresh > 0:
            parts.append(f"{_duration((self._shards - self._done) * elapsed / fresh)} left")
        return "  ".join(parts)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
