"""What a stage loads before its first document: once in a process, and where forks can share it once for all workers."""

from __future__ import annotations

import contextlib

import pyarrow as pa

from pipeline.errors import EnvironmentFault, UserError
from pipeline.stage import Stage

_loaded: set[str] = set()


def arrow_ready() -> None:
    """Make an Arrow array: with the first one, pyarrow imports pandas where that is installed, and where it was kept out
    of this process before, now."""
    pa.array([0])
    with contextlib.suppress(Exception):  # it is not there, or too old
        pa.lib._pandas_api.data_frame()


def load_once(label: str, stage: Stage) -> None:
    """Let `stage`, called `label`, load what it needs, unless this process or the one it is a fork of has done so.

    Raises:
        EnvironmentFault: it cannot.
    """
    if repr(stage) in _loaded:
        return
    try:
        stage.load()
        _loaded.add(repr(stage))
    except Exception as error:
        if isinstance(error, UserError):
            raise
        raise EnvironmentFault(f"stage {label} cannot load what it needs: {type(error).__name__}: {error}") from error
