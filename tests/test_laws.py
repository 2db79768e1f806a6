"""Laws that every registered stage obeys, ours and those of other packages alike."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pathlib
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.corpus import Corpus, LocalTasks, Observations, Shards
from pipeline.corpus_stage import CorpusStage
from pipeline.documents import Batch, Document, text_array
from pipeline.recipe import build_stage, stage_from
from pipeline.registry import stage_class, stage_names
from pipeline.run.passes import schema_after
from pipeline.stage import DocumentStage, MapStage, Stage
from pipeline.storage import Folder, encode_table
from pipeline.worker.isolate import apply_stage, observe_batch
from stages.quality.training.examples import BAD, GOOD, Examples
from stages.quality.training.train import Options, train

ENGLISH = (
    "The old mill by the river has ground wheat since the spring of the year in which the bridge was built. "
    "Farmers from both sides of the valley bring their grain to it, and the miller weighs every sack that they have. "
    "When the water is low he waits, and tells them that the rain will be with them before the week is out.\n"
)
HOSTILE = [
    "",
    " \n\t \n",
    "\x00" * 50,
    "a\x00b\x1fc\x7f",
    "\ud800 lone surrogate \udfff",
    "\ufffd" * 100,
    "x" * 200_000,
    "word " * 50_000,
    "\n" * 100_000,
    "مرحبا بالعالم " * 400,
    "השפה העברית " * 400,
    "すもももももももものうち" * 400,
    "🙂\u200d👩🏽\u200d🚀\u0301\u0301" * 300,
    "<html><body><p>" + "<div>" * 300 + "deep",
    "lorem ipsum { javascript } [1] [edit] terms of use.\n" * 30,
    "#" * 500 + "…" * 500,
    ENGLISH,
    ENGLISH * 3,
]
EVAL = {
    "question": ENGLISH,
    "answer": "It is the miller who weighs every sack of grain that the farmers bring to the mill.",
}


@pytest.fixture(scope="module")
def parameters(tmp_path_factory):
    """What the stages need that have parameters without a default, by stage name."""
    folder = tmp_path_factory.mktemp("laws")
    (folder / "eval.jsonl").write_text(json.dumps(EVAL) + "\n")
    (folder / "rules.py").write_text("def keep(document):\n    return len(document.text) > 20\n")
    training = Examples(folder / "examples")
    training.add(GOOD, [f"{ENGLISH} Part {n}." for n in range(10)])
    training.add(BAD, [f"BUY NOW {n} !!!" for n in range(10)])
    training.close()
    train(training, folder / "model.bin", Options(dim=2, epochs=1, word_ngrams=1))
    return {
        "fasttext_quality": {"model": str(folder / "model.bin")},
        "fasttext_top": {"model": str(folder / "model.bin"), "share": 0.5},
        "python": {"file": str(folder / "rules.py"), "function": "keep"},
        "decontaminate": {"evals": [str(folder / "eval.jsonl")]},
        "mix": {"weights": {"web": 1.0}},
        "url_filter": {"domains": ["example.org"]},
        "bad_words": {"words": ["miller", "lorem ipsum"]},
        "train_tokenizers": {"vocab_sizes": [300, 400]},
    }


def make(name: str, parameters: dict) -> Stage:
    return stage_from(stage_class(name), parameters.get(name, {}), pathlib.Path("/"), name)


def batch_of(texts: list[str]) -> Batch:
    number = len(texts)
    columns = {
        "id": pa.array([f"d{n}" for n in range(number)], pa.large_string()),
        "url": pa.array([None] * number, pa.large_string()),
        "source": pa.array(["web"] * number, pa.large_string()),
        "text": text_array(texts),
        "raw": pa.array(
            [t.encode("utf-8", "replace") if n % 2 else None for n, t in enumerate(texts)], pa.large_binary()
        ),
        "content_type": pa.array(["text/html"] * number, pa.large_string()),
        "language": pa.array(["en"] * number, pa.large_string()),
        "language_score": pa.array([0.9] * number, pa.float64()),
    }
    return Batch(pa.RecordBatch.from_pydict(columns))


MAPS = [name for name in stage_names() if issubclass(stage_class(name), MapStage)]
CORPUS = [name for name in stage_names() if issubclass(stage_class(name), CorpusStage)]
ALONE = [name for name in CORPUS if name != "token_counts"]  # it takes the ladder that train_tokenizers gives


def facts(stage: MapStage, batch: Batch):
    """Return what `stage` makes of `batch` as plain values: rows kept, and removals by document id."""
    outcome = apply_stage(stage, batch)
    ids = batch.column("id")
    removed = [(ids[r.row], r.kind, r.rule, r.value, r.threshold, r.detail, r.text) for r in outcome.removed]
    return outcome.kept.data.to_pylist(), removed


@pytest.mark.parametrize("name", stage_names())
def test_a_stage_pickles(name, parameters):
    stage = make(name, parameters)
    assert pickle.loads(pickle.dumps(stage)) == stage


@pytest.mark.parametrize("name", stage_names())
def test_a_stage_built_from_toml_equals_one_built_in_python_and_has_its_fingerprint(name, parameters):
    given_in_toml = build_stage({"use": name, **parameters.get(name, {})}, pathlib.Path("/"), "stages[0]")
    values = {f.name: getattr(given_in_toml, f.name) for f in dataclasses.fields(given_in_toml)}
    built = stage_class(name)(**values)
    assert built == given_in_toml
    assert built.fingerprint() == given_in_toml.fingerprint()
    json.dumps(given_in_toml.identity())


@pytest.mark.parametrize("name", stage_names())
def test_a_stage_and_each_of_its_parameters_is_documented(name):
    from tokenmill.commands.stages import describe

    described = describe(name)
    assert len(described["summary"]) > 20
    assert [p["name"] for p in described["parameters"] if not p["documentation"]] == []


@pytest.mark.parametrize("name", MAPS)
def test_an_empty_batch_stays_empty_and_has_the_columns_that_the_stage_promises(name, parameters):
    stage = make(name, parameters)
    batch = batch_of([])
    outcome = stage.apply(batch)
    assert (len(outcome.kept), outcome.removed) == (0, [])
    assert set(outcome.kept.data.schema.names) == set(schema_after(stage, batch.data.schema, "here").names)


@pytest.mark.parametrize("name", MAPS)
def test_hostile_texts_neither_crash_nor_vanish(name, parameters):
    stage = make(name, parameters)
    batch = batch_of(HOSTILE)
    outcome = stage.apply(batch)
    gone = [r for r in outcome.removed if r.kind != "span"]
    assert len(outcome.kept) + len(gone) == len(HOSTILE)
    assert [r for r in gone if r.kind == "failed"] == []
    assert set(outcome.kept.column("id")) | {f"d{r.row}" for r in gone} == set(batch.column("id"))


@pytest.mark.parametrize("name", [n for n in MAPS if issubclass(stage_class(n), DocumentStage)])
def test_judging_a_lone_surrogate_does_not_raise(name, parameters):
    make(name, parameters).judge(Document("\ud800", language="en", raw=None))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MAPS)
def test_every_dropped_document_carries_a_reason_and_what_was_measured(name, parameters):
    for removal in make(name, parameters).apply(batch_of(HOSTILE)).removed:
        assert removal.rule
        if removal.kind == "document":
            assert removal.value is not None or removal.detail, removal
            assert (removal.threshold is None) or (removal.value is not None), removal


@pytest.mark.parametrize("name", MAPS)
@settings(max_examples=8, deadline=None)
@given(cuts=st.sets(st.integers(1, len(HOSTILE) - 1), max_size=6))
def test_any_split_into_batches_gives_the_same_result(name, parameters, cuts):
    stage = make(name, parameters)
    whole_kept, whole_removed = facts(stage, batch_of(HOSTILE))
    bounds = [0, *sorted(cuts), len(HOSTILE)]
    kept, removed = [], []
    for start, end in itertools.pairwise(bounds):
        rows, gone = facts(stage, batch_of(HOSTILE).select(range(start, end)))
        kept += rows
        removed += gone
    assert kept == whole_kept
    assert removed == whole_removed


@pytest.mark.parametrize("name", ALONE)
def test_observing_hostile_texts_in_pieces_decides_as_observing_them_whole(name, parameters, tmp_path):
    stage = make(name, parameters)
    assert isinstance(stage, CorpusStage)
    texts = [*HOSTILE, *HOSTILE, *(f"{ENGLISH} Part {n}. " * 2 for n in range(20))]
    documents = batch_of(texts)
    documents = documents.with_columns({"text": text_array(documents.texts)})
    kept = []
    for pieces in (1, 7):
        folder = Folder(str(tmp_path / str(pieces)))
        folder.put("docs/part-00000.parquet", encode_table(pa.Table.from_batches([documents.data])))
        tables = []
        for rows in np.array_split(np.arange(len(texts)), pieces):
            tables += observe_batch(stage, documents.select(rows.tolist()), rows)[0]
        (folder / "seen").put_table("part-00000.parquet", stage.combine(tables))
        work = folder / "work"
        listed = Shards.write(folder, ["part-00000"], [len(texts)])
        observed = Observations(folder / "seen", listed)
        decision = stage.decide(observed, Corpus(folder / "docs", listed), LocalTasks(), work)
        if decision is None:
            kept.append({n: (work.get(n)) for n in work.names()})
            continue
        batch = batch_of(texts)
        batch.folder = work
        kept.append(decision.apply(batch).kept.column("id"))
    assert kept[0] == kept[1]
