"""What was in a batch: planted stretches are found, spikes are found, and what to leave out is said."""

import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import InputError, UserError
from pipeline.storage import Folder
from tests.tokenizer.oracles import english, ladder_of
from tokenizer.batches.account import account_of, lines_of
from tokenizer.batches.folder import open_shards
from tokenizer.batches.look import Looker, domain_of
from tokenizer.batches.look_kernel import COPIED, REPETITION, RUN, SIGNALS, copied_tokens, measure_pieces
from tokenizer.batches.losses import Losses, find_spikes, read_losses
from tokenizer.batches.samplers import Megatron, NanoGpt, Sequential
from tokenizer.batches.skip import checkpoint_of, plan_skip, protocol
from tokenizer.batches.steps import Ramp, Schedule
from tokenizer.batches.token_facts import bytes_of_tokens, token_facts
from tokenizer.batches.training import Training
from tokenizer.ladder.files import write_ladder
from tokenizer.shards.make import make_shards
from tokenizer.shards.model import open_model
from tokenizer.shards.options import ShardOptions

EOD = "<|endoftext|>"


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """200 documents of English, of which numbers 100 to 107 are one page under eight addresses."""
    place = tmp_path_factory.mktemp("look")
    texts = [english(seed, 80) for seed in range(192)]
    write_ladder(ladder_of(texts, (400,), special=(EOD,)), Folder(str(place / "ladder")))
    rows = [
        {"id": f"d{n}", "url": f"https://www.h{n % 5}.example/{n}", "source": "web", "text": text, "language": "en"}
        for n, text in enumerate(texts)
    ]
    copies = [dict(rows[0], id=f"copy{n}", url=f"https://copies.example/{n}", language="fr") for n in range(8)]
    lines = [*rows[:100], *copies, *rows[100:]]
    (place / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    model = open_model(str(place / "ladder/400"))
    make_shards([place / "docs.jsonl"], ShardOptions(model, eod=EOD), Folder(str(place / "out")), workers=1)
    return open_shards([Folder(str(place / "out"))])[0]


def facts_of(shards):
    return token_facts(bytes_of_tokens(shards.folder.get("tokenizer.json")))


def test_a_page_planted_many_times_is_the_first_finding_and_all_first_suspects(shards):
    part = shards.parts[0]
    training = Training(Sequential(shards.parts, 64), Schedule(4))
    first, last = int(part.ends[99]) // 256, -(-int(part.ends[107]) // 256)
    account = account_of(Looker(training, facts_of(shards)), first, last, shards.folder.get("tokenizer.json"))
    findings = {finding["name"]: finding for finding in account["findings"]}
    assert findings["copies"]["rank"] == findings["domain copies.example"]["rank"] == 1
    assert [s["id"].startswith("copy") for s in account["suspects"][:8]] == [True] * 8
    top = account["suspects"][0]
    assert top["text"]
    assert top["file"].endswith("docs.jsonl")
    assert first <= top["step"] < last
    assert account["tokens"] == (last - first) * 256
    assert sum(account["mix"]["domain"].values()) == pytest.approx(1, abs=1e-4)


def test_a_window_that_is_the_whole_training_is_compared_with_nothing_and_says_so(shards):
    training = Training(Sequential(shards.parts, 64), Schedule(4))
    steps = training.schedule.steps_in(training.sampler.samples)
    account = account_of(Looker(training, facts_of(shards)), 0, steps, shards.folder.get("tokenizer.json"))
    assert any("no other window" in line for line in lines_of(account))
    assert json.loads(json.dumps(account, allow_nan=False))["suspects"]


def test_an_ordinary_window_is_no_first_among_random_ones(shards):
    training = Training(Megatron(shards.parts, 64, 1), Schedule(4))
    _, findings = Looker(training, facts_of(shards)).look(8, 16, windows=100)
    ranks = [finding.rank for finding in findings if finding.name in SIGNALS]
    assert np.median(ranks) > 10


@pytest.mark.parametrize("sampler", ["megatron", "sequential", "nanogpt"])
def test_documents_of_a_step_are_the_tokens_that_the_trainer_reads(shards, sampler):
    parts, stream = shards.parts, np.fromfile(shards.folder.path("part-00000.bin"), np.uint16)
    made = {"megatron": Megatron(parts, 50, 3), "sequential": Sequential(parts, 50), "nanogpt": NanoGpt(parts, 50, 3)}[
        sampler
    ]
    training = Training(made, Schedule(3))
    samples = list(training.documents(2, 4))
    assert [(s["step"], s["sample"]) for s in samples] == [(2, 6), (2, 7), (2, 8), (3, 9), (3, 10), (3, 11)]
    assert {sum(d["tokens"] for d in s["documents"]) for s in samples} == {made.reads}
    if sampler == "sequential":
        ids = parts[0].rows(np.arange(parts[0].file.documents), ["id"])["id"].to_pylist()
        read = [ids[np.searchsorted(parts[0].ends, at, side="right")] for at in range(50 * 6, 50 * 7)]
        assert [(d["id"], d["tokens"]) for d in samples[0]["documents"]] == [
            (name, len(list(run))) for name, run in itertools.groupby(read)
        ]
    assert len(stream) == parts[0].file.tokens


def test_draws_of_nanogpt_are_torchs():
    import pathlib

    from tokenizer.batches.samplers import torch_randint

    golden = np.load(pathlib.Path(__file__).with_name("megatron.npz"))["torch_draws"]
    assert np.array_equal(torch_randint(977, 1337, 0, golden.size), golden.ravel())
    assert np.array_equal(torch_randint(977, 1337, 100, 12), golden.ravel()[100:112])
    # torch.manual_seed(1337); torch.randint(1 << 28, (3,)) and (1 << 33) + 7, torch 2.14
    raw = np.random.MT19937()
    raw._legacy_seeding(1337)
    high, low = (int(n) for n in raw.random_raw(2))
    assert torch_randint((1 << 33) + 7, 1337, 0, 1)[0] == (high << 32 | low) % ((1 << 33) + 7)


def test_a_step_beyond_the_end_is_refused_with_where_the_end_is(shards):
    training = Training(Megatron(shards.parts, 64, 1), Schedule(4))
    steps = training.schedule.steps_in(training.sampler.samples)
    training.check(steps - 1, steps)
    with pytest.raises(UserError, match=rf"beyond the end: .* 0 to {steps - 1}"):
        training.check(steps, steps + 1)
    longer = Training(Megatron(shards.parts, 64, 1, asked=4 * 3 * steps), Schedule(4))
    longer.check(3 * steps - 1, 3 * steps)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=30), min_size=1, max_size=4))
