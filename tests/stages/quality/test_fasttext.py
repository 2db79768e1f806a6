"""fastText as a quality score: the stages, training, and what training tells of itself."""

import json
import math
import pathlib
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Batch, Document
from pipeline.errors import RecipeError, UserError
from pipeline.recipe import build_stage
from pipeline.stage import Drop, Keep
from stages.quality import fasttext_model
from stages.quality.fasttext_model import Scorer, labels_of, line_of
from stages.quality.fasttext_quality import FastTextQuality
from stages.quality.fasttext_top import FastTextTop, _key, _score
from stages.quality.training import train as training
from stages.quality.training.examples import BAD, GOOD, Examples
from stages.quality.training.features import Weights
from stages.quality.training.measures import at_rates, auc, threshold_for
from stages.quality.training.train import Options, train
from tests.stages import corpus_run
from tokenmill.cli import main

CALM = "The mill by the river number {n} has ground wheat since the bridge was built, and the miller weighs every sack."
LOUD = "BUY NOW number {n} !!! click here | free shipping | best price > sign in > cart > checkout $$$ {n}"
GOOD_TEXTS = [CALM.format(n=n) for n in range(40)]
BAD_TEXTS = [LOUD.format(n=n) for n in range(40)]
SMALL = Options(dim=4, epochs=5, buckets=1000)


def examples(folder, good, bad, held_out=0.0):
    found = Examples(folder, held_out)
    found.add(GOOD, good)
    found.add(BAD, bad)
    found.close()
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    train(examples(folder / "examples", GOOD_TEXTS, BAD_TEXTS), folder / "model.bin", SMALL)
    return str(folder / "model.bin")


@pytest.fixture(scope="module")
def grades(tmp_path_factory):
    """A model with three grades, as others make them, on texts that are not folded."""
    import fasttext

    folder = tmp_path_factory.mktemp("grades")
    lines = [
        f"__label__{grade} {word} {word} number {n}"
        for n in range(30)
        for grade, word in enumerate(["Bad", "So", "Good"])
    ]
    (folder / "lines.txt").write_text("\n".join(lines) + "\n")
    made = fasttext.train_supervised(str(folder / "lines.txt"), dim=4, epoch=20, lr=0.5, thread=1, seed=1, verbose=0)
    made.save_model(str(folder / "grades.bin"))
    return str(folder / "grades.bin")


def test_good_documents_stay_and_bad_ones_are_dropped_with_score_and_threshold(model):
    stage = FastTextQuality(model=(model,), threshold=0.5)
    assert isinstance(stage.judge(Document(CALM.format(n=99))), Keep)
    drop = stage.judge(Document(LOUD.format(n=99)))
    assert isinstance(drop, Drop)
    assert (drop.rule, drop.threshold) == ("low_quality", 0.5)
    assert drop.value < 0.5


def test_a_score_is_kept_as_a_signal_of_every_document(model):
    outcome = FastTextQuality(model=(model,)).apply(Batch.of([CALM, LOUD, ""]))
    assert outcome.signals.shape == (3, 1)
    assert outcome.signals[0, 0] > 0.5 > outcome.signals[1, 0] >= 0


def test_a_model_of_ours_says_itself_that_it_reads_folded_texts_and_another_is_read_as_dclm_does(model, grades):
    assert fasttext_model.form_of(model) == "folded"
    assert fasttext_model.form_of(grades) == "dclm"
    assert Scorer(grades, "2").score("Good\nGood") == Scorer(grades, "2", form="dclm").score("Good Good")


@pytest.mark.parametrize(
    ("form", "line"),
    [("dclm", "Two  lines, here It's"), ("datatrove", "Two  lines, hereIt's"), ("folded", "two lines , here it ' s")],
)
def test_the_line_a_model_reads(form, line):
    assert line_of(" Two  lines, here\nIt's ", form) == line


