"""Whoever watches a run is told how it goes."""

from __future__ import annotations

from typing import Protocol

from pipeline.tally import Tally


class Progress(Protocol):
    """Told how a run goes. All methods may do nothing."""

    def begin(self, name: str, number: int, passes: int, shards: int, done: int) -> None:
        """A pass or a decision begins; `done` of its `shards` stand from before."""

    def shard(self, tally: Tally | None) -> None:
        """A shard, or a task of a decision, is done."""

    def look(self, documents: int) -> None:
        """So many documents of the shards in work are behind us."""

    def end(self, name: str, seconds: float) -> None:
        """The pass or decision that began last is done."""

    def note(self, text: str) -> None:
        """Something the user should know."""


class Silent:
    """Progress that nobody watches."""

    def begin(self, name: str, number: int, passes: int, shards: int, done: int) -> None: ...
    def shard(self, tally: Tally | None) -> None: ...
    def look(self, documents: int) -> None: ...
    def end(self, name: str, seconds: float) -> None: ...
    def note(self, text: str) -> None: ...
