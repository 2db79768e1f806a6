"""The language of documents: what is added, what is dropped, and lid.176's own answers kept."""

import unicodedata

import pytest
from fasttext.FastText import _FastText
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents import Batch, Document
from pipeline.stage import Drop, Keep, StageFault
from stages.language import cld2, identify, lid176
from stages.language.language import Language
from stages.language.names import NAMES
from tests.stages import published

ENGLISH = "The committee met on Tuesday to talk about the new bridge across the river."
GERMAN = "Der Ausschuss traf sich am Dienstag, um über die neue Brücke über den Fluss zu sprechen."
JAPANESE = "委員会は火曜日に会合を開き、川に架かる新しい橋について話し合いました。"
KOREAN = "등대지기는 매일 저녁 여섯 시에 등불을 켜고 새벽 다섯 시에 끕니다. 마을 사람들은 그 불빛을 보고 돌아왔습니다."
UNSURE = "New York, Tokyo, London, Paris, Berlin"
LID176 = Language(engine="lid176")
ENGINES = ["combined", "py3langid", "lid176"] + ["cld2"] * cld2.available()
needs_cld2 = pytest.mark.skipif(not cld2.available(), reason="pycld2 has no wheel for this interpreter or machine")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("text", "label", "iso"), [(ENGLISH, "en", "eng_Latn"), (GERMAN, "de", "deu_Latn"), (JAPANESE, "ja", "jpn_Jpan")]
)
def test_language_score_and_label_become_columns(engine, text, label, iso):
    outcome = Language(engine=engine).apply(Batch.of([text]))
    assert outcome.kept.column("language") == [label]
    assert outcome.kept.column("language_label") == [iso]
    assert outcome.kept.column("language_score")[0] > 0.8


@needs_cld2
@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Nga tāngata katoa i whānau mai i te ao nei i runga i te whakaaro kotahi.", "mi"),
        ("Vanhu vese vanoberekwa vakasununguka uye vakaenzana pahunhu nekodzero dzavo.", "sn"),
        ("Batho bohle ba tswetswe ba lokolohile mme ba lekana ka seriti le ditokelo.", "st"),
        ("Bonke abantu bazalwa bekhululekile belingana ngesithunzi nangamalungelo.", "zu"),
    ],
)
def test_languages_that_lid176_lacks_are_named(text, label):
    assert Language().identify(text).label == label


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("Το πλοίο έφτασε στο λιμάνι το πρωί.", "ell_Grek"),
        ("ბიბლიოთეკა ხვალ დაკეტილია.", "kat_Geor"),
        ("ห้องสมุดปิดพรุ่งนี้", "tha_Thai"),
        ("Библиотека завтра будет закрыта на ремонт, сообщили сегодня в городской управе.", "rus_Cyrl"),
        ("Библиотека је сутра затворена због радова.", "srp_Cyrl"),
        ("Biblioteka je sutra zatvorena zbog radova na krovu.", "hrv_Latn bos_Latn srp_Latn"),
        ("图书馆明天因维修而关闭。", "zho_Hani"),
        ("도서관은 내일 문을 닫습니다", "kor_Hang"),
    ],
)
def test_the_label_says_iso_639_3_and_script(text, iso):
    assert Language().identify(text).iso_label in iso.split()


@pytest.mark.parametrize(
    "token",
    ["</s>", "<s>", "__label__fr", "[SEP]", "[CLS]", "<|endoftext|>", "<pad>", "\u200b", "\u200d", "\ufeff", "\u00ad"],
)
def test_a_special_string_of_models_changes_nothing(token):
    plain = Language().identify(f"{ENGLISH} {ENGLISH}")
    assert Language().identify(f"{token} {ENGLISH} {token} {ENGLISH} {token}") == plain


def test_what_stands_behind_an_end_token_is_judged_too():
    assert (
        Language().identify(f"Bonjour tout le monde, merci beaucoup. </s> {ENGLISH} {ENGLISH} {ENGLISH}").label == "en"
    )


def test_no_break_spaces_are_spaces():
    assert Language().identify(ENGLISH.replace(" ", "\u00a0")) == Language().identify(ENGLISH)


@pytest.mark.parametrize("form", ["NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize(("text", "label"), [(KOREAN, "ko"), (GERMAN, "de"), (JAPANESE, "ja")])
def test_canonically_equal_texts_have_one_language(form, text, label):
    answer = Language().identify(unicodedata.normalize(form, text))
    assert answer == Language().identify(text)
    assert answer.label == label


def test_half_width_kana_are_japanese():
    assert Language(keep=("ja",)).judge(Document("ﾐﾅﾄﾉﾋﾄﾋﾞﾄﾊﾋｶﾘｦﾐﾃｶｴﾘﾏｼﾀ｡ｶﾞﾗｽﾉﾚﾝｽﾞﾊﾌﾙｲ｡")).columns["language"] == "ja"


@pytest.mark.parametrize(("text", "label"), [(ENGLISH, "en"), (GERMAN, "de")])
def test_capitals_change_no_language(text, label):
    answer = Language().identify(text.upper())
    assert answer.label == label
    assert answer.score > 0.9


@pytest.mark.parametrize(
    "noise",
    ["https://beispiel.de/der/die/das?und=oder", "<div class='artikel'><span>", "someone@firma.de", "&uuml;&szlig;"],
)
def test_addresses_and_markup_change_no_language(noise):
    assert Language().identify(f"{noise} {noise} {noise} {ENGLISH} {noise}").label == "en"


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "42 17", "3.14 + 2,71 = ?", "!!! ... ---", "🙂🎉🙂", "\u0301\u0301", "x = f(y)\nprint(x[0])\n" * 5],
)
def test_a_text_without_language_is_zxx_for_certain(text):
    answer = Language().identify(text)
    assert (answer.label, answer.iso_label, answer.score) == ("zxx", "zxx", 1.0)


def test_a_script_that_no_engine_knows_is_undetermined():
    answer = Language().identify("\U00011305\U00011306\U00011307 \U00011308\U00011309")  # Grantha
    assert (answer.label, answer.score) == ("und", 0.0)


@pytest.mark.parametrize(
    "text", ["John Smith, Maria Garcia, Peter Müller, Anna Kowalska", "Segodnya my idem v kino smotret novyy film"]
)
def test_names_and_transliterated_text_have_a_low_score(text):
    assert Language().identify(text).score < 0.65


def test_another_language_is_dropped_and_named():
    verdict = Language(keep=("en", "fr")).judge(Document(GERMAN))
    assert isinstance(verdict, Drop)
    assert (verdict.rule, verdict.threshold, verdict.detail[:2]) == ("language", 0.65, "de")
    assert verdict.value < 0.1


@needs_cld2
def test_a_low_score_is_dropped_with_the_score():
    verdict = Language().judge(Document(UNSURE))
    assert isinstance(verdict, Drop)
    assert verdict.rule == "score"
    assert 0 < verdict.value <= 0.65


def test_a_text_without_language_goes_unless_it_is_wanted():
    assert Language().judge(Document("42 17")) == Drop("language", 0.0, 0.65, "zxx")
    assert Language(keep=("en",)).judge(Document("42 17")) == Drop("language", 0.0, 0.65, "zxx 1.000")
    assert isinstance(Language(keep=("en", "zxx")).judge(Document("42 17")), Keep)


def test_an_undetermined_text_goes_for_its_score_unless_it_is_wanted():
    grantha = "\U00011305\U00011306\U00011307"
    assert Language().judge(Document(grantha)) == Drop("score", 0.0, 0.65, "und")
    assert Language(keep=("en",)).judge(Document(grantha)) == Drop("score", 0.0, 0.65, "und")
    assert isinstance(Language(keep=("und",)).judge(Document(grantha)), Keep)


@pytest.mark.parametrize("text", ["42 17", "", UNSURE, "\U00011305\U00011306", ENGLISH])
def test_a_threshold_of_zero_keeps_everything(text):
    assert isinstance(Language(min_score=0.0).judge(Document(text)), Keep)


