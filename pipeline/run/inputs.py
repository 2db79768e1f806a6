"""What tells one input from another: its content, not its place or time.

Size and time of change are looked at first, for they cost nothing: where they are as they were when the content was
last read, so is the content. Else its SHA-256 decides, so a touched or copied file makes nothing run again, and changed
bytes are never missed. Of a file in an object store, the store's own mark of its content is taken (ETag and size).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pipeline.readers import InputFile, Split
from pipeline.stage import digest_of
from pipeline.storage import Folder, digest_file, head_input
from pipeline.worker.read import changed_at

FILE = "inputs.json"
READ_AHEAD = 4
"""Files whose content is read before their turn has come."""


@dataclass
class InputMarks:
    """The content of each input, remembered in the run folder.

    Attributes:
        known: name -> [size, time of change (ns), SHA-256] as last seen.
    """

    out: Folder
    known: dict[str, list[Any]] = field(default_factory=dict)
    changed: bool = False

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

    def remembered(self, file: InputFile) -> str:
        """Return what is known of the content of `file` without reading it; empty where nothing is."""
        return str(self.known.get(file.name, ["", "", ""])[2])

    def save(self) -> None:
        """Write what is known now, so that the next run need not read it again."""
        if self.changed:
            self.out.put_json(FILE, dict(sorted(self.known.items())))
            self.changed = False


@dataclass(frozen=True)
class NamedSplit:
    """A split, the name of what it makes, and the state of its file when its content was read."""

    name: str
    split: Split
    changed: tuple[int, int] | None


def named_splits(splits: Sequence[Split], marks: InputMarks) -> Iterator[NamedSplit]:
    """Yield each split under a name that its file's name, label, content and place give it, in their order.

    A few files ahead are read in threads, so that naming does not hold up whoever works on the splits.
    """
    files = list({split.file: None for split in splits})
    seen: Counter[str] = Counter()
    ahead: dict[InputFile, Future[str]] = {}
    with ThreadPoolExecutor(2) as pool:
        at = 0
        for split in splits:
            while at < len(files) and len(ahead) <= READ_AHEAD:
                ahead[files[at]] = pool.submit(marks.mark, files[at])
                at += 1
            mark = ahead[split.file].result()
            for file in [f for f in ahead if f != split.file and ahead[f].done() and files.index(f) < at - READ_AHEAD]:
                del ahead[file]
            file = split.file
            columns = [list(pair) for pair in file.columns]
            key = digest_of([file.name, file.source, columns, split.format, split.start, split.end, mark])[:12]
            again = seen[key]  # the same file named twice is read twice
            seen[key] += 1
            stem = (
                re.sub(r"[^A-Za-z0-9_-]+", "-", file.name.rsplit("/", 1)[-1].split(".")[0])[:40].strip("-") or "input"
            )
            yield NamedSplit(f"{stem}-{key}" + (f"-{again}" if again else ""), split, changed_at(file.path))
