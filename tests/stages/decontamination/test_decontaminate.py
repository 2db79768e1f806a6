"""Documents that hold evaluation items are dropped, others are not."""

from __future__ import annotations

import json
import os
import pathlib
import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Batch, Document
from pipeline.stage import Drop, StageFault
from stages.decontamination.decontaminate import Decontaminate

REAL = pathlib.Path(
    os.environ.get("TOKENMILL_REAL_DATA", pathlib.Path(__file__).resolve().parents[3] / "../shared/data")
)
QUESTION = (
    "A baker sells 12 loaves each morning and 9 more in the afternoon; on Friday he bakes twice as many "
    "and gives away four. How many loaves leave his shop on Friday?"
)
SHORT = "Which river runs through the oldest city of the province?"
CHINESE = "小明每天早上卖出十二个面包下午又卖出九个星期五他烤了两倍的面包并送出四个请问星期五一共卖出多少面包"
FILLER = "Nothing of this has to do with any test; it is a page about gardens, soil and the weather of the past year. "


@pytest.fixture
def evals(tmp_path):
    rows = [{"question": QUESTION, "answer": "38"}, {"question": SHORT, "answer": "the Lune"}, {"question": CHINESE}]
    (tmp_path / "loaves.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return (str(tmp_path / "loaves.jsonl"),)


def judged(evals, text, **parameters) -> Drop | None:
    return Decontaminate(evals=evals, **parameters).judge(Document(text))


def wrapped(text: str, words: int) -> str:
    parts = text.split()
    return "\n".join(" ".join(parts[i : i + words]) for i in range(0, len(parts), words))


@pytest.mark.parametrize(
    "leak",
    [
        QUESTION,
        wrapped(QUESTION, 8),
        QUESTION.upper(),
        QUESTION.replace(" ", " - ").replace(";", "…"),
        "\u201c" + QUESTION.replace(" ", "\u00a0") + "\u201d",
    ],
)
def test_a_leaked_item_is_found_however_it_is_set(evals, leak):
    verdict = judged(evals, FILLER + leak + FILLER)
    assert (verdict.rule, verdict.value, verdict.threshold) == ("contaminated", 1.0, 0.5)
    assert verdict.detail == (
        "loaves, item 0, question: a baker sells 12 loaves each morning and 9 more in the afternoon"
    )


def test_less_than_the_share_of_an_item_is_no_leak(evals):
    part = " ".join(QUESTION.split()[:15])
    assert judged(evals, FILLER + part) is None
    assert judged(evals, FILLER + part, min_share=0.1).value == pytest.approx(3 / 20)


def test_a_short_item_is_found_only_as_a_whole(evals):
    assert judged(evals, FILLER + SHORT.lower() + FILLER).detail == (
        "loaves, item 1, question: which river runs through the oldest city of the province"
    )
    assert judged(evals, FILLER + SHORT.rsplit(maxsplit=1)[0] + " region") is None
    assert judged(evals, FILLER + SHORT, min_words=11) is None


def test_a_word_that_only_begins_like_the_last_of_a_short_item_is_no_match(evals):
    assert judged(evals, SHORT.rstrip("?") + "s") is None


def test_text_without_spaces_is_found_by_characters(evals):
    assert judged(evals, "今天天气很好。" + CHINESE[:20] + "，\n" + CHINESE[20:]).value == 1.0
    assert judged(evals, "今天天气很好。" + CHINESE[:12]) is None


def test_the_batch_and_the_single_document_get_the_same_verdict(evals):
    stage = Decontaminate(evals=evals)
    texts = [FILLER, QUESTION, "", SHORT + FILLER, FILLER + wrapped(QUESTION, 3)]
    outcome = stage.apply(Batch.of(texts))
    assert outcome.kept.texts == [FILLER, ""]
    for removal in outcome.removed:
        verdict = stage.judge(Document(texts[removal.row]))
        assert (removal.rule, removal.value, removal.threshold, removal.detail) == (
            verdict.rule, verdict.value, verdict.threshold, verdict.detail
        )  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(QUESTION.split()), max_size=60).map(" ".join), st.floats(0.05, 1))
def test_a_document_is_dropped_exactly_from_the_share_on(tmp_path_factory, text, share):
    path = tmp_path_factory.getbasetemp() / "share.jsonl"
    path.write_text(json.dumps({"q": QUESTION}))
    plain = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    item = "".join(c if c.isalnum() else " " for c in QUESTION.lower()).split()
    grams = {tuple(item[i : i + 3]) for i in range(len(item) - 2)}
    held = {tuple(plain[i : i + 3]) for i in range(len(plain) - 2)} & grams
    verdict = judged((str(path),), text, ngram=3, min_share=share)
    measured = len(held) / len(grams)
    assert (verdict is not None) == (measured >= share)
    assert verdict is None or verdict.value == pytest.approx(measured)