def test_a_score_is_what_fasttext_itself_predicts_for_the_label(grades):
    import fasttext

    published = fasttext.load_model(grades)
    for text in ("Good number 3 Bad", "So so", "unknown words only"):
        labels, scores = published.f.predict, Scorer(grades, "2").score(text)
        said = {label: score for score, label in labels(text + "\n", 3, 0.0, "strict") if isinstance(label, str)}
        said = said or dict(labels(text + "\n", 3, 0.0, "strict"))
        assert said["__label__2"] == scores


def test_grades_have_an_expected_value(grades):
    stage = FastTextQuality(model=(grades,), values={"0": 0, "1": 1, "2": 2}, threshold=1.2)
    stage.check()
    scores = stage.apply(Batch.of(["Good Good", "So So", "Bad Bad"])).signals[:, 0]
    each = [Scorer(grades, label).score("So So") for label in "012"]
    assert scores[1] == pytest.approx(each[1] + 2 * each[2])
    assert scores[0] > 1.2 > scores[1] > scores[2]


@pytest.mark.parametrize("text", ["", " \n", "\x00", "</s>", "__label__hq", "\ud800", "1" * 100_000, "ا" * 1000])
def test_every_text_has_a_score(model, grades, text):
    for path, label in ((model, "hq"), (grades, "2")):
        assert 0 <= Scorer(path, label).score(text) <= 1.001


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": "good"}, r"label: the model has no label 'good'; it has cc, hq"),
        ({"values": {"3": 1}}, r"values: the model has no label '3'"),
        ({"threshold": 3}, r"threshold: no score can be 3"),
        ({"threshold": "much"}, r"threshold: must be a number"),
        ({"model": "text.bin"}, r"model: text.bin is no fastText model"),
        ({"model": "cut.bin"}, r"model: cut.bin is cut off"),
        ({"model": "newer.bin"}, r"model: newer.bin is a fastText model of a newer version"),
        ({"model": "vectors.bin"}, r"model: vectors.bin has word vectors and no labels"),
        ({"model": "none.bin"}, r"model: nothing matches 'none.bin'"),
    ],
    ids=lambda value: next(iter(value.values())).__str__() if isinstance(value, dict) else "",
)
def test_what_cannot_work_is_refused_before_work(model, tmp_path, change, said):
    data = pathlib.Path(model).read_bytes()
    (tmp_path / "text.bin").write_text("no model")
    (tmp_path / "cut.bin").write_bytes(data[:200])
    (tmp_path / "newer.bin").write_bytes(data[:4] + struct.pack("<i", 99) + data[8:])
    words = bytearray(data)
    for label in (b"__label__hq\0", b"__label__cc\0"):
        words[data.index(label) + len(label) + 8] = 0  # said to be a word
    (tmp_path / "vectors.bin").write_bytes(words)
    with pytest.raises(RecipeError, match=said):
        build_stage({"use": "fasttext_quality", "model": model, **change}, tmp_path, "stages[0]")


def test_labels_are_read_from_the_dictionary(model, grades):
    assert (labels_of(model), labels_of(grades)) == ({"hq", "cc"}, {"0", "1", "2"})


@given(scores=st.lists(st.floats(width=32, allow_nan=False), min_size=2))
def test_a_scores_key_keeps_the_order_and_leads_back(scores):
    values = np.array(scores, np.float32) + np.float32(0)  # no -0, which equals 0
    keys = _key(values)
    np.testing.assert_array_equal(_score(keys), values)
    np.testing.assert_array_equal(np.argsort(keys, kind="stable"), np.argsort(values, kind="stable"))


