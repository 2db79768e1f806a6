"""Which shards of a pass stand: what workers have committed, read at the start and kept up while the pass goes on.

While a pass runs, each record is a file of its own, put there by the worker that made it. They are gathered into
blocks by the thousand, so that nothing ever reads a million small files one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import msgspec
import pyarrow as pa

from pipeline.commit import Commit, Look
from pipeline.storage import Folder

BLOCK = 1024
"""Records that make a block."""
T = TypeVar("T")


class Brief(msgspec.Struct, frozen=True):
    """What the run must know of a committed shard: a few numbers, whatever it holds. See `Commit`."""

    source: str
    outcome: str
    rows: int
    kept: int
    texts: bool
    selected: bool
    ledger: int
    first: int
    end: int
    last: bool
    read: int
    failed: int
    bytes_out: int
    bytes_written: int

    @classmethod
    def of(cls, commit: Commit) -> Brief:
        """Return `commit` without its tally."""
        tally = commit.tally
        more: dict[str, Any] = {"read": tally.read, "failed": tally.failures, "bytes_out": tally.bytes_out}
        return cls(**more, **{name: getattr(commit, name) for name in cls.__struct_fields__ if name not in more})


class LookBrief(msgspec.Struct, frozen=True):
    """What the run must know of an observed shard. See `Look`; `failed` is how many documents could not be observed."""

    of: str
    digest: str
    failed: int
    cpu_seconds: float


class Records(Generic[T]):
    """The records in one folder, by shard; each is kept in brief and read whole only when all are summed up.

    Args:
        kind: dataclass of a record.
        brief: what is kept of one in memory.
    """

    def __init__(self, folder: Folder, kind: type[T], brief: Callable[[T], Any]):
        self.folder, self._kind, self._brief = folder, kind, brief
        self.known: dict[str, Any] = {}
        self._loose: set[str] = set()
        self._blocks: list[str] = []
        for file in sorted(folder.names(), key=lambda name: not name.endswith(".parquet")):
            if file.endswith(".parquet"):
                self._blocks.append(file)
                for name, record in self._block(file):
                    self.known[name] = brief(record)
            elif file.endswith(".json"):
                record_or_none = self._read(file)
                if record_or_none is not None:  # a torn one counts as none: the shard is made again
                    name = file.removesuffix(".json")
                    self.known[name] = brief(record_or_none)
                    self._loose.add(name)

    def add(self, name: str, record: T) -> None:
        """Take note of a record that a worker has just written."""
        self.known[name] = self._brief(record)
        self._loose.add(name)

    def pack(self, *, done: bool = False) -> None:
        """Gather loose records into a block where they are many; once `done`, also the rest of many."""
        if len(self._loose) < BLOCK and not (done and self._blocks and self._loose):
            return
        names = sorted(self._loose)
        texts = [self.folder.get(f"{name}.json").decode() for name in names]
        block = f"block-{len(self._blocks):06d}.parquet"
        columns = {"name": pa.array(names, pa.large_string()), "record": pa.array(texts, pa.large_string())}
        self.folder.put_table(block, pa.table(columns))
        self._blocks.append(block)
        for name in names:
            self.folder.delete(f"{name}.json")
        self._loose.clear()

    def whole(self, names: Iterable[str]) -> Iterator[tuple[str, T]]:
        """Yield each of `names` that has a record, with it; in no particular order."""
        wanted = set(names)
        for name in sorted(wanted & self._loose):
            record = self._read(f"{name}.json")
            if record is not None:
                yield name, record
        for block in reversed(self._blocks):  # a shard that was made again is in a later block
            for name, record in self._block(block):
                if name in wanted and name not in self._loose:
                    wanted.discard(name)
                    yield name, record

    def _block(self, file: str) -> Iterator[tuple[str, T]]:
        table = self.folder.get_table(file)
        for name, text in zip(table["name"].to_pylist(), table["record"].to_pylist(), strict=True):
            yield name, msgspec.json.decode(text, type=self._kind)

    def _read(self, file: str) -> T | None:
        try:
            return msgspec.json.decode(self.folder.get(file), type=self._kind)
        except msgspec.DecodeError:
            return None


def commits(folder: Folder) -> Records[Commit]:
    """Return the commits of the pass in `folder`."""
    return Records(folder / "tally", Commit, Brief.of)


def looks(folder: Folder) -> Records[Look]:
    """Return the records of the observations in `folder`."""
    return Records(
        folder / "seen", Look, lambda look: LookBrief(look.of, look.digest, len(look.failed), look.cpu_seconds)
    )
