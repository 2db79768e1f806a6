"""One set of labels for all engines, and how they map to ISO 639-3."""

import pytest

from stages.language.characters import SCRIPTS
from stages.language.names import ISO_639_3, MACRO, NAMES, WRITTEN_IN, iso_label, members


def test_every_label_of_two_letters_has_its_code_of_three():
    without = {label for label in NAMES if len(ISO_639_3[label] or label) != 3}
    assert without == set()


def test_codes_of_three_letters_are_of_one_language_each():
    codes = [ISO_639_3[label] or label for label in NAMES]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize(
    ("label", "script", "expected"),
    [("en", "Latn", "eng_Latn"), ("sr", "Cyrl", "srp_Cyrl"), ("ceb", "Latn", "ceb_Latn"), ("als", "Latn", "gsw_Latn"),
     ("ja", "Kana", "jpn_Jpan"), ("ja", "Hani", "jpn_Jpan"), ("zh", "Hani", "zho_Hani"), ("ko", "Hang", "kor_Hang")],
)  # fmt: skip
def test_a_label_with_its_script_is_one_of_iso_639_3(label, script, expected):
    assert iso_label(label, script) == expected


def test_macro_languages_scripts_and_languages_name_labels_only():
    assert {*MACRO, *MACRO.values()} <= set(NAMES)
    assert set(WRITTEN_IN) <= set(SCRIPTS)
    assert {label for labels in WRITTEN_IN.values() for label in labels} <= set(NAMES)


def test_a_collective_stands_for_its_members_and_other_labels_for_themselves():
    assert members(("sh", "en")) == {"sh", "bs", "cnr", "hr", "sr", "en"}
    assert members(("ms",)) == {"ms"}
    assert members(("no",)) == {"no"}
