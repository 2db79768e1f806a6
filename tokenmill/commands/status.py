"""``tokenmill status``: how far a run is, asked from anywhere that can read its folder."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from typing import Any

from pipeline.run.accounts import read_summary
from pipeline.run.folder import local_folder, must_exist, read_manifest, read_unfinished
from pipeline.run.status import DEAD_SECONDS, PassStatus, read_status
from pipeline.storage import Folder, reach
from planner.estimate.inputs import PlanInputs
from tokenmill.report.funnel import table

CPU_PRICE = PlanInputs.cpu_price
"""US dollars a CPU-hour of data preparation, as the planner takes where a recipe says nothing."""


def add_parser(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser("status", help="how far a run is: passes, tasks in work and where, time left, cost")
    parser.add_argument("run_folder", metavar="RUN", help="folder of a run, on this machine or in a bucket")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print how far the run is; exit code 0 whatever its state."""
    out = local_folder(given.run_folder)
    reach(out.url)
    must_exist(out)
    found = status_of(out)
    print(json.dumps(found, indent=1) if given.json else text_of(found))
    return 0


def status_of(out: Folder) -> dict[str, Any]:
    """Return the state of the run in `out`: ``running``, ``silent`` (no word for `DEAD_SECONDS`: killed, or cut off),
    ``failed`` or ``finished``, and what is known of it."""
    unfinished, status, summary = read_unfinished(out), read_status(out), read_summary(out)
    now = time.time()
    state = "finished"
    if unfinished is not None:
        state = unfinished.state
        if state == "running" and (status is None or now - status.updated > DEAD_SECONDS):
            state = "silent"
    manifest = read_manifest(out)
    found: dict[str, Any] = {
        "run": out.url,
        "name": unfinished.name if unfinished else manifest.name if manifest else "",
        "state": state,
        "error": unfinished.error if unfinished else "",
    }
    if status is not None:
        found |= asdict(status) | {"age_seconds": round(now - status.updated, 1)}
        if status.passes:
            found |= _speed(status.passes[-1], status.updated)
    if unfinished is None and summary is not None:
        found["passes"] = [
            {"name": p.name, "documents": p.read, "kept": p.kept, "seconds": p.seconds, "cpu_seconds": p.cpu_seconds}
            for p in summary.passes
        ]
        found |= {
            "read": summary.read,
            "kept": summary.kept,
            "failed": summary.failed,
            "cpu_seconds": summary.cpu_seconds,
        }
    price = manifest.recipe.get("plan", {}).get("cpu_price", CPU_PRICE) if manifest else CPU_PRICE
    found["usd"] = round(found.get("cpu_seconds", 0.0) / 3600 * price, 6)
    return found


def _speed(step: PassStatus, now: float) -> dict[str, Any]:
    """Return throughput and time left of the pass under way; None where nothing tells."""
    elapsed = max(1e-6, now - step.since)
    left = step.tasks - step.stood - step.done
    known = step.seconds is None and step.done > 0 and step.tasks > 0
    return {
        "documents_per_second": round(step.documents / elapsed, 1),
        "bytes_per_second": round(step.bytes_in / elapsed, 1),
        "seconds_left_in_pass": round(left * elapsed / step.done, 1) if known else None,
    }


def text_of(found: dict[str, Any]) -> str:
    """Return what `status_of` found for a person."""
    lines = [f"{found['name']}: {found['state']}{found['error'] and ': '}{found['error']}"]
    if found["state"] == "silent":
        age = f"{found['age_seconds']:.0f} s" if "age_seconds" in found else "long"
        lines[0] += f": no word for {age}. If it was killed, run its recipe again to go on"
    if "host" in found:
        lines.append(f"driven by process {found['process']} on {found['host']} since {_clock(found['started'])}")
    if found["state"] == "finished" and "read" in found:
        lines.append(
            f"read {found['read']:,} = kept {found['kept']:,} + dropped and failed; {found['failed']:,} failed"
        )
    rows = []
    for step in found.get("passes", []):
        tasks = (
            f"{step['stood'] + step['done']}/{step['tasks']}" if step.get("tasks") else str(step.get("done", "")) or ""
        )
        seconds = "in work" if step["seconds"] is None else f"{step['seconds']:.1f} s"
        rows.append([step["name"], tasks, f"{step['documents']:,}", f"{step['kept']:,}", seconds])
    if rows:
        lines += ["", table(["pass", "tasks", "documents", "kept", "time"], rows)]
    if found["state"] == "running" and "documents_per_second" in found:
        left = found["seconds_left_in_pass"]
        speed = f"{found['documents_per_second']:,.0f} documents/s, {found['bytes_per_second'] / 1e6:.1f} MB/s"
        lines += ["", speed + ("" if left is None else f", {left:,.0f} s left in this pass")]
    if found.get("running"):
        now = found["updated"]
        shown = [[w["task"], w["place"] or found["host"], f"{now - w['since']:.0f} s", str(w["document"] + 1)]
                 for w in found["running"][:10]]  # fmt: skip
        lines += [
            "",
            f"{found['in_work']} tasks in work, the oldest:",
            "",
            table(["task", "where", "for", "document"], shown),
        ]
    if "tasks_done" in found:
        lines += [
            "",
            f"{found['tasks_done']:,} tasks done, {found['failed_tasks']:,} failed, {found['tried_again']:,} tried again",
        ]
    if "cpu_seconds" in found:
        lines.append(f"{found['cpu_seconds'] / 3600:,.3f} CPU-hours so far, about ${found['usd']:,.2f}")
    return "\n".join(lines)


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
