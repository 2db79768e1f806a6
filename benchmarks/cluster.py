"""What a run costs an object store and a cluster: requests a shard, tasks a second, memory of the driver.

    python benchmarks/cluster.py requests              requests per shard and pass, and per shard and decision
    python benchmarks/cluster.py tasks HOST:PORT [N [ROUNDS]]   tasks a second on a Ray cluster that is there, empty ones
    python benchmarks/cluster.py storage RECIPE        the same recipe into a folder and into a bucket, CPU and wall time

Requests are counted by a proxy before a real S3 server, at two sizes: what one more shard costs is the slope.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter

import psutil

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pipeline.executors.cluster import Needs, attached  # noqa: E402
from pipeline.storage import Folder  # noqa: E402
from tests.pipeline.storage.fault_proxy import FaultProxy  # noqa: E402
from tests.servers import endpoint, seaweedfs  # noqa: E402

RECIPE = """
name = "requests"
[input]
paths = ["s3://tests/in-{number}/*.jsonl"]
[limits]
split_bytes = 20_000
[[stage]]
use = "gopher_quality"
min_doc_words = 3
[[stage]]
use = "exact_dedup"
[[stage]]
use = "minhash_dedup"
[[stage]]
use = "mix"
fractions = {{ default = 0.9 }}
"""


def requests() -> None:
    """Print requests a shard, by pass and decision, for runs of two sizes."""
    with tempfile.TemporaryDirectory() as name, seaweedfs(pathlib.Path(name)) as port:
        os.environ.update(endpoint(port))
        counts = {number: counted(number, port, pathlib.Path(name)) for number in (20, 60)}
    (few, few_shards), (many, many_shards) = counts.values()
    print(f"{'':48}{few_shards:4} shards  {many_shards:4} shards     a shard")
    for place in sorted({*few, *many}):
        slope = (many[place] - few[place]) / (many_shards - few_shards)
        print(f"{place:48}  {few[place]:10}  {many[place]:10}  {slope:10.2f}")


def counted(number: int, port: int, folder: pathlib.Path) -> tuple[Counter[str], int]:
    """Return the requests of a run over about `number` splits, by the pass or decision they belong to, and its shards."""
    line = "The boat number {} left the harbour in the morning and the people on the shore have waited for it with {}. "
    texts = [
        "".join(line.format((n + k) % 900, n % 7) for k in range(6)) for n in range(number * 30)
    ]  # one part of a decision
    body = "".join(json.dumps({"text": text}) + "\n" for text in texts)[: number * 20_000 - 10_000]
    Folder(f"s3://tests/in-{number}").put("all.jsonl", body[: body.rindex("\n") + 1].encode())
    (folder / "recipe.toml").write_text(RECIPE.format(number=number))
    proxy = FaultProxy(port)
    environment = {**os.environ, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{proxy.port}"}
    out = f"s3://tests/run-{number}"
    command = [sys.executable, "-m", "tokenmill", "run", str(folder / "recipe.toml"), "--out", out, "--workers", "2"]
    subprocess.run(command, check=True, env=environment, capture_output=True, cwd=ROOT)
    found: Counter[str] = Counter()
    for request in proxy.requests:
        found[place_of(request)] += 1
    proxy.close()
    return found, int(Folder(out).get_json("manifest.json")["shards"])


def place_of(request: str) -> str:
    """Return the pass or decision that a request is for, and how."""
    method, address = request.split()[:2]
    path, _, question = address.partition("?")
    if "list-type" in question or method == "POST":
        return f"all: {'lists' if method == 'GET' else 'deletes, many at once'}"
    if "/in-" in path:
        return "input: reads"
    step = re.search(r"/(\d\d)-[\w.-]+?-[0-9a-f]{16}/", path)
    if step is None:
        return "publication and bookkeeping"
    decision = re.search(r"observed-([\w.#-]+?)-[0-9a-f]{16}/decision-", path)
    seen = re.search(r"observed-([\w.#-]+?)-[0-9a-f]{16}/", path)
    part = re.search(r"[0-9a-f]{16}/(tally|ledger|signals|rows)/", path)
    what = (
        f"decision of {decision[1]}"
        if decision
        else f"observation of {seen[1]}"
        if seen
        else part[1]
        if part
        else "texts"
    )
    return f"pass {step[1]}, {what}: {'reads' if method in ('GET', 'HEAD') else 'writes'}"


def nothing(number: int) -> int:
    """Do nothing."""
    return number


def tasks(address: str, number: int = 1000, rounds: int = 5) -> None:
    """Print tasks a second of rounds of empty tasks, and the memory of this process."""
    with tempfile.TemporaryDirectory() as name, attached(address) as on_cluster:
        out = Folder(name)
        out.put("sign", b"")
        executor = on_cluster(Needs(out, "sign"))
        list(executor(nothing, [(n, n) for n in range(50)], workers=0))
        speeds = []
        for _ in range(rounds):
            started = time.perf_counter()
            assert sum(result.value for result in executor(nothing, ((n, n) for n in range(number)), workers=0)) > 0
            speeds.append(number / (time.perf_counter() - started))
            memory = psutil.Process().memory_info().rss >> 20
            print(f"{speeds[-1]:.0f} tasks a second, driver {memory} MB", file=sys.stderr)
        print(f"median {statistics.median(speeds):.0f} tasks a second over {number} tasks", file=sys.stderr)


def storage(recipe: str) -> None:
    """Print CPU and wall seconds of `recipe` with 2 workers into a folder and a bucket, three times each in turn."""
    spent: dict[str, list[tuple[float, float]]] = {"folder": [], "bucket": []}
    with tempfile.TemporaryDirectory() as name, seaweedfs(pathlib.Path(name)) as port:
        os.environ.update(endpoint(port))
        for turn in range(3):
            for kind, out in (("folder", f"{name}/run-{turn}"), ("bucket", f"s3://tests/run-{turn}")):
                before, started = os.times(), time.perf_counter()
                command = [sys.executable, "-m", "tokenmill", "run", recipe, "--out", out, "--workers", "2"]
                subprocess.run(command, check=True, capture_output=True)
                after = os.times()
                cpu = after.children_user + after.children_system - before.children_user - before.children_system
                spent[kind].append((cpu, time.perf_counter() - started))
                print(f"{kind}: {cpu:.1f} s of CPU, {spent[kind][-1][1]:.1f} s", flush=True)
    cpu, wall = ([statistics.median(pair[n] for pair in pairs) for pairs in spent.values()] for n in (0, 1))
    print(
        f"bucket / folder: CPU {cpu[1] / cpu[0]:.2f}, wall {wall[1] / wall[0]:.2f} (the server's own CPU is not in it)"
    )


if __name__ == "__main__":
    {"requests": requests, "tasks": tasks, "storage": storage}[sys.argv[1]](
        *(int(argument) if argument.isdigit() else argument for argument in sys.argv[2:])
    )
