"""What stages and libraries print is no result of ours: it goes, line by line and with nothing raw in it, where messages go.

In a run that is its log; elsewhere standard error.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator

from pipeline.visible import visible

MOST_BYTES = 16 << 20
"""Of what one process and its children print, what is passed on."""
LONGEST = 4000
"""Characters of a line that are."""
GOODBYE_SECONDS = 0.5
"""How long the last words of a process are waited for that has ended, while others hold its streams."""


def to_standard_error(line: str) -> None:
    """Show a line that was printed on standard error."""
    with contextlib.suppress(OSError, ValueError):  # closed
        print(line, file=sys.stderr, flush=True)


_sink: Callable[[str], None] = to_standard_error


@contextlib.contextmanager
def prints_to(sink: Callable[[str], None]) -> Iterator[None]:
    """Call `sink` with each line that is printed while the block runs; perhaps from another thread."""
    global _sink
    before, _sink = _sink, sink
    try:
        yield
    finally:
        _sink = before


def _pass_on(data: bytes) -> None:
    line = visible(data.decode("utf-8", "replace").rstrip("\r"), keep="\t")
    if line.strip():
        _sink(line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(line):,} characters)")


class Hearing:
    """A pipe for the standard streams of another process, `writing`, and a thread that passes on what comes."""

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        self._thread = threading.Thread(target=self._listen, name="what workers print", daemon=True)

    def begin(self) -> None:
        """Listen; the other process has the pipe by now."""
        os.close(self.writing)
        self._thread.start()

    def end(self) -> None:
        """Wait for the last words of a process that has ended."""
        if self._thread.ident is not None:
            self._thread.join(GOODBYE_SECONDS)

    def _listen(self) -> None:
        heard, rest = 0, b""
        while data := os.read(self._reading, 1 << 16):
            if heard > MOST_BYTES:
                continue  # read, so that nobody waits for us
            heard += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                _pass_on(line)
            if len(rest) > 4 * LONGEST:
                _pass_on(rest)
                rest = b""
            if heard > MOST_BYTES:
                _pass_on(b"more is printed, and not kept")
        _pass_on(rest)
        os.close(self._reading)


@contextlib.contextmanager
def prints_aside() -> Iterator[None]:
    """Pass on, at its end, what is printed inside the block, by Python or by C."""
    printed = io.StringIO()
    with contextlib.ExitStack() as stack:
        written = stack.enter_context(tempfile.TemporaryFile())
        stack.callback(_pass_all_on, printed, written)
        stack.enter_context(contextlib.redirect_stdout(printed))
        with contextlib.suppress(OSError):  # closed streams
            kept = os.dup(1)
            stack.callback(os.close, kept)
            os.dup2(written.fileno(), 1)
            stack.callback(os.dup2, kept, 1)
        yield


def _pass_all_on(printed: io.StringIO, written: io.BufferedRandom) -> None:
    written.seek(0)
    data = printed.getvalue()[:MOST_BYTES].encode("utf-8", "replace") + b"\n" + written.read(MOST_BYTES)
    for line in data.split(b"\n"):
        _pass_on(line)
