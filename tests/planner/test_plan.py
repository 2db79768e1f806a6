"""The whole plan: the answer first, terms that add up, intervals in order, a hash that holds."""

import json
import math
import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import PlanError
from planner.estimate.options import GROUPS, OPTIONS
from planner.estimate.run import default_batch
from planner.facts.configs import CONFIGS_HF
from planner.facts.models import CONFIGS
from planner.plan import inputs_from, make_plan
from planner.report.quantity import Interval
from planner.report.questions import QUESTIONS, answer
from tests.planner.test_inputs import BUDGET, PLAN


@pytest.fixture(scope="module")
def plan():
    return make_plan(
        inputs_from({**PLAN, "mfu": [0.3, 0.5], "tokens": "1T", "deadline": 20, "served_tokens": "10T"}, BUDGET)
    )


def test_the_four_answers_come_first_then_a_row_per_vocabulary(plan):
    text = "\n".join(plan.summary_lines())
    starts = ["Does it fit?", "Does it finish?", "What does it cost?", "What would you change?"]
    assert sorted(starts, key=text.index) == starts
    rows = [line.split()[0] for line in plan.summary_lines()[-2:]]
    assert rows == ["1024", "4096"]


def test_json_has_every_term_and_survives_a_round_trip(plan):
    out = plan.as_dict()
    assert json.loads(json.dumps(out)) == out
    assert sum(
        v for k, v in out["fit"].items() if k in {t.replace(" ", "_") + "_bytes" for t in plan.fit.memory.terms}
    ) == pytest.approx(out["fit"]["total_bytes"])
    assert len(out["vocabulary"]["rows"]) == 2
    assert set(out["time"]["days"]) == {"p10", "p50", "p90"}


def test_no_number_in_json_is_nan_or_infinite(plan):
    def walk(value):
        if isinstance(value, dict):
            for v in value.values():
                walk(v)
        elif isinstance(value, list | tuple):
            for v in value:
                walk(v)
        elif isinstance(value, float):
            assert math.isfinite(value)

    walk(plan.as_dict())


def test_every_printed_formula_has_a_name_and_the_sources_are_there(plan):
    explained = plan.answer().explanations()
    assert "time.days" in explained
    assert explained["fit.logits_and_loss_bytes"]["formula"]
    assert all(e["formula"] or e["source"] for e in explained.values())
    assert any("= C / (peak x MFU" in line for line in plan.lines(explain=True))


def test_the_hash_is_of_the_content_and_not_of_the_time():
    table = {**PLAN, "tokens": "1T"}
    one, two = make_plan(inputs_from(table, None)).as_dict(), make_plan(inputs_from(table, None)).as_dict()
    other = make_plan(inputs_from({**table, "gpus": 128}, None)).as_dict()
    assert one["sha256"] == two["sha256"] != other["sha256"]


def test_the_bills_lines_add_up_to_its_total(plan):
    s = plan.schedule
    assert sum(line[1].p50 for line in s.bill) == pytest.approx(s.total_usd.p50, rel=1e-9)
    prepared = next(line for line in s.bill if line[0] == "data preparation")
    assert prepared[1].p50 == pytest.approx(120 * 1e6 / 3600 * 0.05)


def test_shares_for_ablations_and_failed_runs_are_lines_of_the_bill():
    base = make_plan(inputs_from({**PLAN, "tokens": "1T"}, None)).schedule.total_usd.p50
    more = make_plan(
        inputs_from({**PLAN, "tokens": "1T", "ablations": 0.5, "failed_runs": 0.1}, None)
    ).schedule.total_usd.p50
    assert more == pytest.approx(1.6 * base)


@given(st.sampled_from(["tokens", "gpus", "parameters"]))
@settings(max_examples=3, deadline=None)
def test_scaling_an_input_scales_the_output_as_the_formula_says(what):
    base = {"parameters": 7e9, "gpu": "h100", "gpus": 64, "tokens": 1e12, "calendar_mfu": 0.35}
    one = make_plan(inputs_from(base, None)).schedule
    two = make_plan(inputs_from({**base, what: base[what] * 2}, None)).schedule
    assert two.days.p50 / one.days.p50 == pytest.approx({"tokens": 2, "gpus": 0.5, "parameters": 2}[what], rel=0.01)
    assert two.gpu_hours.p50 / one.gpu_hours.p50 == pytest.approx(
        {"tokens": 2, "gpus": 1, "parameters": 2}[what], rel=0.01
    )


def test_intervals_are_in_order_everywhere(plan):
    found = [q.value for s in plan.sections() for q in s.quantities if isinstance(q.value, Interval)]
    assert len(found) > 8
    assert all(v.p10 <= v.p50 <= v.p90 for v in found)