def test_repetition_and_copies_are_those_of_plain_python(pieces):
    tokens = np.array([t for piece in pieces for t in piece], np.int32)
    bounds = np.cumsum([0, *map(len, pieces)]).astype(np.int64)
    facts, out = np.ones((6, 7), np.int32), np.empty((len(pieces), len(SIGNALS)))
    measure_pieces(tokens, bounds, facts, np.ones(6, np.int64), np.zeros(64, np.int32), out)
    for piece, row in zip(pieces, out, strict=True):
        runs = [tuple(piece[k : k + RUN]) for k in range(len(piece) - RUN + 1)]
        again = sum(run in runs[:k] for k, run in enumerate(runs))
        assert row[REPETITION] == pytest.approx(again / max(1, len(runs)))
    copied = np.zeros(len(pieces), np.int64)
    copied_tokens(tokens, bounds, np.arange(1, len(pieces) + 1), copied)
    runs = [{tuple(piece[k : k + COPIED]) for k in range(len(piece) - COPIED + 1)} for piece in pieces]
    for number, piece in enumerate(pieces):
        others = set().union(*(r for k, r in enumerate(runs) if k != number))
        assert copied[number] == sum(tuple(piece[k : k + COPIED]) in others for k in range(len(piece) - COPIED + 1))


def test_facts_of_tokens_count_their_bytes():
    tokens = [None, b" of", "ß".encode(), b"aB9+", b"\x00", "\ufffd".encode()]
    assert token_facts(tokens).tolist() == [
        [0] * 7, [3, 2, 0, 0, 0, 0, 1], [2, 2, 0, 0, 0, 0, 0], [4, 2, 1, 1, 0, 1, 0], [1, 0, 0, 0, 1, 0, 0],
        [3, 0, 0, 0, 3, 0, 0],
    ]  # fmt: skip


def test_a_domain_is_the_host_without_www():
    urls = ("https://www.a.example:8080/x", "http://b.example", None, "", "no url", "http://[broken")
    assert [domain_of(url) for url in urls] == ["a.example", "b.example", None, None, None, None]


def falling(steps, seed=0):
    rng = np.random.default_rng(seed)
    loss = 2 + 8 / np.sqrt(np.arange(steps) + 20) + rng.normal(0, 0.02, steps)
    return Losses(np.arange(steps), loss, 1 + rng.normal(0, 0.05, steps))


def test_a_falling_loss_has_no_spike_and_a_spike_on_it_is_found_with_its_steps():
    losses = falling(2000)
    assert find_spikes(losses) == []
    losses.loss[700:704] += [0.3, 0.8, 0.5, 0.3]
    losses.norm[1500] += 4
    first, second = find_spikes(losses)
    assert (first.first, first.last, first.series) == (1500, 1501, "gradient norm")
    assert (second.first, second.last, second.peak, second.series) == (700, 704, 701, "loss")
    assert second.usual == pytest.approx(2 + 8 / np.sqrt(721), abs=0.05)