@pytest.mark.parametrize("of", ["documents", "bytes"])
@pytest.mark.parametrize("each", ["", "source"])
@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_the_top_share_is_what_sorting_all_scores_gives(model, tmp_path, monkeypatch, of, each, share):
    texts = [f"{CALM} " * (n % 3) + f"{LOUD} " * (n % 5) for n in range(40)]
    sources = ["web" if n % 3 else "books" for n in range(40)]
    shards = [
        corpus_run.documents(texts[a:b], [f"{n:02d}" for n in range(a, b)], source=sources[a:b])
        for a, b in ((0, 7), (7, 30), (30, 40))
    ]
    monkeypatch.setattr("stages.quality.fasttext_top.PART_ROWS", 10)
    monkeypatch.setattr("stages.quality.fasttext_top.SMALL", 5)
    found = corpus_run.run(FastTextTop(model=(model,), share=share, of=of, each=each), shards, tmp_path)
    expected = set()
    for group in set(sources) if each else {None}:
        rows = [n for n in range(40) if group in (None, sources[n])]
        scored = sorted(
            (
                (np.float32(Scorer(model, "hq").score(texts[n])), len(texts[n].encode()) if of == "bytes" else 1)
                for n in rows
            ),
            reverse=True,
        )
        total, reached = sum(size for _, size in scored), 0
        for cut, size in scored:  # noqa: B007
            reached += size
            if reached >= share * total - 1e-9:
                break
        expected |= {f"{n:02d}" for n in rows if np.float32(Scorer(model, "hq").score(texts[n])) >= cut}
    assert set(found.kept) == expected
    for removal in found.removed.values():
        assert (removal.rule, removal.value < removal.threshold) == ("below_top_share", True)


def test_a_share_that_is_none_is_refused(model):
    with pytest.raises(RecipeError, match=r"share: 0.0 is no share"):
        build_stage({"use": "fasttext_top", "model": model, "share": 0.0}, pathlib.Path("/"), "stages[0]")


def test_the_same_documents_in_any_order_train_the_same_model_byte_for_byte(model, tmp_path):
    shuffled = examples(tmp_path / "examples", GOOD_TEXTS[::-1] + GOOD_TEXTS[:3], BAD_TEXTS[20:] + BAD_TEXTS[:20])
    train(shuffled, tmp_path / "model.bin", SMALL)
    assert (tmp_path / "model.bin").read_bytes() == pathlib.Path(model).read_bytes()
    assert shuffled.left_out == {"the same text again": 3}


def test_texts_that_are_good_and_bad_and_texts_without_a_word_are_left_out_and_counted(tmp_path):
    found = examples(tmp_path, ["a b", "c", "  "], ["A B", "d"])
    assert [(label, line) for label, line, _ in found.read()].sort() == [(GOOD, "c"), (BAD, "d")].sort()
    assert found.left_out == {"without a word": 1, "the same text again": 1, "both good and bad": 1}


def test_a_text_cannot_name_a_label_or_end_its_line(tmp_path):
    found = examples(tmp_path, ["__label__cc is here </s> and\x1fmore\nlines"], [])
    ((label, line, _),) = found.read()
    assert label == GOOD
    assert not {"__label__cc", "</s>"} & set(line.split())
    assert len(line.splitlines()) == 1


def test_what_is_held_out_depends_on_the_text_alone_and_is_not_trained_on(tmp_path):
    kept = {}
    for name, good in (("a", GOOD_TEXTS), ("b", GOOD_TEXTS[::-1][:30])):
        kept[name] = {line: held for _, line, held in examples(tmp_path / name, good, [], 0.3).read()}
    assert 0 < sum(kept["a"].values()) < 40
    assert all(kept["a"][line] == held for line, held in kept["b"].items())


def test_no_more_is_tested_on_than_memory_should_hold(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "MOST_TESTED", 5)
    counts, held = train(examples(tmp_path / "e", GOOD_TEXTS, BAD_TEXTS, 0.5), tmp_path / "m.bin", SMALL)
    assert len(held) == 5
    assert 20 < sum(counts.values()) < 60


def test_too_few_documents_are_refused(tmp_path):
    with pytest.raises(UserError, match="only 3 bad documents"):
        train(examples(tmp_path / "e", GOOD_TEXTS, BAD_TEXTS[:3]), tmp_path / "m.bin", SMALL)
    assert not (tmp_path / "m.bin").exists()


@pytest.mark.parametrize("text", [CALM, LOUD, "unknown wörter ünd • маленький", ""])
def test_the_weights_of_words_and_runs_add_up_to_the_models_log_odds(model, text):
    line = line_of(text, "folded")
    score = training._score(pathlib.Path(model), line)
    odds = Weights.of(fasttext_model.load(model)).log_odds(line)
    assert 1 / (1 + math.exp(-odds)) == pytest.approx(score, abs=2e-4)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30))