def test_a_known_utilisation_and_price_give_a_number_and_no_interval():
    s = make_plan(inputs_from({**PLAN, "tokens": "1T", "calendar_mfu": 0.35, "price": 2}, None)).schedule
    expected = 6 * 8030261248 * 1e12 / (64 * 989e12 * 0.35 * 86400)
    assert (s.days.p10, s.days.p90) == pytest.approx((expected, expected))
    assert s.total_usd.p50 == pytest.approx(expected * 24 * 64 * 2)


def test_goodput_is_on_top_of_step_mfu_and_inside_calendar_mfu():
    step = make_plan(
        inputs_from({**PLAN, "gpus": 8192, "tokens": "10T", "mfu": 0.4, "failure_rate": 500, "restart": 30}, None)
    ).schedule
    raw = step.total_flops / (8192 * 989e12 * 0.4 * 86400)
    assert step.goodput.p50 < 0.9
    assert step.days.p50 == pytest.approx(raw / step.goodput.p50, rel=1e-3)


def test_without_an_mfu_the_step_is_forecast_and_the_calendar_comes_on_top():
    many = make_plan(inputs_from({**PLAN, "gpus": 1024, "tokens": "10T"}, None)).schedule
    one = make_plan(inputs_from({**PLAN, "gpus": 8, "tokens": "1T"}, None)).schedule
    assert one.forecast.calendar == 1
    assert many.forecast.calendar > 1.1
    assert many.utilisation.p50 == pytest.approx(many.forecast.mfu, rel=0.02)
    raw = many.total_flops / (1024 * 989e12 * many.utilisation.p50 * 86400)
    extra = many.forecast.slack * many.forecast.calendar
    assert many.days.p50 == pytest.approx(raw * extra / many.goodput.p50, rel=0.03)


@pytest.mark.parametrize("step", [(8, 9), (16, 17), (64, 65)])
def test_one_gpu_more_is_no_cliff(step):
    hours = [
        make_plan(inputs_from({**PLAN, "gpus": n, "tokens": "1T", "seq": 4096}, None)).schedule.gpu_hours for n in step
    ]
    assert hours[1].p50 == pytest.approx(hours[0].p50, rel=0.1)
    assert hours[1].p90 / hours[1].p10 == pytest.approx(hours[0].p90 / hours[0].p10, rel=0.1)


def test_a_tiny_corpus_gets_a_plain_answer_and_not_nonsense():
    text = "\n".join(make_plan(inputs_from(PLAN, BUDGET)).summary_lines())
    assert "No: 1 M tokens" in text
    assert "times more" in text
    assert "suffices for about 50 k parameters" in text
    assert "no number of epochs makes up for it" in text
    assert "optimizer step" in text


def test_a_run_that_does_not_fit_says_so_and_what_would_make_it():
    p = make_plan(inputs_from({"parameters": "1T", "gpu": "h100", "gpus": 64, "tokens": "1T"}, None))
    assert not p.fit.memory.fits
    text = "\n".join(p.summary_lines())
    assert "Does it fit?        No" in text
    assert "It does not start" in text
    assert "To fit: 4 x the GPUs" in text


def test_a_missed_deadline_names_the_gpus_that_meet_it_and_their_chance():
    p = make_plan(inputs_from({**PLAN, "tokens": "1T", "deadline": 15}, None))
    (here, now), (more, then) = p.on_time
    assert here == 64
    assert more % 8 == 0
    assert now < 0.2 < 0.8 <= then
    again = make_plan(inputs_from({**PLAN, "gpus": more, "tokens": "1T", "deadline": 15}, None))
    assert again.schedule.finish_chance == pytest.approx(then, abs=0.05)
    assert any(f"{more:,} GPUs: {then:.0%}" in line for line in p.summary_lines())


def test_a_device_without_a_published_price_gets_hours_and_no_invented_bill():
    p = make_plan(inputs_from({**PLAN, "gpu": "b200", "tokens": "1T"}, None))
    assert p.schedule.total_usd is None
    assert "no published price" in "\n".join(p.summary_lines())


def test_no_tokens_is_refused():
    with pytest.raises(PlanError, match="how many tokens"):
        make_plan(inputs_from(PLAN, None))


ONE_OF_EACH_KIND = {config["model_type"]: name for name, (config, _) in CONFIGS_HF.items()}.values()


@pytest.mark.parametrize("name", [*CONFIGS, *ONE_OF_EACH_KIND])
def test_every_known_model_can_be_planned(name):
    p = make_plan(inputs_from({"model": name, "gpu": "h100", "gpus": 512, "tokens": "1T", "samples": 100}, None))
    assert p.summary_lines()