def test_a_template_that_all_items_share_is_no_leak(tmp_path):
    template = "Read the passage with care and then choose the one answer of the four below that fits it best. "
    rows = [{"query": template + " ".join(f"q{n}x{k}" for k in range(20))} for n in range(12)]
    (tmp_path / "set.jsonl").write_text("\n".join(map(json.dumps, rows)))
    evals = (str(tmp_path / "set.jsonl"),)
    assert judged(evals, template * 3, min_share=0.01) is None
    assert judged(evals, rows[3]["query"]).detail.startswith("set, item 3, query: ")


def test_fields_restrict_the_search(evals):
    assert judged(evals, QUESTION, fields=("answer",)) is None


def test_many_documents_at_random_fall_to_no_collision(evals):
    rng = random.Random(0)
    words = QUESTION.split()
    texts = [" ".join(rng.sample(words, len(words))) for _ in range(300)]
    assert len(Decontaminate(evals=evals).apply(Batch.of(texts)).kept) == 300


@pytest.mark.parametrize(
    "wrong",
    [{"ngram": 0}, {"min_share": 0.0}, {"min_share": 1.1}, {"min_words": 0}, {"max_items": 0}, {"fields": ("nil",)}],
)
def test_a_parameter_that_cannot_work_is_named(evals, wrong):
    with pytest.raises(StageFault) as fault:
        Decontaminate(evals=evals, **wrong).check()
    assert fault.value.key in wrong


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot read"), ("", "holds no text"), ('{"n": 1}\n', "holds no text"), ("{\n", "line 1")],
)
def test_a_set_that_cannot_be_used_is_named(tmp_path, content, said):
    path = tmp_path / "set.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(StageFault, match=said) as fault:
        Decontaminate(evals=(str(path),)).check()
    assert "set.jsonl" in fault.value.problem


def test_no_set_at_all_is_a_fault():
    with pytest.raises(StageFault) as fault:
        Decontaminate().check()
    assert fault.value.key == "evals"


def test_the_fingerprint_follows_the_content_of_a_set_not_its_place(tmp_path):
    for name, text in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "set.jsonl").write_text(json.dumps({"q": text}))
    a, b, c = (Decontaminate(evals=(str(tmp_path / name / "set.jsonl"),)).fingerprint() for name in "abc")
    assert a == b != c


def test_hostile_texts_are_judged(evals):
    for text in ("", "\0", "\ud800", "x" * 2_000_000, "a " * 100_000, "\ufffd", "שלום עולם"):
        assert judged(evals, text) is None


@pytest.mark.real
@pytest.mark.skipif(not (REAL / "evalsets").is_dir(), reason="needs the folder of real inputs")
def test_real_items_are_found_wrapped_and_in_capitals_and_their_neighbours_are_told_apart():
    path = REAL / "evalsets" / "gsm8k_test.jsonl"
    questions = [json.loads(line)["question"] for line in path.read_text("utf-8").splitlines()[::40]]
    stage = Decontaminate(evals=(str(path),))
    removed = stage.apply(Batch.of([FILLER + wrapped(question.upper(), 8) + FILLER for question in questions])).removed
    assert [removal.detail.split(",")[1] for removal in removed] == [f" item {40 * n}" for n in range(len(questions))]


def test_a_set_of_which_nothing_can_be_looked_for_is_refused_with_the_reason(tmp_path, evals):
    (tmp_path / "short.jsonl").write_text('{"q": "two words"}\n{"q": "three words here"}\n')
    with pytest.raises(
        StageFault, match=r"short\.jsonl: none of its 2 items .* 2 are too short \(min_words = 8\)"
    ) as fault:
        Decontaminate(evals=(*evals, str(tmp_path / "short.jsonl"))).check()
    assert fault.value.key == "evals"


def test_templates_alone_are_refused_too(tmp_path):
    (tmp_path / "same.jsonl").write_text((json.dumps({"q": QUESTION}) + "\n") * 21)
    with pytest.raises(StageFault, match=r"0 are too short .* the others all alike"):
        Decontaminate(evals=(str(tmp_path / "same.jsonl"),)).check()


def test_how_many_items_are_looked_for_is_told_by_set(tmp_path, evals):
    (tmp_path / "other.csv").write_text(f'question,answer\n"{QUESTION}",38\nWhy?,So\n')
    assert Decontaminate(evals=(*evals, str(tmp_path / "other.csv"))).notes() == [
        "loaves: 3 items found, 3 of them looked for, 0 too short",
        "other: 2 items found, 1 of them looked for, 1 too short",
    ]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_an_item_is_found_in_any_normal_form(tmp_path, form):
    items = [
        "Une boulangère vend chaque matin douze pains dorés à l'été et neuf autres l'après-midi",
        "古い灯台の灯は毎晩七時に点き、バスの窓からでも見える。さて何時に消えるでしょうか、朝の五時か",
        "바위 해안의 오래된 등대는 매일 저녁 일곱 시에 켜지는데 아침 몇 시에 꺼질까요",
    ]
    (tmp_path / "set.jsonl").write_text("".join(json.dumps({"q": text}) + "\n" for text in items))
    stage = Decontaminate(evals=(str(tmp_path / "set.jsonl"),))
    outcome = stage.apply(Batch.of([FILLER + unicodedata.normalize(form, text) + "\n" + FILLER for text in items]))
    assert [removal.value for removal in outcome.removed] == [1.0] * 3
