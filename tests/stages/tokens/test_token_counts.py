import itertools

import pytest

from pipeline.corpus import Corpus, LocalTasks, Observations, Shards
from pipeline.documents import Batch
from pipeline.errors import EnvironmentFault
from pipeline.stage import StageFault
from pipeline.storage import Folder
from stages.tokens.token_counts import TokenCounts
from stages.tokens.train_tokenizers import TrainTokenizers
from tests.tokenizer.oracles import MIXED, english, ladder_of
from tokenizer.counting.counter import count_tokens
from tokenizer.ladder.files import write_ladder
from tokenizer.ladder.ladder import Ladder

TEXTS = [*MIXED, *(english(seed) for seed in range(12))]
LANGUAGES = ["en" if text.isascii() else "xx" for text in TEXTS]
SOURCES = ["web", "books"] * (len(TEXTS) // 2)
SIZES = (300, 600)


@pytest.fixture
def decision(tmp_path) -> Folder:
    """The folder of a decision that holds a ladder."""
    write_ladder(ladder_of(TEXTS, SIZES), Folder(str(tmp_path / "before/tokenizer")))
    return Folder(str(tmp_path / "before"))


def batch_of(rows: slice, folder: Folder | None) -> Batch:
    batch = Batch.of(TEXTS[rows], source=SOURCES[rows], language=LANGUAGES[rows])
    batch.inputs = {} if folder is None else {"ladder": folder}
    return batch


def budget_of(stage: TokenCounts, cuts: list[int], decision: Folder | None, tmp_path) -> dict:
    observed, work = Folder(str(tmp_path / f"observed{len(cuts)}")), Folder(str(tmp_path / f"work{len(cuts)}"))
    pieces = [slice(a, b) for a, b in itertools.pairwise([0, *cuts, len(TEXTS)])]
    for number, piece in enumerate(pieces):
        observed.put_table(f"part-{number}.parquet", stage.combine([stage.observe(batch_of(piece, decision))]))
    listed = Shards.write(observed, [f"part-{n}" for n in range(len(pieces))], [p.stop - p.start for p in pieces])
    inputs = {} if decision is None else {"ladder": decision}
    stage.decide(Observations(observed, listed, inputs=inputs), Corpus(work, listed), LocalTasks(), work)
    return work.get_json("token_budget.json")


def test_every_document_has_its_counts_at_every_size(decision):
    table = TokenCounts().observe(batch_of(slice(None), decision))
    expected = count_tokens(TEXTS, Ladder.load(decision / "tokenizer"))
    assert table.column_names == [
        "id",
        "source",
        "language",
        "bytes",
        "characters",
        "words",
        "tokens_300",
        "tokens_600",
    ]
    assert table["tokens_300"].to_pylist() == expected[:, 0].tolist()
    assert table["tokens_600"].to_pylist() == expected[:, 1].tolist()
    assert table["bytes"].to_pylist() == [len(text.encode()) for text in TEXTS]


def test_the_budget_adds_up_by_size_source_and_language(decision, tmp_path):
    budget = budget_of(TokenCounts(), [], decision, tmp_path)
    expected = count_tokens(TEXTS, Ladder.load(decision / "tokenizer"))
    assert budget["corpus"]["documents"] == len(TEXTS)
    for k, row in enumerate(budget["tokenizers"]):
        assert row["vocab_size"] == SIZES[k]
        assert row["path"] == f"tokenizer/{SIZES[k]}/tokenizer.json"
        assert row["tokens"] == expected[:, k].sum()
        assert row["bytes_per_token"] == budget["corpus"]["bytes"] / row["tokens"]
        for group in ("by_source", "by_language"):
            assert sum(part["tokens"] for part in row[group].values()) == row["tokens"]
        assert row["quantiles"]["1"] == expected[:, k].max()


def test_the_budget_names_the_sizes_that_are_missing(tmp_path):
    write_ladder(ladder_of(TEXTS, (300, 100_000)), Folder(str(tmp_path / "short/tokenizer")))
    budget = budget_of(TokenCounts(), [], Folder(str(tmp_path / "short")), tmp_path)
    assert [row["vocab_size"] for row in budget["tokenizers"]] == [300]
    assert budget["missing"]["vocab_sizes"] == [100_000]
    assert f"{budget['missing']['reached']:,} were reached" in budget["missing"]["reason"]


def test_a_complete_ladder_leaves_nothing_missing(decision, tmp_path):
    assert "missing" not in budget_of(TokenCounts(), [], decision, tmp_path)


def test_any_cut_into_shards_gives_the_same_budget(decision, tmp_path):
    stage = TokenCounts()
    assert budget_of(stage, [], decision, tmp_path) == budget_of(stage, [3, 3, 10], decision, tmp_path)


def test_a_model_is_told_what_each_size_costs_it(decision, tmp_path):
    rows = budget_of(TokenCounts(hidden=64, other_parameters=1e6), [], decision, tmp_path)["costs"]
    assert [row["vocab_size"] for row in rows] == list(SIZES)
    assert min(row["over_least"] for row in rows) == 0.0


def test_a_ladder_trained_before_is_used_where_the_recipe_names_one(decision, tmp_path):
    path = str(decision.path("tokenizer/ladder.json"))
    stage = TokenCounts(ladder=(path,))
    stage.check()
    assert stage.observe(batch_of(slice(None), None)).equals(TokenCounts().observe(batch_of(slice(None), decision)))
    assert stage.resources().keys() == {"ladder"}
    assert budget_of(stage, [], None, tmp_path)["tokenizers"][0]["path"].endswith("/tokenizer/300/tokenizer.json")


def test_a_ladder_is_taken_only_where_the_recipe_names_none():
    assert TokenCounts().takes == (TrainTokenizers.gives,)
    assert TokenCounts(ladder=("x/ladder.json",)).takes == ()


def test_without_a_ladder_the_fault_is_no_documents_and_names_the_remedy():
    with pytest.raises(EnvironmentFault, match="put train_tokenizers before it"):
        TokenCounts().observe(batch_of(slice(None), None))


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"ladder": ("a/ladder.json", "b/ladder.json")}, "ladder"),
        ({"ladder": ("x.json",)}, "ladder"),
        ({"hidden": 8}, "hidden"),
    ],
)
def test_parameters_that_cannot_work_are_found_before_any_work(change, key):
    with pytest.raises(StageFault) as fault:
        TokenCounts(**change).check()
    assert fault.value.key == key


def test_a_batch_of_no_documents_has_no_rows(decision):
    assert TokenCounts().observe(batch_of(slice(0, 0), decision)).num_rows == 0