@pytest.mark.parametrize("question", list(QUESTIONS))
def test_every_question_has_an_answer_first_and_json(question):
    found = answer(question, inputs_from({**PLAN, "samples": 500, "tokens": "1T", "served_tokens": "1T"}, BUDGET))
    assert found.headline[0]
    assert json.loads(json.dumps(found.as_dict()))["question"] == question
    assert len(found.lines()) > len(found.headline)


def test_a_question_without_tokens_says_what_it_assumed():
    assert "20 per parameter assumed" in "\n".join(
        answer("scale", inputs_from({**PLAN, "samples": 100}, None)).headline
    )


@pytest.mark.parametrize("flops_of", [1e6, 1e9, 1e13])
def test_scale_answers_at_any_size(flops_of):
    assert answer("scale", inputs_from({**PLAN, "tokens": flops_of, "samples": 100}, None)).headline


def test_an_indivisible_layout_is_refused_before_the_search():
    with pytest.raises(PlanError, match="32 attention heads of llama3-8b are not divisible by tp = 5"):
        make_plan(inputs_from({**PLAN, "tokens": "1T", "tp": 5}, None))
    with pytest.raises(PlanError, match="3 pipeline stages do not divide"):
        make_plan(inputs_from({**PLAN, "tokens": "1T", "pp": 3}, None))
    given = {"tp": 2, "pp": 1, "cp": 1, "micro_batch": 1, "global_batch": 100}
    with pytest.raises(PlanError, match="global_batch: 100 sequences"):
        make_plan(inputs_from({**PLAN, "tokens": "1T", **given}, None))


def test_a_partial_layout_is_kept_and_the_rest_searched():
    p = make_plan(inputs_from({**PLAN, "tokens": "1T", "tp": 4, "global_batch": 512}, None))
    free = make_plan(inputs_from({**PLAN, "tokens": "1T", "global_batch": 512}, None))
    assert p.fit.memory.layout.tp == 4
    assert p.fit.search.tried > 10
    assert p.schedule.days.p50 > free.schedule.days.p50


def test_a_batch_that_nothing_divides_is_rounded_and_said():
    p = make_plan(inputs_from({**PLAN, "gpus": 7, "tokens": "1T", "global_batch": 500}, None))
    assert p.fit.global_batch == 504
    assert "no layout divides a batch of 500 sequences; 504 taken" in p.summary_lines()[1]


def test_the_default_batch_is_a_multiple_of_the_gpus_and_near_four_million_tokens():
    i = inputs_from({**PLAN, "tokens": "15T"}, None)
    assert default_batch(i) % 64 == 0
    assert 4e6 < default_batch(i) * i.seq < 16.1e6


def test_a_batch_ramp_gives_the_tokens_and_costs_time_on_top_of_a_step_mfu():
    table = {**PLAN, "mfu": 0.4, "seq": 2048, "dtype": "bf16", "micro_batch": 1, "tp": 1}
    ramped = make_plan(inputs_from({**table, "ramp": "32:1000,512:1000"}, None))
    flat = make_plan(inputs_from({**table, "tokens": (32 + 512) * 1000 * 2048, "global_batch": 512}, None))
    assert ramped.data.tokens == flat.data.tokens == 544_000 * 2048
    assert ramped.schedule.ramp_slowdown > 1.02
    assert ramped.schedule.days.p50 == pytest.approx(flat.schedule.days.p50 * ramped.schedule.ramp_slowdown, rel=1e-6)


@pytest.mark.parametrize("bad", ["512", "512:", "a:b", [], [[1, 2, 3]], "512:0"])
def test_a_ramp_that_cannot_be_is_refused(bad):
    with pytest.raises(PlanError, match=r"plan\.ramp"):
        inputs_from({**PLAN, "ramp": bad}, None)


SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "plan.schema.json"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float)}


def misfits(value, schema, place="plan"):
    """Where `value` is not as `schema` says, for the few words of JSON Schema that ours uses."""
    if "const" in schema:
        return [] if value == schema["const"] else [f"{place}: {value!r}"]
    kind = schema.get("type")
    wrong = kind is not None and (not isinstance(value, TYPES[kind]) or (kind == "number" and isinstance(value, bool)))
    if wrong:
        return [f"{place}: {value!r} is no {kind}"]
    out = [f"{place}.{key}: missing" for key in schema.get("required", ()) if key not in value]
    for key, inner in schema.get("properties", {}).items():
        if key in value:
            out += misfits(value[key], inner, f"{place}.{key}")
    for k, item in enumerate(value if "items" in schema else ()):
        out += misfits(item, schema["items"], f"{place}[{k}]")
    return out


