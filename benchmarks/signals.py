"""Random signals to random processes of a run, which is started again until it is done, with nothing left behind each time.

    python benchmarks/signals.py [ROUNDS [RECIPE [SEED]]]

Without a recipe: a toy job that writes 400 files. With one: that run. INT, TERM, HUP, KILL, and STOP with CONT go to the
program, its fork server, its workers or its whole group, from the first moment on. In the end the files must be those of
a run that nobody disturbed, and after each death there may be no process, no lock and no temporary file. With a recipe,
the first rounds are an interrupt of the whole group at each twentieth of a second of the first two and a half: each must
end at once, with its exit code and without a traceback.
"""

from __future__ import annotations

import collections
import fcntl
import hashlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tests.pipeline.executors.programs import left, parts

KINDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP]
TOY = """
import functools, sys, time
from pipeline.executors.local import run_local
from pipeline.guard import guard
from pipeline.storage import Folder, lease

def work(out, number):
    for document in range(10):
        guard.working_on(document)
        time.sleep(0.003)
    out.put(f"part-{number:03d}", str(number).encode() * 1000)

out = Folder(sys.argv[1])
with lease(out):
    todo = [n for n in range(400) if not out.exists(f"part-{n:03d}")]
    for result in run_local(functools.partial(work, out), [(n, n) for n in todo], workers=3):
        if result.error:
            raise result.error
"""


def command(recipe: str | None, place: pathlib.Path, out: pathlib.Path) -> list[str]:
    """Return the command that makes `out`, or goes on with it."""
    if recipe:
        return [sys.executable, "-m", "tokenmill", "run", recipe, "--out", str(out), "--workers", "2"]
    (place / "toy.py").write_text(TOY)
    return [sys.executable, str(place / "toy.py"), str(out)]


def content(out: pathlib.Path) -> dict[str, str]:
    """Return the digest of each file that must not depend on what happened: all but times and the page."""
    names = [p for p in sorted(out.rglob("*")) if p.is_file() and p.suffix not in {".json", ".html"}]
    return {str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest() for p in names}


def is_free(out: pathlib.Path) -> bool:
    """Return whether nobody holds folder `out`."""
    if not out.exists():
        return True
    descriptor = os.open(out, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def interrupted_early(recipe: str, place: pathlib.Path, environment: dict[str, str]) -> None:
    """Interrupt runs in their first moments."""
    ends: collections.Counter[int] = collections.Counter()
    for step in range(1, 51):
        run = subprocess.Popen(
            command(recipe, place, place / "early"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
            text=True,
        )
        time.sleep(step / 20)
        sent = time.monotonic()
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGINT)
        _, said = run.communicate()
        ends[run.returncode] += 1
        assert time.monotonic() - sent < 10, f"took {time.monotonic() - sent:.1f} s to end"
        if "Traceback" in said:  # before a line of ours runs, Python answers an interrupt itself
            assert "tokenmill/cli.py" not in said, said
            assert step <= 4, said
        assert left(run.pid) == []
        assert is_free(place / "early")
        assert not list((place / "temporary").iterdir())
    print(f"50 interrupts in the first two and a half seconds, exits: {dict(ends)}")


def strike(leader: int, chance: random.Random) -> str | None:
    """Send one signal, and return what and to whom; None where there was nobody."""
    server, workers = parts(leader)
    kind = chance.choice(KINDS)
    whom = chance.choice(["program", "server", "worker", "group"])
    victim = {"server": server, "worker": chance.choice(workers) if workers else None}.get(whom)
    send = os.killpg if whom == "group" else os.kill
    pid = leader if whom in ("program", "group") else victim.pid if victim is not None else None
    if pid is None:
        return None
    try:
        send(pid, kind)
        if kind == signal.SIGSTOP:
            time.sleep(chance.random() * 0.3)
            send(pid, signal.SIGCONT)
    except ProcessLookupError:
        return None
    return f"{kind.name} to {whom}"


def main() -> None:
    """Run until so many signals were sent and the job is done."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    recipe = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] != "-" else None
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "temporary").mkdir()
        environment = {**os.environ, "TMPDIR": str(place / "temporary")}
        subprocess.run(command(recipe, place, place / "calm"), check=True, capture_output=True, env=environment)
        if recipe:
            interrupted_early(recipe, place, environment)
        sent: collections.Counter[str] = collections.Counter()
        jobs, ends = 0, collections.Counter[int]()
        while sum(sent.values()) < rounds:
            jobs, out = jobs + 1, place / f"out-{jobs}"
            while True:
                run = subprocess.Popen(
                    command(recipe, place, out),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env=environment,
                    start_new_session=True,
                    text=True,
                )
                while run.poll() is None and sum(sent.values()) < rounds:
                    time.sleep(chance.random() * (2 if recipe else 0.5))
                    if run.poll() is None and (struck := strike(run.pid, chance)):
                        sent[struck] += 1
                _, said = run.communicate()
                ends[run.returncode] += 1
                assert left(run.pid) == [], f"left behind after exit {run.returncode}: {left(run.pid)}"
                assert not list((place / "temporary").iterdir()), list((place / "temporary").iterdir())
                assert is_free(out), "the lock is still held"
                if run.returncode == 0:
                    break
                if run.returncode > 0 and "KeyboardInterrupt" not in said:
                    print(f"exit {run.returncode}: {said.strip().splitlines()[-1] if said.strip() else ''}")
            assert content(out) == content(place / "calm"), "the files are not those of an undisturbed run"
            assert not [p for p in out.rglob("*") if "#" in p.name or p.name in (".next", "unfinished.json")]
    print(f"{sum(sent.values())} signals over {jobs} jobs in {sum(ends.values())} starts: the same files, nothing left")
    print("exits:", dict(ends))
    for what, number in sorted(sent.items()):
        print(f"{number:5} {what}")


if __name__ == "__main__":
    main()
