"""The kernel of py3langid's model, held against the library itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from stages.language import langid
from stages.language.names import NAMES

TEXTS = st.text(min_size=1, max_size=150) | st.text(alphabet="abcdef éüñ的は", min_size=1, max_size=150)


@pytest.fixture(scope="module")
def library():
    return LanguageIdentifier.from_model_file(MODEL_FILE)


@settings(max_examples=100, deadline=None)
@given(TEXTS.map(lambda text: text.encode("utf-8", "replace")))
def test_scores_are_the_librarys(library, text):
    scores, looked_at = langid.scores(text)
    expected = library._raw_score(text)
    if expected.max() > np.finfo(np.float32).min:  # the library has no scores for a text without features
        assert scores == pytest.approx(expected, abs=0.002 * len(text) + 0.002)
    assert looked_at == len(text)


def test_of_a_long_text_windows_are_scored():
    text = ("Der Leuchtturm steht auf der Klippe. " * 300).encode()
    scores, looked_at = langid.scores(text)
    assert looked_at == langid.WINDOW * langid.WINDOWS + langid.WINDOWS - 1
    assert list(NAMES)[langid.label_numbers()[scores.argmax()]] == "de"


def test_every_language_of_the_model_but_no_language_has_a_label(library):
    unnamed = {label for label, place in zip(library.nb_classes, langid.label_numbers(), strict=True) if place < 0}
    assert unnamed == {"zxx"}
