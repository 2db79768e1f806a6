"""The standard streams of the command line: results on one, messages on the other, nothing raw on either."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from pipeline.visible import visible


class Shown:
    """A text stream on which what is not seen as what it is stands as a visible mark.

    Attributes:
        beneath: the stream itself, for those who move its cursor.
    """

    def __init__(self, stream: TextIO):
        self.beneath = stream

    def write(self, text: str) -> int:
        """Write `text`."""
        self.beneath.write(visible(text, keep="\n\t"))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


@contextlib.contextmanager
def safe_streams() -> Iterator[None]:
    """Let the standard streams show only what can be seen, and no character that their encoding lacks end the program."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    out: Any = Shown(sys.stdout)
    err: Any = Shown(sys.stderr)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield
