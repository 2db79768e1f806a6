"""Variants: the same names as other systems mean them, and FineWeb-2's thresholds by language."""

import math

import numpy as np
import pytest

from pipeline.documents import Batch, Document
from pipeline.errors import RecipeError
from pipeline.recipe import build_recipe, build_stage
from pipeline.run.passes import plan_passes
from pipeline.stage import Drop, StageFault
from stages.quality import fineweb2
from stages.quality.c4 import C4
from stages.quality.fineweb import FineWeb
from stages.quality.gopher_quality import GopherQuality
from stages.quality.gopher_repetition import GopherRepetition

SYSTEMS = ("datatrove", "dolma", "dclm")


def signals(kind, text, variant="datatrove", **parameters):
    stage = kind(variant=variant, **parameters)
    return dict(zip(stage.signal_names, stage.measure(Document(text)), strict=True))


# by hand, from what filters are said to measure: (text, signal, value by datatrove, dolma, dclm)
QUALITY = [
    ("The cat, the dog.", "words", 4, 4, 4),
    ("The cat, the dog.", "tokens", 6, 4, 4),
    ("The cat, the dog.", "avg_word_length", 3, 3.5, 3.5),
    ("a bb cccccc", "avg_word_length", 3, 2, 3),
    ("a # b #c", "hashes", 2 / 5, 2 / 4, 2 / 4),
    ("a ... b … . . .", "hashes", 0, 1 / 7, 3 / 7),
    ("a ... b …", "ellipses", 2 / 4, math.nan, math.nan),
    ("* a\n - b\n● c\n• d", "bullet_lines", 2 / 4, 1 / 4, 1),
    ("* a\n\n- b", "bullet_lines", 1 / 3, 2 / 3, 1),
    ("a…\nb...\nc. . .\nd", "ellipsis_lines", 2 / 4, 1 / 4, 3 / 4),
    ("a 1 2 b", "alpha_words", 1 / 2, 1 / 2, 1 / 2),
    ("the The the of", "stop_words", 2, 3, 4),
]
REPETITION = [
    ("a\na\nb", "dup_line_frac", 1 / 3, 2 / 3, 2 / 3),
    ("aa\naa\nb", "dup_line_char_frac", 2 / 7, 4 / 5, 4 / 5),
    ("a\n\na\n\nb", "dup_para_frac", 1 / 3, 0, 2 / 3),
    ("ab cd ab cd", "top_2_gram", 10 / 11, 1, 1),
    ("ab cd ef", "top_2_gram", 5 / 8, 4 / 6, 0),
    ("a b c d e a b c d e", "duplicated_5_n_grams", 5 / 19, 2 / 6, 1),
    ("", "characters", 0, 0, 0),
]


@pytest.mark.parametrize(("text", "signal", "datatrove", "dolma", "dclm"), QUALITY)
def test_what_gopher_quality_measures_by_system(text, signal, datatrove, dolma, dclm):
    found = [signals(GopherQuality, text, variant)[signal] for variant in SYSTEMS]
    assert found == pytest.approx([datatrove, dolma, dclm], nan_ok=True)


@pytest.mark.parametrize(("text", "signal", "datatrove", "dolma", "dclm"), REPETITION)
def test_what_gopher_repetition_measures_by_system(text, signal, datatrove, dolma, dclm):
    found = [signals(GopherRepetition, text, variant)[signal] for variant in SYSTEMS]
    assert found == pytest.approx([datatrove, dolma, dclm], nan_ok=True)


GOLDEN = {
    "One here.\nTwo here.\nOne here.\nshort": [4, 3 / 4, 1, 9 / 32, 3 / 10],
    "你好。\n再见！": [2, 1, 1, 0, 1 / 6],
    "ภาษาไทย\nภาษา": [2, 1, 1, 0, 1 / 5],
    "no end\n\n": [1, 0, 1, 0, 2 / 2],
    " \n": [0, *[math.nan] * 4],
}


@pytest.mark.parametrize("text", GOLDEN)
def test_what_fineweb_measures(text):
    assert list(signals(FineWeb, text).values()) == pytest.approx(GOLDEN[text], nan_ok=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is here. Two is here.\nmenu", [2, 1 / 2, math.nan, math.nan]),
        ("Lorem ipsum is here.\nA { is here.", [2, 1, 1, 2]),
        ("你好，我们走。\n再见再见！", [2, 1, math.nan, math.nan]),
        ("ภาษาไทยดีมาก", [1, 1, math.nan, math.nan]),
        ("", [0, 0, math.nan, math.nan]),
    ],
)
def test_what_c4_measures(text, expected):
    assert list(signals(C4, text).values()) == pytest.approx(expected, nan_ok=True)


def test_each_variant_brings_its_own_defaults_and_what_is_given_stays():
    assert GopherQuality().max_avg_word_length == 10
    assert GopherQuality(variant="dolma").words == "whitespace"
    assert GopherQuality(variant="dolma", words="unicode", max_avg_word_length=7.0).max_avg_word_length == 7
    assert GopherRepetition(variant="dolma").dup_line_char_frac == 0.3
    assert FineWeb(variant="fineweb2").char_duplicates_ratio == 0.1
    assert FineWeb(variant="fineweb2").new_line_ratio is None
    assert GopherQuality(variant="dclm").fingerprint() != GopherQuality().fingerprint()


@pytest.mark.parametrize("stage", [C4(variant="dolma"), C4(variant="fineweb2"), FineWeb(variant="dclm")])
def test_a_system_without_such_rules_is_refused(stage):
    with pytest.raises(StageFault, match="variant"):
        stage.check()


def test_an_unknown_variant_or_unit_names_those_there_are(tmp_path):
    for key in ("variant", "words", "mode"):
        with pytest.raises(RecipeError, match=rf"stages\[0\].{key}"):
            build_stage({"use": "gopher_quality", key: "nothing"}, tmp_path, "stages[0]")


GERMAN = "Der Hund und die Katze liegen in der Sonne, und das Haus steht mit dem Garten im Licht des Tages. " * 6
CHINESE = "他在中国的北京大学学习了三年,每天早上都和朋友一起去图书馆看书,然后回家吃饭。" * 3


def rule(stage, text, language):
    verdict = stage.judge(Document(text, language=language))
    return verdict.rule if isinstance(verdict, Drop) else None


def test_fineweb2_has_the_stop_words_of_each_language():
    stage = GopherQuality(variant="fineweb2")
    assert rule(stage, GERMAN, "de") is None
    assert rule(stage, GERMAN, "deu_Latn") is None
    assert rule(stage, GERMAN, "fr") == "gopher_enough_stop_words"
    assert rule(GopherQuality(), GERMAN, "de") == "gopher_enough_stop_words"


def test_fineweb2_measures_by_the_thresholds_of_the_language():
    german = dict(
        zip(fineweb2.COLUMNS, fineweb2.table().values[fineweb2.table().row["deu_Latn"]].tolist(), strict=True)
    )
    drop = GopherQuality(variant="fineweb2").judge(Document(GERMAN + "1 " * 40, language="de"))
    assert (drop.rule, drop.threshold) == ("gopher_below_alpha_threshold", german["max_non_alpha_words_ratio"])
    repetition = GopherRepetition(variant="fineweb2", top_n_grams=(), dup_n_grams=())
    lines = "Der Hund liegt.\n" * 27 + "\n".join(f"Zeile {n}." for n in range(73))
    drop = repetition.judge(Document(lines, language="de"))
    assert not isinstance(drop, Drop)  # 0.26 is within 0.263
    drop = repetition.judge(Document("Der Hund liegt.\n" + lines, language="de"))
    assert (drop.rule, drop.value, drop.threshold) == ("dup_line_frac", 27 / 101, german["dup_line_frac"])


def test_stop_words_of_korean_are_endings_of_words():
    text = "나는 학교에서 친구와 함께 한국어를 공부하고 집으로 돌아왔다. " * 8
    assert rule(GopherQuality(variant="fineweb2"), text, "ko") is None
    assert rule(GopherQuality(variant="fineweb2"), "학교 친구 공부 " * 20, "ko") == "gopher_enough_stop_words"


def test_a_language_without_thresholds_is_asked_only_what_is_the_same_for_all():
    stage = GopherQuality(variant="fineweb2")
    assert rule(stage, GERMAN, "xx") is None
    assert rule(stage, "kurz", "xx") == "gopher_short_doc"
    assert rule(stage, GERMAN, None) is None


def test_english_has_the_thresholds_of_fineweb():
    text = "The cat sat with the dog and looked to the east. " * 6
    for kind in (GopherQuality, GopherRepetition, FineWeb):
        ours = kind(variant="fineweb2")
        limits = ours.thresholds(np.array([ours.measure(Document(text, language="en"))]))[0]
        published = {rule.name: rule.threshold for rule in kind().rules}
        same_for_all = {
            "dup_para_frac",
            "dup_para_char_frac",
            "dup_line_char_frac",
            "short_line_ratio",
            "char_dup_ratio",
        }
        for place, one in enumerate(ours.rules):
            if one.name not in same_for_all:
                assert limits[place] == pytest.approx(published[one.name]), one.name


