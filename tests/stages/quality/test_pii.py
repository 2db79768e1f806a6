"""What tells of a person is found and replaced, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Document
from pipeline.stage import StageFault
from stages.quality.pii import Pii

TAG = {"tag": "<{kind}>"}


def replaced(text, **parameters):
    verdict = Pii(**parameters).judge(Document(text))
    return text if verdict is None else verdict.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to john.doe+x@mail.example-host.co.uk.", "Write to <email>."),
        ("mailto:a@b.de, <c@d.org>", "mailto:<email>, <<email>>"),
        ("the server 8.8.8.8.", "the server <ip>."),
        ("over 2001:4860:4860::8888 too", "over <ip> too"),
        ("+49 (0)30 1234567", "<phone>"),
        ("+442071838750", "<phone>"),
        ("(212) 555-1234 or 212-555-1234 or 212.555.1234", "<phone> or <phone> or <phone>"),
        ("card 4111 1111 1111 1111, 4111111111111111", "card <card>, <card>"),
        ("amex 3782-822463-10005", "amex <card>"),
    ],
)
def test_finds_are_replaced(text, expected):
    assert replaced(text, **TAG) == expected


@pytest.mark.parametrize(
    "text",
    [
        "192.168.1.1 and 10.0.0.1 and 127.0.0.1 are nobody's",
        "version 5.15.0.1, v8.0.0.1, Firmware: 8.8.4.4",
        "1.2.3.4.5 and 300.1.1.1 and 1.2.3",
        "4111 1111 1111 1112 has a wrong check digit",
        "ISBN 978-3-16-148410-0, 2023-10-11 12:30:45, 1,234,567.89",
        "a@b, @handle, user@localhost, https://me@host.com/x",
        "time 10:20:30, ratio 1:2:3, std::vector, ab:cd",
        "call 555-1234 or 212 555 1234 or 0123456789",
        "3.14159265358979, 2020-2021, 100-200-3000",
    ],
)
def test_what_is_no_find_stays(text):
    assert replaced(text, **TAG) == text


def test_equal_finds_become_equal_and_different_ones_different():
    text = "a@x.org b@x.org a@x.org"
    assert replaced(text) == "email@example.com firstname.lastname@example.org email@example.com"


def test_the_replacement_depends_on_the_document_alone():
    stage = Pii()
    stage.judge(Document("z@z.org"))
    assert replaced("a@x.org") == "email@example.com" == stage.judge(Document("b@y.org")).text


def test_each_find_is_a_span_and_can_be_kept_out_of_the_ledger():
    verdict = Pii(kinds=("email",)).judge(Document("a@x.org 8.8.8.8"))
    assert [(s.rule, s.text, s.detail) for s in verdict.spans] == [("email", "a@x.org", "email@example.com")]
    assert Pii(spans=False).judge(Document("a@x.org")).spans[0].text == "email@example.com"


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(["a@b.org", "8.8.8.8", "+4930123456", "4111111111111111", "x", ".", ":", "\n", "7"])).map(
        " ".join
    )
)
def test_what_has_been_replaced_stays_as_it_is(text):
    once = replaced(text)
    assert replaced(once, kinds=("email",)) == once
    assert "4111111111111111" not in once
    assert "8.8.8.8" not in once.split()


@pytest.mark.parametrize(
    "text", ["1" * 200_000, "a." * 100_000, "a@" * 50_000, "1 " * 100_000, ":" * 100_000, "+1-" * 60_000]
)
def test_hostile_texts_take_time_in_proportion(text):
    replaced(text)


def test_what_cannot_work_is_refused():
    with pytest.raises(StageFault, match="at least one"):
        Pii(kinds=()).check()
    with pytest.raises(StageFault, match="put in"):
        Pii(tag="{x}").check()
