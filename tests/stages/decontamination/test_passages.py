"""Which texts of an evaluation item are looked for."""

from __future__ import annotations

import doctest

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import stages.decontamination.passages
from stages.decontamination.evaluation_sets import Item
from stages.decontamination.passages import MIN_DISTINCT, fold_texts, passages_of
from tests.stages.text.test_shingles import hashes
from tests.stages.text.test_units import TEXTS, units


def test_the_docstring_examples_hold():
    assert doctest.testmod(stages.decontamination.passages).failed == 0


def found(*items: dict[str, str], ngram: int = 13, min_words: int = 8, max_items: int = 10) -> list[tuple[str, str]]:
    made = [Item(str(n), tuple(item.items())) for n, item in enumerate(items)]
    passages, folded, numbers, _ = passages_of("set", made, ngram, min_words, max_items)
    return [(p.field, folded.content(n).decode()) for p, n in zip(passages, numbers.tolist(), strict=True)]


def words(first: int, count: int) -> str:
    return " ".join(f"w{n}" for n in range(first, first + count))


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, max_size=4), st.integers(1, 6))
def test_texts_are_folded_and_cut_as_the_plain_rule_says(texts, n):
    folded = fold_texts(texts, n)
    for row, text in enumerate(texts):
        plain = units(text)
        grams = slice(folded.grams[row], folded.grams[row + 1])
        runs = [plain[i : i + n] for i in range(max(1, len(plain) - n + 1))] if plain else []
        assert folded.content(row).decode() == " ".join(plain)
        assert folded.units[row] == len(plain)
        assert folded.hashes[grams].tolist() == hashes(text, n)
        assert [folded.text[a:b].tobytes().decode() for a, b in folded.at[grams]] == [" ".join(run) for run in runs]
        assert folded.telling[grams].tolist() == [
            len(set(run)) >= min(n, MIN_DISTINCT) and any(ord(c) >= 0x61 for word in run for c in word) for run in runs
        ]


def test_characters_of_scripts_without_spaces_weigh_half_a_word():
    assert fold_texts(["one two", "日本", "𠀀x", "ไท", ""], 3).weights.tolist() == [2, 1, 1.5, 1, 0]


def test_each_long_text_is_a_passage():
    assert found({"question": words(0, 20), "answer": words(50, 14)}) == [
        ("question", words(0, 20)),
        ("answer", words(50, 14)),
    ]


def test_a_prompt_is_looked_for_without_its_labels():
    texts = [text for _, text in found({"query": f"Question: {words(0, 15)}\nAnswer: {words(30, 15)}"})]
    assert texts == [words(0, 15), words(30, 15), f"{words(0, 15)} {words(30, 15)}"]


def test_texts_that_are_short_each_are_looked_for_together():
    assert ("all", words(0, 12)) in found({"question": words(0, 6), "answer": words(6, 6)})


def test_of_short_texts_the_longest_and_questions_are_looked_for():
    item = {"question": f"{words(0, 8)}?", "right": words(20, 9), "wrong": words(40, 8)}
    assert {field for field, _ in found(item)} == {"question", "right", "all"}


def test_a_short_text_that_leads_its_item_is_looked_for():
    item = {"kind": "a label", "task": words(0, 9), "code": words(20, 30)}
    assert [field for field, _ in found(item)] == ["task", "code"]


def test_a_choice_does_not_lead_its_item():
    choices = tuple(("choices", words(20 * n, 9)) for n in range(3))
    passages, _, _, _ = passages_of("set", [Item("0", (*choices, ("query", words(80, 15))))], 13, 8, 10)
    assert [p.field for p in passages] == ["query"]


def test_a_short_answer_to_a_long_question_is_not_looked_for():
    assert [field for field, _ in found({"question": words(0, 30), "answer": words(50, 9)})] == ["question"]


def test_texts_of_too_few_words_are_not_looked_for():
    assert found({"question": words(0, 3), "answer": words(5, 4)}) == []


def test_addresses_numbers_and_repetitions_are_not_looked_for():
    address = "https://example.org/a/b/c/d/e/f/g/h/i/j/k/l"
    assert found({"source": address}, {"n": "1 2 3 4 5 6 7 8 9 10 11 12 13 14"}, {"r": "ha " * 20}) == []


def test_a_text_of_many_items_is_a_template():
    items = [{"task": words(0, 20), "question": words(100 * n, 15)} for n in range(1, 5)]
    assert len(found(*items, max_items=4)) == 5
    assert {field for field, _ in found(*items, max_items=3)} == {"question"}


def test_a_text_that_items_share_is_one_passage_named_for_the_first():
    made = [Item(str(n), (("question", words(0, 20)), ("answer", str(n)))) for n in range(3)]
    passages, _, numbers, _ = passages_of("set", made, 13, 8, 10)
    assert [(p.item, p.field) for p in passages] == [("0", "question")]
    assert np.issubdtype(numbers.dtype, np.integer)
