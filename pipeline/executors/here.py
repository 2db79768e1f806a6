"""The executor without processes: tasks run in this one, one after the other, and nothing stands between them and it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pipeline.errors import is_environment
from pipeline.executors.contract import ATTEMPTS, Death, Load, Result, Task, WorkerLimits, no_revision
from pipeline.executors.local import PAUSE_SECONDS, one_line


def run_here(
    function: Callable[[Any], Any],
    tasks: Iterable[Task],
    *,
    workers: int = 1,
    limits: WorkerLimits | None = None,
    revise: Callable[[Any, Death], Any] = no_revision,
    on_look: Callable[[Mapping[Any, int]], None] | None = None,
    preload: Iterable[str] = (),
    loads: Iterable[Load] = (),
) -> Iterator[Result]:
    """Yield a Result for each task, in order; see `contract.Executor`. For tests and the Python interface.

    There is one worker, this process, which has no limits: what kills a worker kills the caller.
    """
    for key, argument in tasks:
        result = _attempt(function, key, argument)
        while result.environment and result.attempts < ATTEMPTS:
            time.sleep(PAUSE_SECONDS)
            again = _attempt(function, key, argument)
            spent = result.cpu_seconds + again.cpu_seconds
            result = replace(again, attempts=result.attempts + 1, cpu_seconds=spent)
        if result.environment:
            result = replace(result, error=one_line(result.error, result.attempts))
        yield result
        if on_look is not None:
            on_look({})


def _attempt(function: Callable[[Any], Any], key: Any, argument: Any) -> Result:
    cpu = time.process_time()
    try:
        value = function(argument)
    except Exception as error:
        seconds = time.process_time() - cpu
        return Result(key, "failed", error=error, cpu_seconds=seconds, environment=is_environment(error))
    return Result(key, "done", value, cpu_seconds=time.process_time() - cpu)
