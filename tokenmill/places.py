"""Where a run's tasks run: on this machine, or on a Ray cluster."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator

from pipeline.errors import RecipeError, UserError
from pipeline.executors.cluster import Needs, attached
from pipeline.executors.contract import Executor
from pipeline.run.folder import UNFINISHED
from pipeline.run.plan import RunPlan, paths_in
from pipeline.storage import Folder

FILES = 100
"""Input files that every node is asked for, at most: the first ones, and the last."""


MakeExecutor = Callable[[RunPlan, Folder], Executor | None]
"""Gives the executor of a run in a folder; None for processes of this machine."""


@contextlib.contextmanager
def executors(name: str, address: str | None = None) -> Iterator[MakeExecutor]:
    """Yield what gives a run its executor, attached to the cluster where it is one's.

    Raises:
        UserError: there is no such executor, or no cluster at `address`.
    """
    if name == "local":
        if address is not None:
            raise UserError("--address is of a Ray cluster: add --executor ray")
        yield lambda plan, out: None
        return
    if name != "ray":
        raise RecipeError("executor", f"must be local or ray; got {name!r}")
    with attached(address) as on_cluster:
        yield lambda plan, out: on_cluster(needs_of(plan, out))


def needs_of(plan: RunPlan, out: Folder) -> Needs:
    """Return what every node must have to work on a run of `plan` in `out`."""
    inputs = [file.path for file in plan.recipe.inputs]
    named = [path for stage in plan.recipe.stages for path in paths_in(stage)]
    files = [
        path for path in (*inputs[:FILES], *inputs[-1:], *named) if "://" not in path and pathlib.Path(path).is_file()
    ]
    libraries = {library for stage in plan.recipe.stages for library in stage.libraries} | {
        "pyarrow",
        "numpy",
        "obstore",
    }
    return Needs(out, UNFINISHED, tuple(dict.fromkeys(files)), tuple(sorted(libraries)))