@needs_cld2
def test_the_score_must_be_above_the_threshold_not_at_it():
    score = Language().identify(UNSURE).score
    assert isinstance(Language(min_score=score).judge(Document(UNSURE)), Drop)
    assert isinstance(Language(min_score=score - 1e-9).judge(Document(UNSURE)), Keep)


def test_a_wanted_language_below_the_score_is_dropped_for_its_score():
    label, _, score, _ = LID176.identify("42 17")
    assert Language(keep=(label,), engine="lid176").judge(Document("42 17")) == Drop("score", score, 0.65, label)


def test_a_listed_language_that_is_not_the_first_keeps_as_published():
    mixed = f"{ENGLISH} {GERMAN}"
    label = LID176.identify(mixed).label
    other = "de" if label == "en" else "en"
    verdict = Language(keep=(other,), min_score=0.01, engine="lid176").judge(Document(mixed))
    assert isinstance(verdict, Keep)
    assert verdict.columns["language"] == label


def test_languages_that_are_wanted_together_are_weighed_together():
    croatian = "Biblioteka je sutra zatvorena zbog radova, javlja gradska uprava."
    each = Language().identify(croatian).probabilities
    assert max(each.values()) < 0.9
    verdict = Language(keep=("bs", "hr", "sr"), min_score=0.9).judge(Document(croatian))
    assert isinstance(verdict, Keep)
    assert Language(keep=("sh",), min_score=0.9).judge(Document(croatian)) == verdict


def test_malay_does_not_stand_for_indonesian():
    indonesian = "Perpustakaan akan ditutup besok karena sedang diperbaiki, kata pengurusnya."
    assert Language().identify(indonesian).label == "id"
    assert Language(keep=("ms",)).judge(Document(indonesian)).rule == "language"


@pytest.mark.parametrize("engine", ["combined", "lid176"])
def test_the_first_characters_can_stand_for_all(engine):
    text = ENGLISH + GERMAN * 10
    assert Language(engine=engine).identify(text).label == "de"
    start = Language(characters=len(ENGLISH), engine=engine)
    assert start.identify(text) == start.identify(ENGLISH)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "a\ud800b", "\n\n", "\r", "x" * 1_000_000, "\uffff\ufdd0 abc"])
def test_hostile_texts_have_an_answer_too(engine, text):
    assert Language(engine=engine).identify(text).label in {*NAMES, "zxx", "und"}


def test_shares_say_how_much_of_the_text_is_in_which_language():
    text = f"{ENGLISH} {ENGLISH}\n\n{GERMAN} {GERMAN} {GERMAN}\n{ENGLISH}"
    outcome = Language(min_score=0.0, shares=True).apply(Batch.of([text, "42"]))
    (first, second) = outcome.kept.column("language_shares")
    assert {row["language"]: row["share"] for row in first} == {
        "de": pytest.approx(0.54, abs=0.03),
        "en": pytest.approx(0.46, abs=0.03),
    }
    assert second == [{"language": "und", "share": 1.0}]


def test_paragraphs_in_other_languages_can_be_taken_out():
    text = f"{ENGLISH} {ENGLISH}\n{GERMAN} {GERMAN}\n{ENGLISH}\n1999\n"
    verdict = Language(keep=("en",), keep_paragraphs=True).judge(Document(text))
    assert verdict.text == f"{ENGLISH} {ENGLISH}\n{ENGLISH}\n1999"
    assert [(span.rule, span.text, span.detail) for span in verdict.spans] == [
        ("language", f"{GERMAN} {GERMAN}\n", "de")
    ]


def test_a_document_of_wanted_paragraphs_only_stays_as_it_is():
    verdict = Language(keep=("en",), keep_paragraphs=True).judge(Document(f"{ENGLISH}\n\n{ENGLISH}\n"))
    assert (verdict.text, list(verdict.spans)) == (None, [])


def test_a_document_without_wanted_paragraphs_goes():
    verdict = Language(keep=("fr",), keep_paragraphs=True).judge(Document(f"{ENGLISH}\n{GERMAN}"))
    assert (verdict.rule, verdict.threshold) == ("language", 0.65)


def test_the_known_labels_of_lid176_are_those_of_the_model():
    assert set(lid176.labels()) <= set(NAMES)
    assert len(lid176.labels()) == 176


@pytest.mark.parametrize(
    ("wanted", "hint"), [("english", "'en'"), ("EN", "'en'"), ("deu", "'de'"), ("en-US", "'en'"), ("germn", "'de'")]
)
def test_an_unknown_language_is_refused_with_a_near_one(wanted, hint):
    with pytest.raises(StageFault, match=f"did you mean.*{hint}"):
        Language(keep=(wanted,)).check()


def test_an_unknown_language_near_to_none_is_refused():
    with pytest.raises(StageFault, match="unknown language 'q!'"):
        Language(keep=("q!",)).check()


def test_a_score_that_nothing_reaches_is_refused():
    with pytest.raises(StageFault, match="min_score"):
        Language(min_score=1.5).check()


@needs_cld2
def test_a_language_that_the_engine_does_not_know_is_refused():
    Language(keep=("mi",)).check()
    with pytest.raises(StageFault, match="engine lid176 does not know 'mi' \\(maori\\)"):
        Language(keep=("mi",), engine="lid176").check()
    with pytest.raises(StageFault, match=r"engine combined does not know 'vep' .*; engine lid176 does"):
        Language(keep=("vep",)).check()


def test_paragraphs_need_a_language_to_keep():
    with pytest.raises(StageFault, match="keep_paragraphs"):
        Language(keep_paragraphs=True).check()


@pytest.mark.parametrize("choice", [{"shares": True}, {"keep_paragraphs": True, "keep": ("en",)}])
def test_lid176_judges_whole_documents_only(choice):
    with pytest.raises(StageFault, match="whole documents"):
        Language(engine="lid176", **choice).check()


def test_a_missing_model_says_to_install_again(monkeypatch):
    monkeypatch.setattr(lid176, "MODEL", "no-such.ftz")
    with pytest.raises(StageFault, match="install tokenmill again"):
        Language(engine="lid176").check()


def test_models_belong_to_the_fingerprint():
    assert set(LID176.resources()) == {"lid.176.ftz"}
    assert set(Language().resources()) == {"py3langid", "cld2"}
    assert {"fasttext-community", "py3langid", "pycld2"} <= set(Language.libraries)


@pytest.fixture
def without_cld2(monkeypatch):
    """An installation where pycld2 has no wheel."""
    identify.engines.cache_clear()
    monkeypatch.setattr(cld2, "available", lambda: False)
    yield
    identify.engines.cache_clear()


def test_where_cld2_is_missing_py3langid_does_alone_and_that_is_said(without_cld2):
    with pytest.warns(UserWarning, match="py3langid alone"):
        Language().check()
    assert Language().identify(GERMAN) == Language(engine="py3langid").identify(GERMAN)
    with pytest.raises(StageFault, match="pycld2 is not installed"):
        Language(engine="cld2").check()


@needs_cld2
def test_where_cld2_is_missing_the_fingerprint_is_another(monkeypatch):
    complete = Language().resources()
    monkeypatch.setattr(cld2, "available", lambda: False)
    assert Language().resources() != complete


def fasttext_says(text):
    model = _FastText(str(lid176.path()))
    labels, scores = model.predict(text.encode("utf-8", "replace").decode().replace("\n", " "), k=1)
    return labels[0].removeprefix("__label__"), float(scores[0])


@settings(max_examples=30, deadline=None)
@given(st.one_of(published.texts, published.prose))
def test_language_and_score_of_lid176_are_fasttexts(text):
    answer = LID176.identify(text)
    expected, expected_score = fasttext_says(text)
    assert (answer.label, answer.score) == (expected, pytest.approx(expected_score, abs=2e-6))
