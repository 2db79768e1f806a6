import pytest

from pipeline.errors import AccountingError
from pipeline.tally import MOST_REASONS, StageTally, Tally, count_reason


def tally(read, kept, dropped, failed):
    return Tally(read=read, kept=kept, dropped={"a": {"x": dropped}}, failed={"read": {"y": failed}})


def test_a_tally_balances_when_read_is_kept_plus_dropped_plus_failed():
    tally(10, 6, 3, 1).check("here")


@pytest.mark.parametrize("wrong", [(10, 6, 3, 0), (9, 6, 3, 1), (10, 7, 3, 1)])
def test_a_tally_that_does_not_balance_is_an_error_that_names_the_place(wrong):
    with pytest.raises(AccountingError, match=r"part-00003 does not balance"):
        tally(*wrong).check("part-00003")


def test_a_stage_that_is_given_fewer_documents_than_were_handed_on_is_an_error():
    broken = Tally(stages=[StageTally("a", 5, 4), StageTally("b", 3, 3)])
    with pytest.raises(AccountingError, match="a handed on 4 documents but b was given 3"):
        broken.check("here")


def test_the_sum_of_tallies_adds_every_count():
    one = Tally(read=3, kept=2, dropped={"a": {"x": 1}}, ignored={"request": 2}, stages=[StageTally("a", 3, 2, 0.5)])
    two = Tally(
        read=2, kept=0, dropped={"a": {"x": 1, "z": 1}}, ignored={"request": 1}, stages=[StageTally("a", 2, 0, 0.5)]
    )
    total = Tally.sum([one, two])
    assert (total.read, total.kept, total.drops) == (5, 2, 3)
    assert total.dropped == {"a": {"x": 2, "z": 1}}
    assert total.ignored == {"request": 3}
    assert total.stages == [StageTally("a", 5, 2, 1.0)]


def test_a_tally_survives_being_written_as_json():
    one = Tally(read=3, kept=2, dropped={"a": {"x": 1}}, stages=[StageTally("a", 3, 2, 0.5)])
    assert Tally.from_dict(one.as_dict()) == one


def test_reasons_that_an_input_invents_are_counted_in_bounded_number():
    shards = [Tally() for _ in range(3)]
    for number, shard in enumerate(shards):
        for n in range(2000):
            count_reason(shard.ignored, f"type {number} {n}")
            shard.count("failed", "read", f"rule {number} {n}")
    total = Tally.sum(shards)
    for counts in (total.ignored, total.failed["read"]):
        assert sum(counts.values()) == 6000
        assert len(counts) == MOST_REASONS + 1
        assert counts["other"] > 5000