@pytest.mark.parametrize("language", ["de", "zh", "xx", None])
@pytest.mark.parametrize("kind", [GopherQuality, GopherRepetition, FineWeb])
def test_thresholds_by_language_follow_from_the_signals_too(kind, language):
    stage = kind(variant="fineweb2")
    for text in (GERMAN, CHINESE, "x\n" * 99, "", "the " * 60):
        document = Document(text, language=language)
        first, value, threshold = (found[0] for found in stage.first_broken(np.array([stage.measure(document)])))
        verdict = stage.judge(document)
        told = (verdict.rule, verdict.value, verdict.threshold) if isinstance(verdict, Drop) else None
        assert told == (None if first == -1 else (stage.rules[first].name, value, threshold))


@pytest.mark.parametrize(
    ("language", "text", "label"),
    [
        ("sr", "Ово је реченица", "srp_Cyrl"),
        ("sr", "Ovo je rečenica", "srp_Latn"),
        ("zh", "x", "cmn_Hani"),
        ("ar", "مرحبا", "arb_Arab"),
        ("als_Latn", "x", "als_Latn"),
        ("als", "x", "gsw_Latn"),
        ("sq", "x", "als_Latn"),
        ("ja", "x", "jpn_Jpan"),
    ],
)
def test_a_language_is_found_by_its_code_and_its_script(language, text, label):
    table = fineweb2.table()
    assert table.labels[int(fineweb2.row_of(Document(text, language=language)))] == label


def test_there_are_thresholds_for_1929_languages_and_english():
    table = fineweb2.table()
    assert (len(table.labels), table.values.shape) == (1930, (1931, len(fineweb2.COLUMNS)))
    assert all(table.stop_words)
    assert table.values[table.row["deu_Latn"]][:3].tolist() == [0.263, 0.0, 15.0]
    assert table.stop_words[table.row["deu_Latn"]][:3] == ("der", "und", "die")


def test_a_recipe_with_fineweb2_and_no_language_is_refused_before_work(tmp_path):
    stages = [{"use": "fineweb", "variant": "fineweb2"}]
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    recipe = build_recipe({"input": {"paths": "a.jsonl"}, "stage": stages}, tmp_path)
    schema = Batch.of(["x"]).data.schema
    with pytest.raises(RecipeError, match="needs column 'language'"):
        plan_passes(recipe.stages, schema)


PROSE = {
    "Chinese": CHINESE,
    "Japanese": "昨日は朝から雨が降っていたので、駅まで歩かずにバスに乗った。友達と会って昼ごはんを食べ、夕方には家に帰って本を読んだ。"
    * 2,
    "Thai": "เมื่อวานนี้ฝนตกตั้งแต่เช้า ฉันจึงนั่งรถเมล์ไปทำงาน และกลับบ้านในตอนเย็นเพื่ออ่านหนังสือกับน้องสาวของฉัน " * 4,
    "Khmer": "ខ្ញុំទៅសាលារៀនរាល់ថ្ងៃជាមួយមិត្តភក្តិរបស់ខ្ញុំ ហើយយើងរៀនភាសាខ្មែរនិងគណិតវិទ្យា។ " * 5,
    "Burmese": "ကျွန်တော်သည် နေ့စဉ် ကျောင်းသို့ သူငယ်ချင်းများနှင့်အတူ သွားပြီး မြန်မာစာကို လေ့လာသည်။ " * 5,
    "Tibetan": "ངས་ཉིན་ལྟར་སློབ་གྲྭར་འགྲོ་གི་ཡོད། ང་ཚོས་བོད་ཡིག་དང་ཨང་རྩིས་སྦྱོང་གི་ཡོད།\n" * 6,
    "Yi": "".join(chr(0xA000 + 7 * n) for n in range(90)),
    "Tai Lue": "".join(chr(0x1980 + n % 44) for n in range(90)),
    "Javanese": "".join(chr(0xA984 + n % 40) + (" " if n % 23 == 22 else "") for n in range(23 * 60)),
    "Lao": "ຂ້ອຍໄປໂຮງຮຽນທຸກມື້ກັບໝູ່ຂອງຂ້ອຍ ແລະພວກເຮົາຮຽນພາສາລາວ " * 6,
}


@pytest.mark.parametrize("name", PROSE)
def test_prose_without_spaces_is_neither_too_short_nor_too_long_winded_by_default(name):
    assert rule(GopherQuality(), PROSE[name], None) is None


def test_a_line_of_tibetan_ends_with_a_shad():
    assert C4(min_num_sentences=2).judge(Document(PROSE["Tibetan"])).text.count("\n") == 5
    assert rule(FineWeb(char_duplicates_ratio=1.0), PROSE["Tibetan"], None) is None
