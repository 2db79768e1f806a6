"""``[tokens]`` of a recipe: token shards of the final corpus, in ``tokens/`` of the run folder.

They are made from what was published, have a manifest of their own, and stand as long as the corpus and the table do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.errors import RecipeError, UserError
from pipeline.recipe import Recipe, options_from
from pipeline.run.folder import MANIFEST
from pipeline.storage import Folder
from tokenizer.ladder.roles import DEFAULT_SPECIAL_TOKENS

FOLDER = "tokens"


@dataclass(frozen=True, kw_only=True)
class TokensTable:
    """What is written in ``tokens/`` of the run folder, and by which tokenizer (docs/tokens.md)."""

    vocab_size: int = 0
    """A size of the ladder that the recipe trains; 0: its largest."""
    tokenizer: str = ""
    """A tokenizer.json instead, relative to the recipe."""
    format: tuple[str, ...] = ("megatron",)
    """megatron (always), datatrove, olmo, nanogpt, llmc."""
    eod: str = ""
    """Token behind every document; empty: none."""
    bos: str = ""
    """Token in front of every document; empty: none."""
    shuffle: int | None = None
    """Seed of a shuffle of all documents; without it they stay in the order of the corpus."""
    held_out: float = 0.0
    """Share of the documents that is kept apart, by a hash of their text."""
    part_tokens: int = 1_000_000_000
    """Tokens of one file, about."""
    dtype: str = ""
    """uint16 or int32; empty: uint16 below 65,500 tokens."""
    by: str = ""
    """``source``: parts of one source each, with a weight for each; empty: all sources together."""
    epochs: dict[str, float] = field(default_factory=dict)
    """How often a training reads each source; those of ``mix`` if not given, else once. Needs ``by``."""


def check_tokens(recipe: Recipe) -> None:
    """Raise RecipeError for a ``[tokens]`` table that cannot work."""
    table = options_from(TokensTable, recipe.tables["tokens"], FOLDER)
    from tokenizer.shards.options import BY, FORMATS

    for name in table.format:
        if name not in FORMATS:
            raise RecipeError("tokens.format", f"{name!r} is unknown; known are {', '.join(FORMATS)}")
    if not 0 <= table.held_out < 1:
        raise RecipeError("tokens.held_out", f"{table.held_out} is no share from 0 to below 1")
    if table.part_tokens < 1:
        raise RecipeError("tokens.part_tokens", f"{table.part_tokens} must be at least 1")
    if table.by not in BY:
        raise RecipeError("tokens.by", f"{table.by!r} is unknown; known is source")
    if table.epochs and not table.by:
        raise RecipeError("tokens.epochs", 'is of parts by source; add by = "source"')
    for name, number in table.epochs.items():
        if not 0 < number < float("inf"):
            raise RecipeError("tokens.epochs", f"{name} = {number} must be above 0")
    if table.tokenizer and table.vocab_size:
        raise RecipeError("tokens", "names vocab_size and tokenizer; give one of the two")
    if table.tokenizer:
        from tokenizer.shards.model import open_model

        try:
            open_model(_placed(recipe, table))
        except UserError as error:
            raise RecipeError("tokens.tokenizer", str(error)) from error
        return
    ladder = recipe.tables.get("tokenizer")
    if ladder is None:
        raise RecipeError("tokens", "needs a tokenizer: add a [tokenizer] table, or name a tokenizer.json (tokenizer)")
    for key in ("eod", "bos"):
        name, special = getattr(table, key), ladder.get("special_tokens", DEFAULT_SPECIAL_TOKENS)
        if name and name not in special:
            raise RecipeError(f"tokens.{key}", f"{name!r} is none of tokenizer.special_tokens ({', '.join(special)})")
    sizes = ladder.get("vocab_sizes", ())
    if table.vocab_size and sizes and table.vocab_size not in sizes:
        raise RecipeError("tokens.vocab_size", f"{table.vocab_size} is none of tokenizer.vocab_sizes {list(sizes)}")


def write_tokens(recipe: Recipe, out: Folder, workers: int) -> None:
    """Make the token shards that `recipe` asks for from the finished run in `out`; nothing where they stand."""
    if FOLDER not in recipe.tables:
        return
    from tokenizer.shards.make import make_shards
    from tokenizer.shards.model import open_model
    from tokenizer.shards.options import ShardOptions

    table = options_from(TokensTable, recipe.tables[FOLDER], FOLDER)
    own = "" if table.tokenizer else f"{out.url}/tokenizer/{table.vocab_size or _largest(out)}"
    options = ShardOptions(
        open_model(own or _placed(recipe, table)),
        table.eod, table.bos, table.shuffle, table.held_out, table.part_tokens, table.dtype, table.by,
    )  # fmt: skip
    epochs = (table.epochs or epochs_of(out)) if table.by else {}
    make_shards(
        [f"{out.url}/data"], options, out / FOLDER,
        formats=table.format, epochs=epochs, workers=workers, replace=True,
    )  # fmt: skip


def epochs_of(run: Folder) -> Mapping[str, float]:
    """Return how often a training reads each source of the finished `run`, by its last ``mix``; empty without one."""
    found: Mapping[str, float] = {}
    for stage in run.get_json(MANIFEST)["stages"]:
        if stage["stage"] == "mix":
            found = stage["parameters"].get("epochs", {})
    return found


def _placed(recipe: Recipe, table: TokensTable) -> str:
    """Return where the tokenizer of the recipe's own lies."""
    return table.tokenizer if "://" in table.tokenizer else str(recipe.folder / table.tokenizer)


def _largest(out: Folder) -> str:
    """Return the largest size of the run's ladder that was reached."""
    return max((name for name in out.children("tokenizer") if name.isdigit()), key=int)
