"""A fastText classifier as a rule: documents that it does not think good leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pipeline.documents import Document
from pipeline.stage import StageFault
from stages.quality import fasttext_model
from stages.quality.fasttext_model import Form, Scorer
from stages.quality.rule_stage import Rule, RuleStage


@dataclass(frozen=True, kw_only=True)
class FastTextQuality(RuleStage):
    """Drop documents whose score by a fastText classifier is below a threshold.

    The score is the probability of `label`: with DCLM's model and 0.018112 that is DCLM's filter, which has labels hq
    and cc. A model whose labels are grades, as FineWeb-Edu's 0 to 5, has an expected grade: give `values`. `tokenmill
    quality train` makes a model from good and bad documents of your own and finds the threshold of a wanted rate.
    """

    name: ClassVar[str] = "fasttext_quality"
    published: ClassVar[str] = "fastText, arXiv:1607.01759; DCLM, arXiv:2406.11794; FineWeb-Edu, arXiv:2406.17557"
    path_fields: ClassVar[tuple[str, ...]] = ("model",)
    libraries: ClassVar[tuple[str, ...]] = ("fasttext-community",)
    shares_load: ClassVar[bool] = True
    rule_parameters: ClassVar[tuple[str, ...]] = ("threshold",)
    defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {"datatrove": {}}

    model: tuple[str, ...]
    """The model's file (.bin or .ftz), relative to the recipe."""
    label: str = "hq"
    """The label whose probability is the score, with or without __label__."""
    threshold: float = 0.5
    """A lower score: dropped (low_quality)."""
    values: dict[str, float] = field(default_factory=dict)
    """By label what it is worth, such as {"0" = 0, "1" = 1, "5" = 5}; the score is then the expected value and `label` is not
    looked at."""
    text: Form = "auto"
    """The line that the model reads: dclm (lines joined by a space), datatrove (lines glued), folded (lower case, marks
    apart), or auto: as a model of `quality train` says of itself, else dclm."""

    @property
    def signal_names(self) -> tuple[str, ...]:
        return ("score",)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (Rule("low_quality", "score", "below", "threshold", float(self.threshold)),)

    @property
    def scorer(self) -> Scorer:
        """What scores a text."""
        return fasttext_model.scorer_of(self.model, self.label, self.values, self.text)

    def check(self) -> None:
        super().check()
        if self.words != "unicode":
            raise StageFault("words", "what a word is, the model has learned; see `text`")
        self.scorer.check()
        most = max(self.values.values(), default=1.0)
        if not min(self.values.values(), default=0.0) <= self.threshold <= most:
            raise StageFault("threshold", f"no score can be {self.threshold}: they go up to {most}")

    def resources(self) -> Mapping[str, str]:
        return {"model": fasttext_model.digest(self.model[0])}

    def load(self) -> None:
        fasttext_model.form_of(self.model[0])

    def measure(self, document: Document) -> tuple[float, ...]:
        return (self.scorer.score(document.text),)
