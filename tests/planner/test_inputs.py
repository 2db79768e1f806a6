"""The `[plan]` table: what is taken, what is refused, and with which words."""

import pytest

from planner.errors import PlanError
from planner.estimate.inputs import inputs_from
from planner.estimate.options import OPTIONS
from planner.model.count import count
from planner.model.device import accelerator, check_peak

PLAN = {"model": "llama3-8b", "gpu": "h100-sxm", "gpus": 64}
BUDGET = {
    "recipe": "demo",
    "corpus": {"documents": 1000, "bytes": 4_000_000, "characters": 3_900_000, "words": 600_000},
    "tokenizers": [
        {
            "vocab_size": 4096,
            "path": "b",
            "tokens": 1_000_000,
            "bytes_per_token": 4.0,
            "by_source": {},
            "by_language": {},
            "quantiles": {},
        },
        {
            "vocab_size": 1024,
            "path": "a",
            "tokens": 1_600_000,
            "bytes_per_token": 2.5,
            "by_source": {},
            "by_language": {},
            "quantiles": {},
        },
    ],
    "cpu_seconds": 120.0,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gpuz": 8}, r"plan\.gpuz: unknown; did you mean gpu or gpus"),
        ({"gpu": "h1000"}, r"gpu: 'h1000' is unknown; did you mean .*h100"),
        ({"gpu": "A 100 fallback"}, "is unknown"),
        ({"model": "lama3-8b"}, r"did you mean llama3-8b"),
        ({"peak": 1979}, "2:4-sparse headline"),
        ({"peak": 1500}, "no dense kernel reaches that"),
        ({"gpu": "a100-sxm", "dtype": "fp8"}, "has no fp8 matrix unit; it has bf16"),
        ({"gpu": "v100-sxm", "dtype": "bf16"}, "has no bf16 matrix unit"),
        ({"dtype": "bf61"}, "dtype: 'bf61' is unknown; did you mean bf16"),
        ({"mfu": 0.9}, "above what any matmul reaches"),
        ({"mfu": [0.5, 0.3]}, "low end 0.5 is above high end 0.3"),
        ({"mfu": "0.3:0.4:0.5"}, "LOW:HIGH"),
        ({"mfu": 0}, r"plan\.mfu: must be above zero"),
        ({"mfu": 0.4, "calendar_mfu": 0.3}, "not both"),
        ({"gpus": 0}, r"plan\.gpus: must be at least 1"),
        ({"gpus": -4}, "at least 1"),
        ({"gpus": 1.5}, "whole number"),
        ({"tokens": float("nan")}, "not a finite number"),
        ({"tokens": float("inf")}, "not a finite number"),
        ({"tokens": "many"}, "'many' is not a number"),
        ({"tokens": 0}, "above zero"),
        ({"zero": 4}, "ZeRO has stages 0 to 3"),
        ({"optimizer": "adamm"}, "did you mean adam"),
        ({"recompute": "some"}, "'some' is unknown"),
        ({"flash": "yes"}, "true or false"),
        ({"parameters": 7e9}, "one of the two"),
        ({"pue": 0.5}, "pue: must be at least 1"),
        ({"gpu": "custom"}, "needs peak"),
        ({"gpu": 100}, "must be a name"),
        ({"price": [2, -1]}, "above zero"),
        ({"seed": -1}, "at least 0"),
        ({"model": "some/config.json"}, "has not been read"),
        ({"days": 30}, "with one, give a deadline"),
        ({"logits": "fuzed"}, "did you mean fused"),
        ({"offload": "weights"}, "'weights' is unknown"),
        ({"shard": 0}, "at least 1"),
        ({"model": "zzz"}, "are known \\(tokenmill plan list\\)"),
    ],
)
def test_a_table_that_cannot_be_is_refused_with_the_reason(change, message):
    with pytest.raises(PlanError, match=message):
        inputs_from({**PLAN, **change}, None)


@pytest.mark.parametrize("missing", ["model", "gpu", "gpus"])
def test_a_missing_key_is_asked_for_by_name(missing):
    with pytest.raises(PlanError, match=missing):
        inputs_from({k: v for k, v in PLAN.items() if k != missing}, None)