def test_the_area_under_the_curve_is_the_share_of_pairs_in_order(rows):
    scores, good = np.array([s for s, _ in rows], float), np.array([g for _, g in rows])
    area, low, high = auc(scores, good)
    pairs = [(a > b) + (a == b) / 2 for a in scores[good] for b in scores[~good]]
    if not pairs:
        assert math.isnan(area)
        return
    assert area == pytest.approx(np.mean(pairs))
    assert low <= area + 1e-9
    assert area <= high + 1e-9


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.sampled_from([0.05, 0.1, 0.5, 1.0]))
def test_a_threshold_keeps_the_wanted_rate_and_no_whole_score_more(scores, rate):
    values = np.array(scores, float)
    threshold = threshold_for(values, rate)
    assert (values >= threshold).mean() >= rate - 1e-9
    assert (values > threshold).mean() < rate


def test_keep_rates_tell_precision_and_what_is_kept_of_both_kinds():
    (row,) = at_rates(np.array([0.9, 0.8, 0.2, 0.1]), np.array([True, False, True, False]), (0.5,))
    assert (row.threshold, row.kept, row.precision, row.good_kept, row.bad_kept) == (0.8, 0.5, 0.5, 0.5, 0.5)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, texts in (("good", GOOD_TEXTS), ("bad", BAD_TEXTS)):
        pathlib.Path(f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return [
        "quality",
        "train",
        "--good",
        "good.jsonl",
        "--bad",
        "bad.jsonl",
        "--out",
        "m.bin",
        "--dim",
        "4",
        "--epochs",
        "5",
    ]


def test_the_command_trains_and_says_in_its_card_what_the_model_is_worth(files, capsys):
    assert main([*files, "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert card == json.loads(pathlib.Path("m.bin.json").read_text())
    assert card["trained_on"]["good"] + card["tested_on"]["good"] == 40
    assert card["auc"]["value"] == 1.0
    assert {"sack", "the"} & {f["text"] for f in card["features"]}
    assert "AUC 1.0000" in pathlib.Path("m.bin.md").read_text()
    build_stage(
        {"use": "fasttext_quality", "model": "m.bin", "label": "hq", "threshold": card["threshold"]["value"]},
        pathlib.Path(),
        "x",
    )


def test_documents_with_a_label_of_their_own_are_tested_on(files, capsys):
    rows = [{"text": f"{CALM} again", "label": 1}, {"text": f"{LOUD} again", "label": 0}]
    pathlib.Path("test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.table({"text": [f"{CALM} and", f"{LOUD} and"], "label": ["good", "bad"]}), "test.parquet")
    assert main([*files, "--test", "test.jsonl", "test.parquet", "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert (card["trained_on"], card["tested_on"]) == ({"good": 40, "bad": 40}, {"good": 2, "bad": 2})


def test_the_threshold_of_a_rate_can_be_that_of_a_corpus(files, capsys):
    pathlib.Path("crawl.jsonl").write_text("".join(json.dumps({"text": LOUD * n}) + "\n" for n in range(1, 30)))
    assert main([*files, "--rate", "0.1", "--rate-on", "crawl.jsonl", "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert card["threshold"]["of"] == "29 documents of a corpus"
    assert card["threshold"]["value"] < 0.5


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--test", "2"], "--test"),
        (["--test", "nowhere.jsonl"], "nothing matches 'nowhere.jsonl'"),
        (["--test", "good.jsonl"], "label"),
        (["--rate", "0"], "--rate must be a share"),
        (["--epochs", "0"], "--epochs must be more than 0"),
        (["--text-column", "body"], "body"),
        (["--out", "good.jsonl/m.bin"], "cannot write"),
        (["--good", "empty.jsonl"], "only 0 good documents"),
    ],
    ids=["share", "no file", "no label", "rate", "epochs", "column", "out", "empty"],
)
def test_what_the_command_cannot_do_is_said_in_a_line(files, capsys, more, said):
    pathlib.Path("empty.jsonl").write_text("")
    assert main([*files, *more]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.strip().splitlines()) == 1
