"""The token budget of a corpus: ``token_budget.json``, what each vocabulary size makes of it."""

from __future__ import annotations

import msgspec

from pipeline.errors import StorageError
from pipeline.storage import Folder

BUDGET = "token_budget.json"


class CorpusSums(msgspec.Struct, frozen=True):
    """What the corpus holds; bytes are of its text in UTF-8."""

    documents: int
    bytes: int
    characters: int
    words: int


class GroupTokens(msgspec.Struct, frozen=True):
    """What a source or a language holds, and its tokens at one vocabulary size. Ratios are None where nothing is below;
    for the premiums see `tokenizer.counting.report.premium`."""

    documents: int
    bytes: int
    characters: int
    words: int
    tokens: int
    bytes_per_token: float | None
    tokens_per_word: float | None
    premium_per_character: float | None
    premium_per_byte: float | None


class SizeTokens(msgspec.Struct, frozen=True):
    """The corpus at one vocabulary size.

    Attributes:
        path: of the tokenizer, relative to the run folder or as the recipe names it.
        quantiles: tokens of a document at each quantile, such as ``{"0.5": 812}``.
        share_over: share of the documents of more tokens than each context length.
    """

    vocab_size: int
    path: str
    tokens: int
    bytes_per_token: float
    characters_per_token: float
    tokens_per_word: float
    by_source: dict[str, GroupTokens]
    by_language: dict[str, GroupTokens]
    quantiles: dict[str, int]
    share_over: dict[str, float]


class Missing(msgspec.Struct, frozen=True):
    """Vocabulary sizes that were asked for and that the corpus cannot give."""

    vocab_sizes: list[int]
    reached: int
    reason: str


class SizeCost(msgspec.Struct, frozen=True):
    """What a vocabulary size costs the model that the recipe names; see `tokenizer.counting.report.costs`."""

    vocab_size: int
    tokens: int
    embedding_share: float
    flop: float
    over_least: float
    flat: bool


class TokenBudget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Content of ``token_budget.json``; `tokenizers` in rising order of size. `tryout`: how much of the input was read, in
    words; empty for all."""

    recipe: str = ""
    tryout: str = ""
    corpus: CorpusSums
    tokenizers: list[SizeTokens]
    missing: Missing | None = None
    costs: list[SizeCost] | None = None

    @property
    def largest(self) -> SizeTokens:
        """The row of the largest vocabulary."""
        return self.tokenizers[-1]

    def save(self, folder: Folder) -> None:
        """Write the budget into `folder`."""
        folder.put_json(BUDGET, msgspec.to_builtins(self))

    @classmethod
    def load(cls, folder: Folder) -> TokenBudget:
        """Return the budget in `folder`. Raises StorageError where the file is damaged."""
        try:
            return msgspec.json.decode(folder.get(BUDGET), type=cls)
        except msgspec.DecodeError as error:
            raise StorageError(f"{folder.url}/{BUDGET} is damaged ({error}); run the recipe again") from error
