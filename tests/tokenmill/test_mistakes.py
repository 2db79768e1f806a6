"""Mistakes: each is one line with file, line, stage, key and remedy, and exit code 2, before anything is written."""

import json
import os
import pathlib

import pytest

from tokenmill.cli import main

IN = '[input]\npaths = ["a.jsonl"]\n'
WEB = '[input]\npaths = [{ path = "a.jsonl", source = "web" }]\n'
PAGES = '[input]\npaths = ["page.warc"]\n'
TOKENS = f"{IN}[tokenizer]\nvocab_sizes = [512]\n"
PAGE = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http\r\nContent-Length: 19\r\n\r\nHTTP/1.1 200 OK\r\n\r\n\r\n\r\n"


def stage(use, *keys):
    return f'[[stage]]\nuse = "{use}"\n' + "".join(f"{key}\n" for key in keys)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    text = "The miller and the farmers have grain that they bring to the mill of the river"
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"id": str(n), "text": f"{text} {n}."}) + "\n" for n in range(5))
    )
    (tmp_path / "page.warc").write_bytes(PAGE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *arguments):
    """Return what a command that must fail says, having held it against what every mistake is."""
    before = sorted(pathlib.Path().rglob("*"))
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert code == 2, captured
    (line,) = captured.err.splitlines()
    assert line.startswith("tokenmill: ")
    assert sorted(pathlib.Path().rglob("*")) == before
    return line


