"""Whoever watches a run is told how it goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pipeline.prints import to_standard_error
from pipeline.tally import Tally


class Progress(Protocol):
    """Told how a run goes. All methods may do nothing."""

    def begin(
        self, name: str, number: int, passes: int, shards: int, done: int, *, size: int = 0, size_done: int = 0
    ) -> None:
        """A pass or a decision begins; `done` of its `shards` stand from before. `size`: bytes of what it reads, as
        stored, `size_done` of them in what stands."""

    def shard(self, tally: Tally | None, size: int = 0) -> None:
        """A shard, or a task of a decision, is done, that read `size` bytes."""

    def look(self, documents: int, places: Sequence[str] = ()) -> None:
        """So many documents of the shards in work, which lie at `places`, are behind us."""

    def end(self, name: str, seconds: float) -> None:
        """The pass or decision that began last is done."""

    def note(self, text: str) -> None:
        """Something the user should know."""

    def said(self, line: str) -> None:
        """A line that a stage or a library has printed; called from other threads."""


class Silent:
    """Progress that nobody watches."""

    def begin(
        self, name: str, number: int, passes: int, shards: int, done: int, *, size: int = 0, size_done: int = 0
    ) -> None: ...
    def shard(self, tally: Tally | None, size: int = 0) -> None: ...
    def look(self, documents: int, places: Sequence[str] = ()) -> None: ...
    def end(self, name: str, seconds: float) -> None: ...
    def note(self, text: str) -> None: ...
    def said(self, line: str) -> None:
        """Show it where it would have been without a run."""
        to_standard_error(line)
