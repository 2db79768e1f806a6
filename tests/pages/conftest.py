"""A real browser, and the pages it looks at: of runs of every kind, of a comparison, and of the planner."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys
import threading

import msgspec
import pytest

from pipeline.executors.here import run_here
from pipeline.recipe import build_recipe
from pipeline.run import execute, local_folder
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
    return found


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