MISTAKES = {
    # the recipe as a whole
    "no input": ('name = "x"\n', "news.toml: input: is missing: write [input]"),
    "no toml": ("= =\n", "is not TOML: Invalid statement (at line 1"),
    "a key twice": (f'name = "a"\nname = "b"\n{IN}', "at line 2"),
    "an unknown table": (f"{IN}[tokeniser]\n", "line 3: tokeniser: unknown; did you mean tokenizer?"),
    "a table that is none": (f"limits = 3\n{IN}", "line 1: limits: must be a table [limits]; got 3"),
    "a tokenizer that is no table": (f"tokenizer = 3\n{IN}", "tokenizer: must be a table [tokenizer]; got 3"),
    "a name that leads up": (f'name = ".."\n{IN}', "name: must be a name, not a path"),
    "a name that is a path": (f'name = "a/b"\n{IN}', "name: must be a name, not a path"),
    "a name that is a number": (f"name = 3\n{IN}", "name: must be a name, not a path"),
    # inputs
    "no paths": ("[input]\npaths = []\n", "line 2: input.paths: give at least one path"),
    "a path that is a number": ('[input]\npaths = ["a.jsonl", 4]\n', "input.paths[1]: must be a path, or a table"),
    "a file that is not there": ('[input]\npaths = ["b.jsonl"]\n', "input.paths[0]: nothing matches 'b.jsonl'"),
    "a folder that is not there": ('[input]\npaths = ["x/*.jsonl"]\n', "there is no folder 'x'"),
    "a variable that is not set": ('[input]\npaths = ["$NOT_SET_HERE/a"]\n', "no variable NOT_SET_HERE"),
    "an unknown key of a path": ('[input]\npaths = [{ path = "a.jsonl", src = "x" }]\n', "src: unknown; did you mean source?"),
    "an unknown key of input": (f"{IN}lim = 3\n", "line 3: input.lim: unknown; did you mean limit?"),
    "a negative limit": (f"{IN}limit = -3\n", "line 3: input.limit: must be a whole number from 1 on; got -3"),
    "a limit that is true": (f"{IN}limit = true\n", "input.limit: must be a whole number from 1 on; got True"),
    "a sample above 1": (f"{IN}sample = 2\n", "input.sample: must be a share above 0, up to 1; got 2"),
    "a sample of nan": (f"{IN}sample = nan\n", "input.sample: must be a share above 0, up to 1; got nan"),
    "a source that is a number": (f"{IN}source = 3\n", "input.source: must be a text; got 3"),
    "an unknown column of ours": (f'{IN}columns = {{ txt = "a" }}\n', "columns.txt: unknown; did you mean text?"),
    # stages
    "one bracket too few": (f'{IN}[stage]\nuse = "c4"\n', "stage: write each stage as [[stage]]"),
    "a stage without use": (f"{IN}[[stage]]\nkeep = 1\n", "line 3, stage 1: stages[0].use: name the stage"),
    "an unknown stage": (IN + stage("minhash"), "unknown stage 'minhash'; did you mean minhash_dedup?"),
    "an unknown key of a stage": (IN + stage("language", "min_scor = 1"), "line 5, stage 1 (language): stages[0].min_scor"),
    "a text for a number": (IN + stage("language", 'min_score = "x"'), "min_score: must be a number; got 'x'"),
    "a text for a list": (IN + stage("language", 'keep = "en"'), "keep: must be a list of texts; got 'en'"),
    "a number too large": (IN + stage("minhash_dedup", f"bands = {10**30}"), "bands: must be a number that fits 64 bits"),
    "a number that is none": (IN + stage("minhash_dedup", "threshold = nan"), "threshold: must be a number"),
    "none of the words allowed": (
        IN + stage("extract", 'engine = "trafilatur"'),
        "'trafilatur' is none of: best, trafilatura, resiliparse; did you mean trafilatura?",
    ),
    "a share above 1": (IN + stage("minhash_dedup", "threshold = 1.2"), "threshold: must be above 0 and at most 1; got 1.2"),
    "a score above 1": (IN + stage("language", "min_score = 1.5"), "min_score: 1.5 is no probability"),
    "none of something": (IN + stage("minhash_dedup", "bands = 0"), "bands: must be at least 1; got 0"),
    "a share of lines above 1": (IN + stage("fineweb", "line_punct_thr = 1.5"), "line_punct_thr: must be a share from 0 to 1; got 1.5"),
    "a share below 0": (IN + stage("gopher_repetition", "dup_para_frac = -0.3"), "dup_para_frac: must be a share from 0 to 1"),
    "a share of n-grams above 1": (IN + stage("gopher_repetition", "top_n_grams = [[2, 1.5]]"), "must be shares from 0 to 1; got 1.5"),
    "a number for a pair": (IN + stage("gopher_repetition", "top_n_grams = [2, 0.5]"), "top_n_grams: must be a list of lists of"),
    "fewer words than none": (IN + stage("gopher_quality", "min_doc_words = -5"), "min_doc_words: must be at least 0; got -5"),
    "fewer sentences than off": (IN + stage("c4", "min_num_sentences = -7"), "min_num_sentences: must be at least -1; got -7"),
    "a language that is none": (IN + stage("language", 'keep = ["klingon"]'), "keep: unknown language 'klingon'"),
    "only a language that is none": (
        IN + stage("language") + stage("c4", 'only = ["English"]'),
        "line 7, stage 2 (c4): stages[1].only: unknown language 'English'; did you mean 'en'",
    ),
    "only without language before": (IN + stage("c4", 'only = ["en"]'), "c4 needs column 'language'"),
    "language before extract": (
        PAGES + stage("language") + stage("extract"),
        "stage 1 (language): stages[0].use: language needs text, and page.warc holds pages: put it behind extract",
    ),
    "pages and no extract": (PAGES + stage("c4"), 'page.warc holds pages, not text: begin the recipe with [[stage]] use = "extract"'),
    "evaluation sets that are not there": (IN + stage("decontaminate", 'evals = ["x.jsonl"]'), "nothing matches 'x.jsonl'"),
    "no evaluation sets": (IN + stage("decontaminate"), "evals: names no evaluation set"),
    "weights and fractions": (IN + stage("mix", "weights = { a = 1 }", "fractions = { b = 1 }"), "weights: give weights"),
    "a negative weight": (IN + stage("mix", "weights = { web = -1 }"), "'web' must be a number from 0 on; got -1.0"),
    "weights all 0": (IN + stage("mix", "weights = { web = 0 }"), "weights: are all 0"),
    "a fraction above 1": (IN + stage("mix", "fractions = { web = 2 }"), "'web' must be from 0 to 1; got 2.0"),
    "a weight for no input": (
        WEB + stage("mix", "weights = { web = 1, boks = 1 }"),
        "stages[0].weights: no input has the source 'boks'; there are: web",
    ),
    "a fraction for no input": (WEB + stage("mix", "fractions = { wb = 0.5 }"), "'wb'; did you mean web?; there are: web"),
    "an input without a weight": (
        PAGES + stage("extract") + stage("mix", "weights = { web = 1 }"),
        "weights: no input has the source 'web'; there are: default",
    ),
    "a Python file that is not there": (IN + stage("python", 'file = "x.py"', 'function = "f"'), "nothing matches 'x.py'"),
    "a key that must be given": (IN + stage("python"), "stages[0].file: is missing and has no default"),
    "counts without a ladder": (IN + stage("token_counts"), "token_counts needs a ladder"),
    # tokenizer, report, plan
    "sizes that descend": (f"{IN}[tokenizer]\nvocab_sizes = [4096, 1024]\n", "line 4: tokenizer.vocab_sizes"),
    "a size below the bytes": (f"{IN}[tokenizer]\nvocab_sizes = [10]\n", "ask for at least 257"),
    "sizes as text": (f'{IN}[tokenizer]\nvocab_sizes = "1024"\n', "must be a list of whole numbers; got '1024'"),
    "a pattern that is none": (f'{TOKENS}pattern = "("\n', "line 5: tokenizer.pattern"),
    "a token that is not special": (f'{TOKENS}eos_token = "<x>"\n', "eos_token: '<x>' is none of special_tokens"),
    "a report of nothing": (f"{IN}[report]\n", "report: needs a [tokenizer] table"),
    "a plan of no tokens": (f'{IN}[plan]\nmodel = "llama3-8b"\n', "plan: needs tokens"),
    "an unknown model": (f'{TOKENS}[plan]\nmodel = "llama9"\ngpu = "h100-sxm"\ngpus = 8\n', "line 6: plan.model: 'llama9' is unknown"),
    "an unknown key of the plan": (f'{TOKENS}[plan]\nmodel = "llama3-8b"\ngpuss = 8\n', "plan.gpuss: unknown; did you mean gpus"),
    # limits, ledger, output
    "too little memory": (f"{IN}[limits]\nmemory_bytes = 1000\n", "memory_bytes: 1,000 is too little"),
    "a negative limit of time": (f"{IN}[limits]\ncpu_seconds = -1\n", "cpu_seconds: must be 0 or more; got -1.0"),
    "a share of failures above 1": (f"{IN}[limits]\nfailed_share = 2\n", "failed_share: must be a share from 0 to 1; got 2.0"),
    "bytes as text": (f'{IN}[limits]\nbatch_bytes = "8MB"\n', "batch_bytes: must be a whole number; got '8MB'"),
    "fewer characters than none": (f"{IN}[ledger]\ntext_characters = -2\n", "must be -1 (all) or more; got -2"),
    "a format that is none": (f'{IN}[output]\nformat = "csv"\n', "format: 'csv' is none of: parquet, jsonl.zst"),
    "an unknown column": (f'{IN}[output]\ncolumns = ["txt"]\n', "no column 'txt'; did you mean text?"),
    "parts by a column that is not there": (f'{IN}[output]\npartition_by = "language"\n', "no column 'language'"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_recipe_is_one_line_with_place_and_remedy(capsys, folder, name):
    text, says = MISTAKES[name]
    (folder / "news.toml").write_text(text)
    line = said(capsys, "run", "news.toml", "--out", "out", "--dry-run")
    assert says in line
    if "/*" not in text and "page.warc holds pages, not text" not in line:
        assert line.startswith("tokenmill: news.toml")


COMMANDS = {
    "an unknown command": (["rnu"], "there is no command 'rnu'; did you mean run?"),
    "an unknown option": (["run", "ok.toml", "--wrkers", "2"], "unrecognized arguments: --wrkers"),
    "no recipe": (["run"], "the following arguments are required: RECIPE"),
    "a recipe that is not there": (["run", "none.toml"], "none.toml: cannot be read (No such file or directory)"),
    "a recipe that is a folder": (["run", "."], "cannot be read (Is a directory)"),
    "no workers": (["run", "ok.toml", "--workers", "0"], "--workers must be at least 1; got 0"),
    "a negative limit": (["run", "ok.toml", "--limit", "-3"], "--limit must be a whole number from 1 on; got -3"),
    "a limit in words": (["run", "ok.toml", "--limit", "ten"], "--limit must be a whole number from 1 on; got 'ten'"),
    "a sample of 0": (["run", "ok.toml", "--sample", "0"], "--sample must be a share from 0 to 1; got 0"),
    "a change of no stage": (["run", "ok.toml", "--set", "c44.x=1"], "the recipe has no stage 'c44'; did you mean c4?"),
    "a change that is none": (["run", "ok.toml", "--set", "c4"], "must be STAGE.KEY=VALUE"),
    "quiet and verbose": (["run", "ok.toml", "-q", "-v"], "not allowed with argument"),
    "the inputs as run folder": (["run", "all.toml", "--out", "out"], "--out: "),
    "a file as run folder": (["run", "ok.toml", "--out", "a.jsonl"], "a.jsonl"),
    "inspect of nothing": (["inspect", "none"], "none does not exist; give the folder of a run"),
    "inspect of a file": (["inspect", "a.jsonl"], "is a file, not the folder of a run"),
    "inspect of a folder": (["inspect", "."], "holds no run"),
    "inspect of a negative number": (["inspect", ".", "--limit", "-3"], ""),
    "report of nothing": (["report", "none"], "none does not exist"),
    "report of a file": (["report", "a.jsonl"], "is a file, not the folder of a run"),
    "report of a folder": (["report", "."], "holds no run"),
    "clean of nothing": (["clean", "none"], "none does not exist"),
    "clean of a file": (["clean", "a.jsonl"], "is a file, not the folder of a run"),
    "clean of a folder": (["clean", "."], "holds no run"),
    "show of nothing": (["show", "none"], "nothing matches 'none'"),
    "show of an empty folder": (["show", "empty"], "holds no file"),
    "show of a negative number": (["show", "a.jsonl", "--limit", "-3"], "--limit must not be negative; got -3"),
    "show of an unknown column": (["show", "a.jsonl", "--columns", "txt"], "no column 'txt'; did you mean text?"),
    "show of no such id": (["show", "a.jsonl", "--id", "x"], "no document is as asked for in a.jsonl"),
    "a stage of files": (["show", "a.jsonl", "--stage", "c4"], "--stage needs the folder of a run"),
    "duplicates of files": (["show", "a.jsonl", "--diff"], "--diff needs the folder of a run"),
    "an unknown stage": (["stages", "c5"], "unknown stage 'c5'"),
    "an unknown pipeline": (["init", "--like", "fineweb3"], "invalid choice: 'fineweb3'"),
    "a recipe that is there": (["init", "a.jsonl", "--out", "ok.toml"], "ok.toml is there already"),
    "a recipe in no folder": (["init", "a.jsonl", "--out", "x/r.toml"], "there is no folder x"),
    "a recipe for nothing": (["init", "none.jsonl"], "nothing matches 'none.jsonl'"),
    "a recipe for what is not read": (["init", "notes.pdf"], "none of 1 files can be read"),
    "a sample where something is": (["init", "--sample", "."], ". is there already"),
    "an unknown shell": (["completion", "csh"], "invalid choice: 'csh'"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistake_on_the_command_line_is_one_line_and_makes_nothing(capsys, folder, name):
    (folder / "ok.toml").write_text(IN + stage("c4"))
    (folder / "all.toml").write_text('[input]\npaths = ["**/*.parquet", "a.jsonl"]\n' + stage("c4"))
    (folder / "x.parquet").write_bytes((folder / "a.jsonl").read_bytes())
    (folder / "notes.pdf").write_text("notes")
    (folder / "empty").mkdir()
    arguments, says = COMMANDS[name]
    assert says in said(capsys, *arguments)


def test_nothing_but_the_name_prints_help(capsys):
    assert main([]) == 2
    assert "COMMAND" in capsys.readouterr().out


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out.startswith("tokenmill ")) == (0, True)


def test_a_control_character_in_a_message_is_written_out(capsys, folder):
    name = "a\x1b[2Jb.toml"
    assert "\\x1b[2J" in said(capsys, "run", name)
    assert os.path.exists(folder)


def test_a_run_that_keeps_nothing_says_what_took_the_documents(folder, capsys):
    (folder / "r.toml").write_text(IN + stage("gopher_quality", "min_doc_words = 5000"))
    assert main(["run", "r.toml", "--out", "out", "--quiet", "--workers", "1"]) == 0
    assert "none of 5 documents is left, 5 of them went by gopher_quality: gopher_short_doc" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("inputs", "place"),
    [
        ('paths = ["a.jsonl"]\ndocuments = "lines"\n', "r.toml, line 3: input.documents: "),
        ('paths = [{ path = "a.jsonl", documents = 3 }]\n', "r.toml, line 2: input.paths[0].documents: "),
    ],
)
def test_what_a_document_of_a_text_file_is_has_three_values(folder, capsys, inputs, place):
    (folder / "r.toml").write_text(f"[input]\n{inputs}")
    assert f"{place}must be one of file, line, paragraph; got" in said(capsys, "run", "r.toml", "--dry-run")


def test_a_bad_tar_by_name_is_said_with_what_it_is_not(folder, capsys):
    (folder / "a.tar.gz").write_bytes(b"no archive")
    (folder / "r.toml").write_text('[input]\npaths = ["a.tar.gz"]\n')
    assert "a.tar.gz is called an archive" in said(capsys, "run", "r.toml", "--dry-run")
