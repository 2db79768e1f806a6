"""What inputs are called in data, ledger and report: not by where they lie on the machine that read them."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Sequence

from pipeline.readers import InputFile

LEAST = 2
"""Parts of a path that a name has at least: the folder and the file."""


def without_places(files: Sequence[InputFile]) -> tuple[InputFile, ...]:
    """Return `files`, those whose name is an absolute path called by its last parts: as many as tell it from all others."""
    names = {file.name: file.name for file in files}
    waiting = {name: [part for part in name.split("/") if part] for name in names if os.path.isabs(name)}
    taken = set(names) - set(waiting)
    depth = LEAST
    while waiting:
        short = {name: "/".join(parts[-depth:]) for name, parts in waiting.items()}
        times = Counter(short.values())
        names.update({name: said for name, said in short.items() if times[said] == 1 and said not in taken})
        taken |= {said for said in short.values() if times[said] == 1}
        waiting = {n: parts for n, parts in waiting.items() if names[n] == n and len(parts) > depth}
        depth += 1
    return tuple(dataclasses.replace(file, name=names[file.name]) for file in files)
