"""Folders of files that are needed on the way only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from pipeline.storage import Folder


def remove(folder: Folder, names: Iterable[str]) -> None:
    """Delete files `names` of `folder`, and with the last file in it the folder itself, where there are folders."""
    for name in names:
        folder.delete(name)
    place = folder.path()
    if place is not None:
        with contextlib.suppress(OSError):  # not there, or not empty
            place.rmdir()
