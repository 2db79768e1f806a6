"""Labelled documents in an order of their own, whatever files they come from: by hash, each text once."""

from __future__ import annotations

import hashlib
import pathlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stages.quality.fasttext_model import folded

GOOD, BAD = "hq", "cc"
"""The labels, as DCLM's model has them."""
BUCKETS = 64
_SPACE = "\x1f"  # no folded text holds it


@dataclass
class Examples:
    """Folded texts with their labels, on disk, sorted by hash: the same documents in any order give the same files.

    Attributes:
        held_out: share of the texts, by their hash, that `tested` gives and `trained` does not.
        left_out: documents that are no example, by reason.
    """

    folder: pathlib.Path
    held_out: float = 0.0
    left_out: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._files = [open(self._bucket(n), "w", encoding="utf-8") for n in range(BUCKETS)]  # noqa: SIM115

    def add(self, label: str, texts: Iterable[str]) -> None:
        """Add documents of one label."""
        for text in texts:
            line = folded(text.encode("utf-8", "replace").decode())
            if not line:
                self.left_out["without a word"] += 1
                continue
            self.given[label] += 1
            key = hashlib.blake2b(line.encode(), digest_size=16).hexdigest()
            self._files[int(key[:8], 16) % BUCKETS].write(f"{key}{_SPACE}{label}{_SPACE}{line}\n")

    def close(self) -> None:
        """End the files; call before reading."""
        for file in self._files:
            file.close()

    def read(self) -> Iterator[tuple[str, str, bool]]:
        """Yield (label, line, whether it is held out), each text once; those of both labels are left out and counted."""
        repeated = both = 0
        for number in range(BUCKETS):
            found: dict[str, tuple[str, str]] = {}
            mixed: set[str] = set()
            with open(self._bucket(number), encoding="utf-8", newline="\n") as file:
                for row in file:
                    key, label, line = row.rstrip("\n").split(_SPACE)
                    if key in found:
                        repeated += 1
                        if found[key][0] != label:
                            mixed.add(key)
                    found.setdefault(key, (label, line))
            both += len(mixed)
            for key in sorted(found.keys() - mixed):
                yield (*found[key], int(key[8:16], 16) < self.held_out * (1 << 32))
        for reason, count in (("the same text again", repeated), ("both good and bad", both)):
            if count:
                self.left_out[reason] = count

    def _bucket(self, number: int) -> pathlib.Path:
        return self.folder / f"{number:02d}"
