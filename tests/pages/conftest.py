"""A real browser, and the pages it looks at: of runs of every kind, of a comparison, and of the planner."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import shutil
import subprocess
import sys
import threading

import msgspec
import pytest
import tomli_w

from pipeline.errors import UserError
from pipeline.executors.here import run_here
from pipeline.recipe import build_recipe
from pipeline.run import execute, local_folder
from pipeline.run.folder import EDITION, Unfinished, read_manifest
from tokenizer.counting.budget import GroupTokens, TokenBudget
from tokenmill.cli import main
from tokenmill.compare.page import page as compare_page
from tokenmill.compare.runs import compare
from tokenmill.plan_serve import START, server
from tokenmill.products import add_products, beside, results_of
from tokenmill.report.page import page
from tokenmill.report.run_files import files_of
from tokenmill.tables import assemble

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test-pages")
CHROMIUM = shutil.which("chromium")
ROOT = pathlib.Path(__file__).resolve().parents[2]
EVIL = "</script><img src=x onerror=alert(1)>\" onload='x' \u202eright to left\x1b[31mred\u2028" + "w" * 10_000
RULES = [
    {"use": "language", "keep": ["en"], "min_score": 0.3},
    {"use": "gopher_quality", "words": "whitespace", "min_doc_words": 12, "min_stop_words": 0},
    {"use": "exact_dedup"},
]


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no chromium: make test-pages installs it")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def made(place: pathlib.Path, name: str, rows: list[dict[str, object]], **tables: object) -> pathlib.Path:
    """Run the rules over `rows` and return the run folder."""
    (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    recipe = build_recipe({"name": name, "input": {"paths": f"{name}.jsonl"}, "stage": RULES, "limits": {"failed_share": 1.0}, **tables}, place)  # fmt: skip
    plan = assemble(recipe)
    execute(plan, local_folder(place / name), workers=1, executor=run_here, finish=add_products, beside=beside(plan))
    return place / name


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Write the pages and return where they are, by name."""
    place = tmp_path_factory.mktemp("pages")
    found: dict[str, pathlib.Path] = {}

    def put(name: str, text: str) -> None:
        found[name] = place / f"{name}.html"
        found[name].write_text(text, "utf-8")

    demo = place / "demo"
    command = [sys.executable, "-m", "tokenmill", "run", str(ROOT / "sample_data/recipe.toml"), "--out", str(demo)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    found["run"] = demo / "report.html"
    text = "the river and the mill have been of use to that town with the bridge "
    plain = [{"id": str(n), "url": f"https://a{n % 3}.example/{n}", "text": text * (n % 5)} for n in range(20)]
    evil = [{"id": EVIL, "url": f"https://{EVIL}", "source": EVIL, "text": f"{text}{EVIL} {n % 7}"} for n in range(12)]
    one = made(
        place,
        "one",
        plain,
        tokenizer={"vocab_sizes": [260, 300]},
        plan={"model": "llama3-8b", "gpu": "h100-sxm", "gpus": 8},
    )
    put("one-language", (one / "report.html").read_text("utf-8"))
    put("none", (made(place, "none", []) / "report.html").read_text("utf-8"))
    hostile = made(place, "hostile", evil)
    put("hostile", (hostile / "report.html").read_text("utf-8"))
    put("many-languages", page(many(one)))
    assert (
        main(
            [
                "analyse",
                str(place / "hostile.jsonl"),
                "--sample",
                "20",
                "--workers",
                "1",
                "--out",
                str(place / "analyse.html"),
            ]
        )
        == 0
    )
    found["analyse"] = place / "analyse.html"
    put("compare", compare_page(compare(local_folder(one), local_folder(hostile))))
    found["batch"] = spikes(place, demo)
    put("later-stopped", stopped_later(made(place, "later", evil)))
    found["unfinished"] = never_finished(place, evil)
    return found


def spikes(place: pathlib.Path, run: pathlib.Path) -> pathlib.Path:
    """Return the page of the spike in a log of losses, over token shards of `run`."""
    steps = [f"{n},{5 - n / 100 + math.sin(n) / 100 + 2 * (n == 40)},{1 + math.sin(3 * n) / 10}" for n in range(60)]
    (place / "loss.csv").write_text("\n".join(["step,loss,gradient norm", *steps]) + "\n")
    shards = ["tokens", str(run), "--tokenizer", str(run / "tokenizer/4096"), "--out", str(place / "tokens")]
    assert main(shards) == 0
    given = ["--losses", str(place / "loss.csv"), "--global-batch", "8", "--seq", "256", "--out", str(place / "spikes")]
    assert main(["batch", str(place / "tokens"), *given]) == 0
    return place / "spikes/batch.html"


def stopped_later(run: pathlib.Path) -> str:
    """Return the page of `run` after its inputs have changed and another run in its folder has ended with an error."""
    manifest = read_manifest(local_folder(run))
    assert manifest is not None
    (run.parent / f"{manifest.name}.toml").write_text(
        tomli_w.dumps({**manifest.recipe, "ledger": {"text_characters": 5}})
    )
    manifest.recipe_file = str(run.parent / f"{manifest.name}.toml")
    (run / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    with (run.parent / f"{manifest.name}.jsonl").open("a") as file:
        file.write("{}\n")
    state = Unfinished(EDITION, manifest.name, manifest.recipe_file, "failed", EVIL[:300], manifest.passes[:1])
    (run / "unfinished.json").write_bytes(msgspec.json.encode(state))
    assert main(["report", str(run)]) == 0
    return (run / "report.html").read_text("utf-8")


def never_finished(place: pathlib.Path, rows: list[dict[str, object]]) -> pathlib.Path:
    """Return the page of a run that ended because too many documents fail."""
    with pytest.raises(UserError, match="failed_share"):
        made(place, "broken", [*rows, *({"text": 3, "url": EVIL} for _ in range(200))], limits={"failed_share": 0.01})
    assert main(["report", str(place / "broken")]) == 1
    return place / "broken/report.html"


def many(run: pathlib.Path):
    """Return the files of a run as if it had read a thousand million documents of 200 languages, and had not finished since."""
    out = local_folder(run)
    files = files_of(out, results_of(out).plan_lines, "a later run in this folder has not finished")
    assert files.budget is not None
    summary = {**files.summary, "read": 1_234_567_890, "kept": 987_654_321, "bytes_in": 10**13, "bytes_out": 4 * 10**12}
    built = msgspec.to_builtins(files.budget)
    for row in built["tokenizers"]:
        row["tokens"] *= 10**10
        row["by_language"] = {
            f"l{n:03d}": msgspec.to_builtins(GroupTokens(10, 1000, 900, 200, (200 - n) * 10**9, 3.5 - n / 100, 1.1 + n / 60, 1.0 + n / 90, 1.0))
            for n in range(200)
        }  # fmt: skip
    return dataclasses.replace(files, summary=summary, budget=msgspec.convert(built, TokenBudget))


@pytest.fixture(scope="session")
def planner():
    """Return the address of the planner's page, its state in the link."""
    listening = server(None, 0)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_address[1]}/", "&".join(f"{k}={v}" for k, v in START.items())
    listening.shutdown()
    thread.join()
    listening.server_close()
