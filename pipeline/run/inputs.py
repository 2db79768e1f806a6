"""What tells one input from another: its content, not its place or time.

Size and time of change are looked at first, for they cost nothing: where they are as they were when the content was
last read, so is the content. Else its SHA-256 decides, so a touched or copied file makes nothing run again, and changed
bytes are never missed. Of a file in an object store, the store's own mark of its content is taken (ETag and size).
"""

from __future__ import annotations

import itertools
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pipeline.readers import InputFile, Split
from pipeline.stage import digest_of
from pipeline.storage import Folder, digest_file, head_input
from pipeline.worker.read import changed_at
from pipeline.worker.task import State

FILE = "inputs.json"
READ_AHEAD = 4
"""Files on this machine whose content is read before their turn has come."""
ASKED_AT_ONCE = 32
"""Files elsewhere that are asked about at the same time: an answer takes long, and costs nothing to wait for."""
T = TypeVar("T")


def of_each(files: Sequence[InputFile], ask: Callable[[InputFile], T]) -> Iterator[T]:
    """Yield what `ask` returns of each file, in order; those elsewhere are asked about many at a time."""
    if not any("://" in file.path for file in files):
        yield from map(ask, files)
        return
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        try:
            for file in files:
                waiting.append(pool.submit(ask, file))
                if len(waiting) > 2 * ASKED_AT_ONCE:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def sizes_of(files: Sequence[InputFile]) -> dict[str, int]:
    """Return the bytes of each file by its name."""
    return dict(zip((f.name for f in files), of_each(files, lambda f: head_input(f.path).size), strict=True))


@dataclass
class InputMarks:
    """The content of each input, remembered in the run folder.

    Attributes:
        known: name -> [size, time of change (ns), SHA-256] as last seen.
    """

    out: Folder
    known: dict[str, list[Any]] = field(default_factory=dict)
    changed: bool = False
    saved: float = field(default_factory=time.monotonic)

    @classmethod
    def load(cls, out: Folder) -> InputMarks:
        """Return what the run folder remembers."""
        return cls(out, out.get_json(FILE) if out.exists(FILE) else {})

    def is_known(self, file: InputFile) -> bool:
        """Return whether the content of `file` is known without reading it."""
        now = changed_at(file.path)
        return now is not None and self.known.get(file.name, [])[:2] == list(now)

    def mark(self, file: InputFile) -> str:
        """Return what stands for the content of `file`, reading it where it may have changed."""
        now = changed_at(file.path)
        if now is None:
            about = head_input(file.path)
            return digest_of([about.size, about.tag or about.modified])
        if self.known.get(file.name, [])[:2] != list(now):
            self.known[file.name] = [*now, digest_file(file.path)]
            self.changed = True
        return str(self.known[file.name][2])

    def state(self, file: InputFile) -> State:
        """Return size and time of change that `file` had when its content was read; None for one elsewhere."""
        known = self.known.get(file.name)
        return None if known is None or "://" in file.path else (known[0], known[1])

    def remembered(self, file: InputFile) -> str:
        """Return what is known of the content of `file` without reading it; empty where nothing is."""
        return str(self.known.get(file.name, ["", "", ""])[2])

    def save(self, *, every: float = 0.0) -> None:
        """Write what is known now, so that the next run need not read it again; at most once in `every` seconds."""
        if self.changed and time.monotonic() - self.saved >= every:
            self.out.put_json(FILE, dict(sorted(self.known.copy().items())))
            self.changed, self.saved = False, time.monotonic()


@dataclass(frozen=True)
class NamedSplit:
    """A split, the name of what it makes, and the state of each of its files when its content was read."""

    name: str
    split: Split
    changed: tuple[State, ...]


def named_splits(splits: Sequence[Split], marks: InputMarks) -> Iterator[NamedSplit]:
    """Yield each split under a name that its file's name, label, content and place give it, in their order.

    A few files ahead are read in threads, so that naming does not hold up whoever works on the splits.
    """
    groups = [list(group) for _, group in itertools.groupby(splits, key=lambda split: (split.file, split.more))]
    seen: Counter[str] = Counter()
    ahead: deque[Future[list[str]]] = deque()
    submitted = 0
    elsewhere = any("://" in group[0].file.path for group in groups)
    with ThreadPoolExecutor(ASKED_AT_ONCE if elsewhere else 2) as pool:
        for number, group in enumerate(groups):
            while submitted < min(len(groups), number + 1 + (ASKED_AT_ONCE if elsewhere else READ_AHEAD)):
                ahead.append(pool.submit(_marks, groups[submitted][0], marks))
                submitted += 1
            found = ahead.popleft().result()
            for split in group:
                name = _name(split, found)
                again = seen[name]  # the same file named twice is read twice
                seen[name] += 1
                states = tuple(marks.state(piece.file) for piece in split.pieces)
                yield NamedSplit(f"{name}-{again}" if again else name, split, states)


def _marks(split: Split, marks: InputMarks) -> list[str]:
    return [marks.mark(piece.file) for piece in split.pieces]


def _name(split: Split, marks: Sequence[str]) -> str:
    file = split.file
    what = [_identity(piece, mark) for piece, mark in zip(split.pieces, marks, strict=True)]
    key = digest_of(what if split.more else what[0])[:12]
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", file.name.rsplit("/", 1)[-1].split(".")[0])[:40].strip("-")
    return f"part-{stem or 'input'}-{key}"


def _identity(split: Split, mark: str) -> list[Any]:
    file = split.file
    columns = [list(pair) for pair in file.columns]
    end = [split.end] if split.until is None else [split.end, split.until]
    cut = [] if file.documents == "file" else [file.documents]
    return [file.name, file.source, columns, *cut, split.format, split.start, *end, mark]
