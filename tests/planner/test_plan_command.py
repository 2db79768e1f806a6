"""`tokenmill plan` as a person uses it."""

import json
import subprocess
import sys

import pytest

from tests.planner.test_inputs import BUDGET
from tokenmill.cli import main

RUN = ["--model", "llama3-8b", "--gpu", "h100-sxm", "--gpus", "64", "--samples", "500"]


def test_the_whole_plan_prints_the_answer_first(capsys):
    assert main(["plan", *RUN, "--tokens", "1T"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[3].startswith("Does it fit?")
    assert "Failures and checkpoints" in out


def test_json_is_json_and_is_what_write_writes(capsys, tmp_path):
    target = tmp_path / "plan.json"
    assert main(["plan", *RUN, "--tokens", "1T", "--json", "--write", str(target)]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(target.read_text())


def test_a_budget_gives_a_row_per_vocabulary_and_the_runs_own_cpu_time(capsys, tmp_path):
    budget = {k: v for k, v in BUDGET.items() if k != "cpu_seconds"}
    (tmp_path / "token_budget.json").write_text(json.dumps(budget))
    (tmp_path / "summary.json").write_text(json.dumps({"passes": [{"cpu_seconds": 3600.0}, {"cpu_seconds": 3600.0}]}))
    assert main(["plan", *RUN, "--budget", str(tmp_path / "token_budget.json"), "--json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert [r["vocab_size"] for r in out["vocabulary"]["rows"]] == [1024, 4096]
    assert out["bill"]["data_preparation_usd"]["p50"] == pytest.approx(0.1)


def test_a_recipes_plan_table_is_taken_and_options_win(capsys, tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('name = "x"\n[plan]\nmodel = "gpt2"\ngpu = "a100"\ngpus = 8\nmfu = [0.3, 0.4]\ntokens = 1e10\n')
    assert main(["plan", "--recipe", str(recipe), "--parameters", "1B", "--json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["inputs"]["gpus"] == 8
    assert out["model"]["total_parameters"] == pytest.approx(1e9, rel=0.01)


@pytest.mark.parametrize("question", ["fit", "time", "scale", "layout", "serving", "checkpoint"])
def test_a_question_is_answered_and_explained(question, capsys):
    assert main(["plan", question, *RUN, "--tokens", "1T", "--explain"]) == 0
    assert "\n      from " in capsys.readouterr().out or question in ("layout", "serving")


def test_compare_takes_two_files(capsys, tmp_path):
    plan, measured = tmp_path / "plan.json", tmp_path / "measured.json"
    assert main(["plan", *RUN, "--tokens", "1T", "--mfu", "0.4", "--brief", "--write", str(plan)]) == 0
    measured.write_text(json.dumps({"tokens_per_second": 4e5, "peak_allocated_bytes": 70e9}))
    assert main(["plan", "compare", str(plan), str(measured)]) == 0
    out = capsys.readouterr().out
    assert "Time: " in out
    assert "For the next plan" in out


def test_validate_reproduces_everything(capsys):
    assert main(["plan", "validate"]) == 0
    assert "all reproduced" in capsys.readouterr().out


def test_list_names_models_and_accelerators(capsys):
    assert main(["plan", "list"]) == 0
    out = capsys.readouterr().out
    assert "llama3-8b" in out
    assert "h100-sxm" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*RUN], "how many tokens"),
        (["fitt", *RUN], "no question 'fitt'; did you mean fit"),
        (["--model", "llama", "--gpu", "h100", "--gpus", "8", "--tokens", "1T"], "model: 'llama' is unknown"),
        (["--model", "gpt2", "--gpu", "h100", "--gpus", "eight", "--tokens", "1T"], "'eight' is not a number"),
        ([*RUN, "--tokens", "1T", "--mfu", "0.95"], "above what any matmul reaches"),
        ([*RUN, "--budget", "absent.json"], "No such file"),
        (["vocab", *RUN, "--tokens", "1T"], "needs measured totals"),
        (["compare", "one.json"], "takes two files"),
        (["fit", "file.json", *RUN], "takes no file"),
        (["measure", "--parameters", "1M", "--steps", "x"], "steps"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_two(arguments, message, capsys):
    assert main(["plan", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_reader_that_has_had_enough_is_no_error():
    command = [sys.executable, "-m", "tokenmill", "plan", *RUN, "--tokens", "1T", "--explain"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0


def test_a_recipes_plan_is_taken_and_an_option_wins(tmp_path, capsys):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[plan]\nmodel = "llama3-8b"\ngpu = "h100"\ngpus = 64\ntokens = "1T"\n')
    assert main(["plan", "--recipe", str(recipe), "--gpus", "128", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"]["gpus"] == 128


def test_the_page_in_one_file_that_is_not_built_says_why_in_one_line(tmp_path, capsys):
    assert main(["plan", "page", "--static", str(tmp_path / "plan.html")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "numpy" in said
    assert "plan serve" in said
    assert list(tmp_path.iterdir()) == []
