"""Units and how numbers are written."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import units
from planner.errors import PlanError, near
from planner.report.quantity import Interval, Quantity, Section, Table, table_lines, write
from planner.units import big, duration, money, number, plain


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(units).failed == 0


@given(st.floats(1e-3, 1e15))
def test_a_number_written_big_is_read_back_within_half_a_percent(value):
    assert number(big(value).replace(" ", "")) == pytest.approx(value, rel=6e-3)


@pytest.mark.parametrize("text", ["", "seven", "7BB", "1e", "--3", "0x10"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(PlanError, match="not a number"):
        number(text)


def test_bytes_are_binary_and_said_to_be():
    assert write(80 * 2**30, "bytes") == "80 GiB"
    assert write(3 * 2**20, "bytes") == "3 MiB"


def test_the_unit_is_in_the_key_and_the_word_once_in_an_interval():
    q = Quantity("training", Interval(1e9, 2e9, 3e9), "tokens", "tokens")
    assert q.key == "training_tokens"
    assert q.text() == "2 B tokens (1 B to 3 B)"
    assert Quantity("x", Interval(2.0, 2.0, 2.0), "days", "").text() == "2 days"


def test_a_section_explains_itself_when_asked():
    s = Section("a", "A", (Quantity("n", 3, "", "n", "1 + 2", {"x": 1}, "algebra"),))
    assert s.lines() == ["A", "  n  3"]
    assert s.lines(explain=True)[2:] == ["      = 1 + 2", "      with x = 1", "      from algebra"]


def test_tables_align():
    lines = table_lines(Table((("a", "name"), ("b_tokens", "n")), (("x", 1e9), ("yyy", 20.0))))
    assert lines == ["name    n", "x     1 B", "yyy    20"]


def test_words_for_time_money_and_names():
    assert duration(90) == "1.5 minutes"
    assert money(1_234_567) == "$1.23 M"
    assert plain(0.5) == "0.5"
    assert "did you mean gpus" in near("gpuz", ["gpus", "model"])
    assert "known: a, b" in near("zzz", ["a", "b"])
