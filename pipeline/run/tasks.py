"""Tasks of a decision on the run's workers: each finished value is a file, found again by what it was computed from."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.executors.contract import Result
from pipeline.stage import digest_of
from pipeline.storage import Folder, synced_together

FOLDER = "tasks"


class RunTasks:
    """See `pipeline.corpus.Tasks`.

    Args:
        work: folder of the decision.
        run: runs tasks on the run's workers and yields their results; the first that failed for good ends the run.

    Attributes:
        cpu_seconds: CPU time of the tasks so far.
    """

    def __init__(self, work: Folder, run: Callable[..., Iterator[Result]]):
        self._folder, self._run = work / FOLDER, run
        self.cpu_seconds = 0.0

    def map(self, name: str, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``[function(item) for item in items]``."""
        folder = self._folder / name
        keys = [key_of(function, item) for item in items]
        done = _finished(folder)
        todo = {key: item for key, item in zip(keys, items, strict=True) if key not in done}
        tasks = ((key, (key, item)) for key, item in todo.items())
        for result in self._run(partial(do_and_keep, function, folder), tasks):
            self.cpu_seconds += result.cpu_seconds
        done = _finished(folder)
        return [_value(folder, done[key]) for key in keys]


def key_of(function: Callable[[Any], Any], item: Any) -> str:
    """Return 16 hex digits that stand for calling `function` with `item`."""
    return digest_of([f"{function.__module__}.{function.__qualname__}", _plain(item)])


def _plain(value: Any) -> Any:
    """Return `value` as JSON can hold it, two values alike only if they are equal."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (bytes, np.ndarray)):
        data = value if isinstance(value, bytes) else np.ascontiguousarray(value).tobytes()
        kind = "bytes" if isinstance(value, bytes) else f"{value.dtype}{value.shape}"
        return [kind, hashlib.sha256(data).hexdigest()]
    if isinstance(value, np.generic):
        return value.item()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return [type(value).__qualname__, fields]
    if isinstance(value, Mapping):
        return [[_plain(k), _plain(v)] for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    raise TypeError(
        f"an item of a task holds a {type(value).__name__}; use dataclasses, tuples, numbers, texts and arrays"
    )


def do_and_keep(function: Callable[[Any], Any], folder: Folder, keyed: tuple[str, Any]) -> None:
    """Call `function` in a worker and keep its value as a file."""
    key, item = keyed
    with synced_together():
        value = function(item)
    if isinstance(value, pa.Table):
        folder.put_table(f"{key}.parquet", value)
    else:
        folder.put_json(f"{key}.json", value)


def _finished(folder: Folder) -> dict[str, str]:
    return {file.rsplit(".", 1)[0]: file for file in folder.names()}


def _value(folder: Folder, file: str) -> Any:
    return folder.get_table(file) if file.endswith(".parquet") else folder.get_json(file)
