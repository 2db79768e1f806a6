"""What is done is published: a fault behind the corpus never withholds it."""

import json

import pytest

from pipeline.executors.here import run_here
from pipeline.recipe import build_recipe
from pipeline.run import execute, local_folder
from stages.tokens.token_counts import TokenCounts
from stages.tokens.train_tokenizers import TrainTokenizers
from tokenmill.products import add_products, beside
from tokenmill.tables import assemble

PLAN = {"model": "llama3-8b", "gpu": "h100-sxm", "gpus": 8}


@pytest.fixture
def run(tmp_path):
    lines = [json.dumps({"id": str(n), "text": f"the miller has grain number {n} for the mill"}) for n in range(20)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))

    def run(sizes=(260,), **tables):
        table = {"name": "t", "input": {"paths": "a.jsonl"}, "tokenizer": {"vocab_sizes": list(sizes)}, **tables}
        plan = assemble(build_recipe(table, tmp_path))
        out = local_folder(tmp_path / "out")
        done = execute(plan, out, workers=1, executor=run_here, finish=add_products, beside=beside(plan))
        return done, tmp_path / "out"

    return run


def broken(self, *arguments):
    raise ValueError("no such merge")


@pytest.mark.parametrize("stage", [TrainTokenizers, TokenCounts])
def test_a_fault_of_the_tokenizer_leaves_the_documents(run, monkeypatch, stage):
    monkeypatch.setattr(stage, "decide", broken)
    done, out = run(plan=PLAN)
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["kept"], summary["faults"]) == (20, done.summary.faults)
    assert "ValueError: no such merge (" in summary["faults"][stage.name]
    assert "test_published.py:" in summary["faults"][stage.name]
    assert "could not be made" in summary["faults"]["plan"]
    assert list((out / "data").glob("*.parquet"))
    assert "no such merge" in (out / "report.html").read_text()
    assert not (out / "token_budget.json").exists()


def test_once_it_is_mended_the_run_makes_what_was_missing(run, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(TrainTokenizers, "decide", broken)
        run()
    done, out = run()
    assert done.summary.faults == {}
    assert json.loads((out / "token_budget.json").read_text())["tokenizers"][0]["vocab_size"] == 260


def test_a_fault_of_the_plan_leaves_tokenizers_and_budget(run, monkeypatch):
    import planner.plan

    monkeypatch.setattr(planner.plan, "make_plan", broken)
    done, out = run(plan=PLAN)
    assert list(done.summary.faults) == ["plan"]
    assert (out / "token_budget.json").exists()
    assert not (out / "plan.json").exists()


def test_a_vocabulary_that_the_corpus_cannot_give_leaves_the_smaller_sizes_and_says_what_was_reached(run):
    done, out = run(sizes=(260, 100_000))
    budget = json.loads((out / "token_budget.json").read_text())
    assert [row["vocab_size"] for row in budget["tokenizers"]] == [260]
    assert f"{budget['missing']['reached']:,} were reached" in done.summary.faults["train_tokenizers"]
    assert list((out / "data").glob("*.parquet"))


def test_a_fault_of_a_stage_that_takes_documents_out_ends_the_run(run, monkeypatch):
    from stages.dedup.exact_dedup import ExactDedup

    monkeypatch.setattr(ExactDedup, "decide", broken)
    with pytest.raises(ValueError, match="no such merge"):
        run(stage=[{"use": "exact_dedup"}])


def test_a_fault_of_the_page_leaves_the_documents_and_is_told(run, monkeypatch):
    monkeypatch.setattr("tokenmill.report.page.page", broken)
    done, out = run(plan=PLAN)
    assert "no such merge" in done.summary.faults["report"]
    assert list((out / "data").glob("*.parquet"))
    assert not (out / "report.html").exists()
