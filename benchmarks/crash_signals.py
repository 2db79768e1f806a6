"""Sends signals to a run, round after round: to the command, its fork server, its workers, or the whole group.

    python benchmarks/crash_signals.py RECIPE [--rounds 100] [--first 0] [--workers 2] [--seed 1]

A round starts the command in the run folder that the last one left, sends INT, TERM, HUP, KILL, or STOP and later CONT,
one to three times, and waits until the command has ended. Held against the law after each: no process of it is left, the folder's lock
is free, nothing on standard error is a traceback, and no temporary folder outlives the round behind it. When a run has ended by
itself its bytes are held against those of one that was left alone, and a new folder begins. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import psutil

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from crash import command, digests

KINDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP)
WHOM = ("command", "fork server", "worker", "group")
SECONDS = 60.0


def main() -> int:
    """Strike and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wrong: list[str] = []
    ended = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        temporary = folder / "tmp"
        temporary.mkdir()
        environ = {**os.environ, "TMPDIR": str(temporary)}
        started = time.monotonic()
        subprocess.run(
            command(given.recipe, folder / "calm", given.workers), check=True, capture_output=True, env=environ
        )
        seconds, expected = time.monotonic() - started, digests(folder / "calm")
        for number in range(given.first, given.first + given.rounds):
            chance = random.Random(f"{given.seed} {number}")
            code, said, told = one_round(command(given.recipe, folder / "out", given.workers), seconds, chance, environ)
            left = [fault for fault in faults(folder / "out", said) if fault]
            if code == 0:
                ended += 1
                left += ["other bytes"] if digests(folder / "out") != expected else []
                shutil.rmtree(folder / "out")
            print(f"round {number}: {told}: ended with {code}{'; '.join(['', *left])}", flush=True)
            wrong += [f"round {number}: {fault}" for fault in left]
        subprocess.run(
            command(given.recipe, folder / "out", given.workers), check=True, capture_output=True, env=environ
        )
        wrong += ["the last run: other bytes"] if digests(folder / "out") != expected else []
        wrong += [f"left: {path.name}" for path in temporary.iterdir() if path.stat().st_mtime < time.time() - 60]
    print(f"{given.rounds} rounds, {ended} of them ended by themselves, {len(wrong)} faults", *wrong, sep="\n")
    return 1 if wrong else 0


def one_round(words: list[str], seconds: float, chance: random.Random, environ: dict[str, str]) -> tuple[int, str, str]:
    """Start a command, strike it, wait for its end; return its exit code, what it said, and what was done to it."""
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environ
    )
    family = {process.pid: psutil.Process(process.pid)}
    told = []
    for _ in range(chance.randint(1, 3)):
        time.sleep(chance.random() * seconds / 2)
        with contextlib.suppress(psutil.Error):
            family.update({child.pid: child for child in psutil.Process(process.pid).children(recursive=True)})
        told.append(strike(process.pid, chance))
    try:
        _, said = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said = f"Traceback: it did not end in {SECONDS:g} s"
    _, alive = psutil.wait_procs([p for p in family.values() if p.pid != process.pid], timeout=2.0)
    if alive:
        said += f"Traceback: {len(alive)} processes are left: {[' '.join(p.cmdline())[:80] for p in alive]}"
    return process.wait(), said, ", ".join(told)


def strike(leader: int, chance: random.Random) -> str:
    """Send a signal to some process of the run, and return which and to whom."""
    kind, whom = chance.choice(KINDS), chance.choice(WHOM)
    try:
        children = psutil.Process(leader).children()
        workers = [worker for child in children for worker in child.children()]
    except psutil.Error:
        return "nobody was there"
    found = {"fork server": children, "worker": workers}.get(whom)
    if found == []:
        whom = "command"
    pid = chance.choice(found).pid if found else leader
    send = os.killpg if whom == "group" else os.kill
    with contextlib.suppress(ProcessLookupError):
        send(pid, kind)
        if kind == signal.SIGSTOP:
            time.sleep(0.3)
            send(pid, signal.SIGCONT)
    return f"{kind.name} to {whom}"


def faults(out: pathlib.Path, said: str) -> list[str]:
    """Return what is wrong after a round."""
    found = [said[-600:] if "Traceback" in said else ""]
    if out.is_dir():
        descriptor = os.open(out, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            found.append("its lock is held")
        finally:
            os.close(descriptor)
    return found


if __name__ == "__main__":
    sys.exit(main())
