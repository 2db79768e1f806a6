"""One recipe in a folder, in a bucket, on a Ray cluster of one node, of two, and by two processes that join: the same bytes?

    python benchmarks/everywhere.py RECIPE [WAYS]      WAYS by commas: bucket, ray-1, ray-2, join (all)

Needs Ray, a SeaweedFS (`make test-cluster` installs the first) and the right to make network namespaces. Tells for each
way its wall time, which the machine's other load is in, and whether data, ledgers, counts and budget are those of the run
in a folder; what differs is named.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pipeline.run.folder import local_folder  # noqa: E402
from pipeline.storage import Folder  # noqa: E402
from tests.cluster.nodes import ray_cluster  # noqa: E402
from tests.servers import endpoint, seaweedfs  # noqa: E402

PUBLISHED = ("data/", "token_counts/", "tokenizer/", "token_report/", "token_budget.json")


def digests(out: Folder) -> dict[str, str]:
    """Return the SHA-256 of every file of a run that must not depend on where it was made."""
    names = [n for n in out.names() if n.startswith(PUBLISHED) or "/ledger/" in n or n.endswith("drops.json")]
    return {name: hashlib.sha256(out.get(name)).hexdigest() for name in names}


def tokenmill(recipe: str, out: str, *more: str) -> list[str]:
    """Return the command of a run."""
    return [sys.executable, "-m", "tokenmill", "run", recipe, "--out", out, "-q", *more]


def main(recipe: str, ways: str = "bucket,ray-1,ray-2,join") -> int:
    """Run them all; return how many differ."""
    with tempfile.TemporaryDirectory() as name:
        started = time.perf_counter()
        subprocess.run(tokenmill(recipe, f"{name}/folder", "--workers", "2"), check=True)
        wanted = digests(local_folder(f"{name}/folder"))
        print(f"folder: {time.perf_counter() - started:.0f} s, {len(wanted)} files", flush=True)
        return sum(not _told(way, recipe, pathlib.Path(name), wanted) for way in ways.split(","))


def _told(way: str, recipe: str, place: pathlib.Path, wanted: dict[str, str]) -> bool:
    started = time.perf_counter()
    found = (
        {"bucket": _bucket, "join": _join}[way](recipe, place)
        if way in ("bucket", "join")
        else _ray(way, recipe, place)
    )
    differ = sorted(file for file in {*wanted, *found} if wanted.get(file) != found.get(file))
    said = "the same bytes" if not differ else f"{len(differ)} files DIFFER: {differ[:5]}"
    print(f"{way}: {time.perf_counter() - started:.0f} s, {len(found)} files, {said}", flush=True)
    return not differ


def _bucket(recipe: str, place: pathlib.Path) -> dict[str, str]:
    (place / "s3").mkdir()
    with seaweedfs(place / "s3") as port:
        before = dict(os.environ)
        os.environ.update(endpoint(port))
        try:
            subprocess.run(tokenmill(recipe, "s3://tests/run", "--workers", "2"), check=True)
            return digests(Folder("s3://tests/run"))
        finally:
            os.environ.clear()
            os.environ.update(before)


def _ray(way: str, recipe: str, place: pathlib.Path) -> dict[str, str]:
    nodes = int(way.removeprefix("ray-"))
    with ray_cluster(cores=2 // nodes) as cluster:
        if nodes == 2:
            cluster.start(1)
        command = tokenmill(recipe, str(place / way), "--executor", "ray", "--address", cluster.address)
        subprocess.run(cluster.spaces.within(0, *command), check=True, env=cluster.environment)
    log = (place / way / "tasks.log").read_text()
    print("  tasks by node: " + ", ".join(f"{n}: {log.count(f' on {n}')}" for n in ("10.77.0.1", "10.77.0.2")))
    return digests(local_folder(place / way))


def _join(recipe: str, place: pathlib.Path) -> dict[str, str]:
    command = tokenmill(recipe, str(place / "join"), "--workers", "1", "--join")
    for process in [subprocess.Popen(command) for _ in range(2)]:
        if process.wait():
            raise SystemExit("a process that joined has failed")
    return digests(local_folder(place / "join"))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