def test_the_place_is_in_the_message():
    with pytest.raises(PlanError, match=r"recipe\.toml: plan\.mfuu: unknown; did you mean mfu"):
        inputs_from({**PLAN, "mfuu": 1}, None, "recipe.toml: plan")


def test_a_table_can_be_tried_before_there_is_a_budget():
    assert inputs_from(PLAN, None).tokens is None


def test_strings_and_numbers_mean_the_same():
    a = inputs_from({**PLAN, "tokens": "1.5T", "mfu": "0.3:0.5"}, None)
    b = inputs_from({**PLAN, "tokens": 1.5e12, "mfu": [0.3, 0.5]}, None)
    assert a == b


def test_the_budget_gives_tokens_and_the_models_vocabulary_at_its_largest_size():
    i = inputs_from(PLAN, BUDGET)
    assert (i.tokens, i.unique, i.model.vocab) == (1_000_000, 1_000_000, 4096)
    assert i.corpus.tokens == ((1024, 1_600_000.0), (4096, 1_000_000.0))


def test_another_measured_size_can_be_chosen_and_an_unmeasured_one_not():
    i = inputs_from({**PLAN, "vocab_size": 1024}, BUDGET)
    assert (i.tokens, i.model.vocab) == (1_600_000, 1024)
    with pytest.raises(PlanError, match="2048 was not measured; the budget has 1024, 4096"):
        inputs_from({**PLAN, "vocab_size": 2048}, BUDGET)


def test_tokens_override_the_budget_and_scale_every_vocabulary_and_the_cpu_time():
    i = inputs_from({**PLAN, "tokens": 1e12}, BUDGET)
    assert dict(i.corpus.tokens) == pytest.approx({1024: 1.6e12, 4096: 1e12})
    assert i.corpus.cpu_seconds == pytest.approx(120e6)


def test_epochs_repeat_the_corpus():
    i = inputs_from({**PLAN, "epochs": 4}, BUDGET)
    assert (i.tokens, i.unique) == (4_000_000, 1_000_000)
    with pytest.raises(PlanError, match="epochs"):
        inputs_from({**PLAN, "epochs": 4, "tokens": 1e9}, BUDGET)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({}, "corpus: missing"),
        ({**BUDGET, "tokenizers": []}, "no token total is known"),
        ({**BUDGET, "tokenizers": [{"vocab_size": 10, "tokens": 0}]}, "corpus is empty"),
        ({**BUDGET, "tokenizers": [{"vocab_size": 10, "tokens": -5}]}, "above zero"),
        ({**BUDGET, "tokenizers": [{"tokens": 5}]}, "needs vocab_size and tokens"),
        ({**BUDGET, "tokenizers": BUDGET["tokenizers"] * 2}, "appears twice"),
    ],
)
def test_a_budget_that_cannot_be_planned_from_is_refused(budget, message):
    with pytest.raises(PlanError, match=message):
        inputs_from(PLAN, budget)


def test_parameters_become_a_shape_with_the_budgets_vocabulary():
    i = inputs_from({"parameters": "1B", "gpu": "a100", "gpus": 8}, BUDGET)
    assert i.model.vocab == 4096
    assert count(i.model).total == pytest.approx(1e9, rel=0.01)
    assert i.asked_parameters == 1e9


def test_a_custom_device_is_the_callers_word():
    i = inputs_from({**PLAN, "gpu": "custom", "peak": 500, "memory": 96}, None)
    assert (i.peak, i.device.memory_bytes) == (5e14, 96e9)


def test_a_lower_peak_of_a_known_device_is_taken():
    assert inputs_from({**PLAN, "peak": 900}, None).peak == 9e14
    assert check_peak(accelerator("h100"), "bf16", 989.5e12) == 989.5e12


def test_fp32_training_defaults_to_fp32_states():
    assert inputs_from({**PLAN, "dtype": "fp32"}, None).convention == "fp32"


def test_every_option_says_what_it_is():
    assert all(o.help for o in OPTIONS.values())
