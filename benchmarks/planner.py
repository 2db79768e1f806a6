"""CPU seconds of the planner: a full plan with 10,000 samples, and a layout search for 1,024 GPUs, on one core.

    python benchmarks/planner.py

The aim is both together under 2 s, interpreter and imports included. Each number is the CPU time of a fresh process.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

PLAN = """
from planner.plan import inputs_from, make_plan
plan = make_plan(inputs_from({"model": "%s", "gpu": "h100-sxm", "gpus": %d, "tokens": "15T", "mfu": "0.3:0.5", "samples": 10000}, None))
plan.as_dict(); plan.lines()
print(plan.fit.search.tried)
"""

CASES = {
    "interpreter and numpy alone": "import numpy",
    "imports of the planner": "import planner.plan",
    "llama3-8b on 64 GPUs": PLAN % ("llama3-8b", 64),
    "llama3-70b on 1,024 GPUs": PLAN % ("llama3-70b", 1024),
    "llama3-405b on 1,024 GPUs": PLAN % ("llama3-405b", 1024),
    "deepseek-v3 on 1,024 GPUs": PLAN % ("deepseek-v3", 1024),
}


def cpu_seconds(code: str) -> tuple[float, str]:
    """CPU time (user and system) of a process that runs `code` on one core, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    one_core = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=one_core)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout.strip()


def main() -> None:
    """Prints the median of three runs per case, and the same as JSON on the last line."""
    results = {}
    for name, code in CASES.items():
        start = time.perf_counter()
        runs = [cpu_seconds(code) for _ in range(3)]
        results[name] = sorted(seconds for seconds, _ in runs)[1]
        tried = f", {int(runs[0][1]):,} layouts" if runs[0][1] else ""
        print(f"{name:<30} {results[name]:.3f} s CPU ({(time.perf_counter() - start) / 3:.2f} s wall{tried})")
    print(json.dumps({k: round(v, 3) for k, v in results.items()}))


if __name__ == "__main__":
    main()