def test_a_loss_that_is_no_number_is_the_worst_spike():
    losses = falling(300)
    losses.loss[100] = np.nan
    losses.loss[200] += 1
    assert [spike.peak for spike in find_spikes(losses)] == [100, 200]


@pytest.mark.parametrize("head", ["step,loss,grad_norm", "iteration,lm loss,grad norm", "Step,Train_Loss"])
def test_logs_are_read_by_the_names_that_trainers_give(head):
    body = "3,2.5,1.0\n1,3.0,2.0\n3,2.4,1.5\n"
    losses = read_losses(f"{head}\n{body}".encode(), "loss.csv")
    assert (losses.steps.tolist(), losses.loss.tolist()) == ([1, 3], [3.0, 2.4])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "no columns step and loss"),
        ("step,loss\n1,x\n", "line 2"),
        ("step,loss\n", "no steps"),
    ],
)
def test_a_log_that_cannot_be_read_is_named_with_its_line(text, said):
    with pytest.raises(InputError, match=said):
        read_losses(text.encode(), "loss.csv")


def test_skipping_names_samples_iterations_and_tokens_lost_on_a_ramp_too(shards):
    training = Training(Megatron(shards.parts, 32, 1), Schedule(6, Ramp(2, 2, 20)))
    plan = plan_skip(training, 3, 5, "megatron", 32, 7)
    bounds = training.schedule.bounds(0, 5)
    assert plan["samples"] == [bounds[3], bounds[5]]
    assert plan["tokens_lost"] == 32 * (bounds[5] - bounds[3])
    assert plan["tokens_trained_again"] == 32 * bounds[3]
    megatron = plan["told"]["megatron"]
    assert megatron["arguments"] == ["--iterations-to-skip", "4", "5"]  # from 1, as its log since core 0.17
    assert megatron["arguments_up_to_0_16"] == ["--iterations-to-skip", "3", "4"]
    assert json.loads(json.dumps(plan, default=int))["documents_read"] == 7


def run_loop(patch, before, body, steps, **names):
    """Run a training loop of a trainer's form with `patch` in it, and return the batches that were trained on."""
    lines = ["batches = iter(range(100))", "trained = []", *before, f"for _ in range({steps}):"]
    lines += [f"    {line}" for line in [*body[0], *patch, *body[1]]]
    exec("\n".join(lines), names)
    return names["trained"]


def test_the_patches_leave_out_the_batches_of_the_steps_and_no_others(shards):
    told = plan_skip(Training(Megatron(shards.parts, 32, 1), Schedule(2)), 3, 5, "megatron", 32, 7)["told"]
    wanted = [n for n in range(16) if n // 2 not in (3, 4)]
    of_nanogpt = run_loop(
        told["nanogpt"]["patch"],
        ["get_batch = lambda split: (next(batches), None)", "X, Y = get_batch('train')", "iter_num = local_iter_num = 0"],
        ([], ["for _ in range(gradient_accumulation_steps):", "    trained.append(X)", "    X, Y = get_batch('train')",
              "iter_num += 1", "local_iter_num += 1"]),
        8,
        gradient_accumulation_steps=2,
    )  # fmt: skip
    assert of_nanogpt == wanted
    trainer = SimpleNamespace(step=0, gradient_accumulation_steps=2, num_pp_microbatches=1)
    of_torchtitan = run_loop(
        told["torchtitan"]["patch"],
        ["data_iterator = batches"],
        (["self.step += 1"], ["trained += [next(data_iterator) for _ in range(2)]"]),
        8,
        self=trainer,
    )
    assert of_torchtitan == wanted


@pytest.mark.parametrize(
    ("first", "last", "checkpoint", "others"),
    [(500, 530, 400, "470 to 499"), (500, 700, 300, "300 to 499"), (40, 50, 0, "30 to 39"), (5, 50, 0, "50 to 94")],
)
def test_as_many_other_steps_are_left_out_for_comparison_behind_the_checkpoint(first, last, checkpoint, others):
    assert checkpoint_of(first, last) == checkpoint
    assert f"{others}:" in protocol(first, last)[2]


@pytest.mark.parametrize(("text", "steps"), [("7", (7, 8)), ("7:9", (7, 9))])
def test_steps_are_one_or_a_range(text, steps):
    from tokenizer.batches.steps import steps_of

    assert steps_of(text) == steps
    for wrong in ("", "x", "5:5", "-1:3", "1:2:3"):
        with pytest.raises(UserError):
            steps_of(wrong)