def test_a_plan_is_as_its_schema_says(plan):
    schema = json.loads(SCHEMA.read_text())
    assert misfits(plan.as_dict(), schema) == []
    assert misfits({**plan.as_dict(), "fits": "yes"}, schema) == ["plan.fits: 'yes' is no boolean"]
    bare = make_plan(inputs_from({**PLAN, "tokens": "1T", "samples": 100}, None)).as_dict()
    assert misfits(bare, schema) == []
    assert {*plan.as_dict(), *bare} <= set(schema["properties"])


def test_a_checkpoint_interval_can_be_given_and_costs_what_it_costs():
    table = {**PLAN, "gpus": 16384, "tokens": "1T", "failure_rate": 2112, "checkpoint_hours": 6}
    k = make_plan(inputs_from(table, None)).checkpoint
    assert k.mtbf / 3600 == pytest.approx(3.09, abs=0.01)
    assert k.lost_per_failure / 3600 == pytest.approx(2.09, abs=0.05)
    assert k.goodput_at_interval < 0.35 < k.goodput


def test_advice_that_costs_more_to_follow_than_it_saves_is_not_given():
    tiny = "\n".join(make_plan(inputs_from({**PLAN, "gpus": 8, "tokens": "100M"}, None)).summary_lines())
    large = "\n".join(make_plan(inputs_from({**PLAN, "tokens": "1T"}, None)).summary_lines())
    assert "Measure the step MFU first" not in tiny
    assert "Measure the step MFU first" in large


def test_the_sketch_by_hand_stands_beside_the_plan():
    p = make_plan(
        inputs_from({"parameters": 70e9, "gpu": "h100", "gpus": 1024, "tokens": "15T", "mfu": 0.5, "seq": 8192}, None)
    )
    by_hand = next(line for line in p.summary_lines() if line.startswith("By hand"))
    assert "144 days by 6 N D / (1,024 GPUs x 989 TFLOP/s x 0.50)" in by_hand
    assert p.as_dict()["envelope"]["sketch_days"] == pytest.approx(144, abs=0.5)


def test_twice_the_gpus_at_the_same_batch_lose_utilisation_and_the_sketch_says_how_much():
    out = make_plan(inputs_from({**PLAN, "gpus": 512, "tokens": "1T", "global_batch": 1024}, None)).as_dict()
    assert 0.1 < out["envelope"]["mfu_at_twice_the_gpus_share"] < out["time"]["step_mfu_share"]["p50"]
    assert out["envelope"]["batch_tokens_per_gpu"] == 1024 * 8192 / 512


def test_a_layout_that_is_given_has_no_slack_and_a_narrower_forecast():
    table = {**PLAN, "tokens": "1T", "global_batch": 512}
    layout = {"tp": 1, "pp": 1, "micro_batch": 1, "recompute": "none"}
    given, found = (make_plan(inputs_from(t, None)).schedule for t in ({**table, **layout}, table))
    assert given.forecast.slack == 1 < found.forecast.slack
    assert given.days.p50 < found.days.p50
    assert given.days.p90 / given.days.p10 < found.days.p90 / found.days.p10


def test_every_option_belongs_to_one_group():
    named = [name for _, names in GROUPS.values() for name in names]
    assert sorted(named) == sorted(OPTIONS)


def days(**change):
    table = {"model": "llama3-70b", "gpu": "h100", "gpus": 512, "tokens": "1T", "samples": 100, **change}
    return make_plan(inputs_from(table, None)).schedule.days.p50


@pytest.mark.parametrize(
    ("key", "values", "rises"),
    [
        ("seq", (8192, 32768, 131072), True),
        ("recompute", ("none", "selective-op", "full"), True),
        ("tp", (4, 8, 16, 32), True),
        ("pp", (2, 4, 8, 16), True),
        ("gpus", (64, 512, 4096, 16384), False),
        ("dtype", ("bf16", "fp8"), False),
    ],
)
def test_what_is_given_moves_the_days_in_its_direction(key, values, rises):
    found = [days(**{key: value}) for value in values]
    assert found == sorted(found, reverse=not rises)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("question", ["fit", "time", "layout", "checkpoint"])
def test_batch_sequence_and_layout_are_said_with_every_answer_that_rests_on_them(question):
    headline = answer(question, inputs_from({**PLAN, "samples": 100, "tokens": "1T"}, None)).headline
    assert any("sequences of 8,192 tokens, 512 a step" in line for line in headline)
