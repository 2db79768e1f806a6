"""Shows how a run goes: a live bar on a terminal, a plain line every few seconds elsewhere, and a log with times."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Literal, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from pipeline.errors import said_of
from pipeline.run.publish import Finished
from pipeline.tally import Tally
from tokenmill.run_log import RunLog
from tokenmill.terminal import visible

PLAIN_SECONDS = 5.0
"""Time between two plain lines."""
LOG_SECONDS = 60.0
"""Time between two lines of a log while a pass goes on."""
Say = Literal["quiet", "usual", "verbose"]


class RunProgress:
    """Progress of one run; see `pipeline.run.Progress`.

    Args:
        stream: where to show it; a terminal gets a live bar.
        say: ``quiet`` shows notes only, ``verbose`` also each shard that is done.
        log: takes what is shown, with times.
    """

    def __init__(self, stream: TextIO | None = None, say: Say = "usual", log: RunLog | None = None):
        self._stream = stream or sys.stderr
        self._console = Console(file=getattr(self._stream, "beneath", self._stream))  # it moves the cursor
        self._live: Live | None = None
        self._say, self.log = say, log or RunLog(None)
        self._said = self._logged = 0.0
        self._name, self._title = "", ""
        self._shards = self._done = self._before = 0
        self._size = self._size_done = self._size_before = 0
        self._tally, self._looking = Tally(), 0
        self._places: Sequence[str] = ()
        self._started = 0.0
        self._heard = 0  # lines that were printed in this pass

    def begin(
        self, name: str, number: int, passes: int, shards: int, done: int, *, size: int = 0, size_done: int = 0
    ) -> None:
        """Start a pass; `done` of its `shards` stand from before."""
        self._name, self._title = name, f"[{number}/{passes}] {name}"
        self._shards, self._done, self._before = shards, done, done
        self._size, self._size_done, self._size_before = size, size_done, size_done
        self._tally, self._looking, self._places = Tally(), 0, ()
        self._started = self._said = self._logged = time.monotonic()
        if self._console.is_terminal and self._say != "quiet":
            self._live = Live(Text(self._line()), console=self._console, refresh_per_second=8, transient=True)
            self._live.start()
        what = f" of {shards:,} shards, {_bytes(size)}" if shards else ""
        if shards > done:
            self.log.work()
        self.log.write(f"{self._title}: begins{what}" + (f", {done:,} stand already" if done else ""))

    def shard(self, tally: Tally | None, size: int = 0) -> None:
        """Count a finished shard."""
        self._done += 1
        self._size_done += size
        if tally is not None:
            self._tally.add(tally)
            line = f"{self._title}: shard {self._done:,} of {self._shards:,}: {tally.read:,} documents, kept {tally.kept:,}"
            line += f", {tally.seconds:.1f} s"
            if self._say == "verbose":
                self._print(line)
                self.log.write(line)
        self._show()

    def look(self, documents: int, places: Sequence[str] = ()) -> None:
        """Take note of how many documents of unfinished shards are behind us, and where they lie."""
        self._looking, self._places = documents, places
        self._show()

    def end(self, name: str, seconds: float) -> None:
        """Close the pass with one line that stays."""
        self.close()
        kept = f", kept {_share(self._tally.kept, self._tally.read)}" if self._tally.read else ""
        counts = f"{self._tally.read:,} documents{kept}, " if self._tally.read else ""
        resumed = f" ({self._before} of {self._shards} shards stood already)" if self._before else ""
        line = f"{self._title}: {counts}{_duration(seconds, 1)}{resumed}"
        slow = f", slowest {self._slowest()}" if self._slowest() else ""
        if self._say != "quiet":
            self._print(line + (slow if self._say == "verbose" else ""))
        self.log.write(line + slow)
        if self._heard:
            self.note(f"stages or libraries printed {self._heard:,} lines, which are in the log")
            self._heard = 0

    def close(self) -> None:
        """Take the live bar away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def failed(self, error: BaseException) -> None:
        """Take the live bar away, and write down why the run ended before its end."""
        self.close()
        if self.log.is_open:
            self.log.write(f"ended: {said_of(error) or type(error).__name__}")
        self.log.close()

    def finished(self, run: Finished) -> None:
        """Write down how the run ended."""
        summary = run.summary
        counts = f"read {summary.read:,}, kept {summary.kept:,}, failed {summary.failed:,}"
        if not run.unchanged:
            self.log.work()
        self.log.write(f"done: {counts}" + (", nothing had changed" if run.unchanged else ""))
        for what, why in summary.faults.items():
            self.log.write(f"not made: {what}: {why}")
        self.log.close()

    def note(self, text: str) -> None:
        """Say something that stays on the screen."""
        self._print(f"note: {text}")
        self.log.write(f"note: {text}")

    def said(self, line: str) -> None:
        """Write down what a stage or a library has printed; show it where no log is kept."""
        if self.log.is_kept:
            self.log.write(f"printed: {line}")
            self._heard += 1
        else:
            self._print(f"printed: {line}")

    def _print(self, line: str) -> None:
        print(visible(line), file=self._stream, flush=True)

    def _show(self) -> None:
        now = time.monotonic()
        if self._live is not None:
            self._live.update(Text(self._line()))
        elif self._say != "quiet" and now - self._said >= PLAIN_SECONDS:
            self._said = now
            self._print(self._line())
        if now - self._logged >= LOG_SECONDS:
            self._logged = now
            self.log.write(self._line())

    def _line(self) -> str:
        elapsed = max(1e-6, time.monotonic() - self._started)
        share, left = self._share_done(), ""
        parts = [self._title]
        if self._size or self._shards:
            if self._live is not None:
                full = int(share * 16)
                parts.append("█" * full + "·" * (16 - full))
            parts.append(
                f"{100 * share:.0f} % of {_bytes(self._size)}" if self._size else f"{self._done}/{self._shards} shards"
            )
        parts.append(f"{self._tally.read + self._looking:,} documents")
        if self._tally.read:
            parts.append(f"kept {_share(self._tally.kept, self._tally.read)}")
        before = self._size_before / self._size if self._size else self._before / max(1, self._shards)
        if share - before > 0.001:
            left = f", {_duration((1 - share) * elapsed / (share - before))} left"
        parts.append(f"{_duration(elapsed)}{left}")
        if self._slowest():
            parts.append(f"slowest: {self._slowest()}")
        if self._places:
            more = f" and {len(self._places) - 1} more" if len(self._places) > 1 else ""
            parts.append(f"in {self._places[0]}{more}")
        return visible("  ".join(parts))

    def _share_done(self) -> float:
        """Return how much of the pass is done, by bytes; of shards in work, as many as their documents stand for."""
        if not self._size:
            return self._done / self._shards if self._shards else 0.0
        fresh = self._size_done - self._size_before
        a_document = fresh / self._tally.read if self._tally.read else 0.0
        return min(1.0, (self._size_done + a_document * self._looking) / self._size)

    def _slowest(self) -> str:
        """Return the stage that has taken the most time so far, and its part of all."""
        total = self._tally.cpu_seconds
        slow = max(self._tally.stages, key=lambda stage: stage.cpu_seconds, default=None)
        if slow is None or total < 1 or not slow.cpu_seconds:
            return ""
        return f"{slow.stage} {_share(slow.cpu_seconds, max(total, slow.cpu_seconds))}"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _bytes(number: int) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number / 1e3:.0f} kB"


def _duration(seconds: float, digits: int = 0) -> str:
    if seconds < 90:
        return f"{seconds:.{digits}f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
