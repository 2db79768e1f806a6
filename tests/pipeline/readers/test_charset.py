import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.readers.charset import decode_page, header_encoding, meta_encoding, prescan
from pipeline.readers.labels import encoding_of

GERMAN = "<html><body><p>Die Straße führt über die Brücke, schön grün — und die Häuser größer.</p></body></html>"
RUSSIAN = "<html><body><p>Съешь же ещё этих мягких французских булок, да выпей чаю, говорит он ей.</p></body></html>"
JAPANESE = "<html><body><p>日本語の文章はここにあります。漢字とひらがなとカタカナが混ざっています。</p></body></html>"


def found(raw: bytes, content_type: str | None = None):
    decoded = decode_page(raw, content_type)
    return decoded.text, decoded.charset, decoded.found_by


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_decides(codec):
    text, _, by = found(("\ufeff" + GERMAN).encode(codec), "text/html; charset=windows-1251")
    assert (text, by) == (GERMAN, "bom")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_mark_is_seen(codec):
    assert found(GERMAN.encode(codec), "text/html; charset=utf-8")[0] == GERMAN


def test_the_header_counts_before_the_meta():
    raw = b'<meta charset="windows-1252">' + RUSSIAN.encode("koi8-r")
    assert found(raw, "text/html; charset=KOI8-R")[1:] == ("koi8-r", "header")


@pytest.mark.parametrize(
    "header", ['charset="koi8-r"', "charset='koi8-r'", "CHARSET = koi8-r ; x=y", "a=b;charset=koi8-r"]
)
def test_the_charset_of_a_header_is_found(header):
    assert header_encoding(f"text/html; {header}") == "koi8-r"


def test_the_meta_counts_where_the_header_is_silent_or_unknown():
    raw = b'<meta http-equiv=content-type content="text/html; charset=shift_jis">' + JAPANESE.encode("cp932")
    for header in (None, "text/html", "text/html; charset=x-none-such", "text/html; charset="):
        text, charset, by = found(raw, header)
        assert (text[-len(JAPANESE) :], charset, by) == (JAPANESE, "shift_jis", "meta")


@pytest.mark.parametrize("label", ["iso-8859-1", "windows-1251", "gbk", "euc-jp"])
def test_utf8_proves_itself_under_a_wrong_label(label):
    text, charset, by = found((JAPANESE + RUSSIAN).encode(), f"text/html; charset={label}")
    assert (text, charset, by) == (JAPANESE + RUSSIAN, "utf-8", "detected")


def test_declared_utf8_that_is_none_is_detected():
    text, charset, by = found((RUSSIAN * 5).encode("cp1251"), "text/html; charset=utf-8")
    assert (text, charset, by) == (RUSSIAN * 5, "windows-1251", "detected")


def test_declared_utf8_with_a_stray_byte_stays_utf8():
    raw = RUSSIAN.encode() + b"\xe9" + RUSSIAN.encode()
    assert found(raw, "text/html; charset=utf-8") == (f"{RUSSIAN}\ufffd{RUSSIAN}", "utf-8", "header")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"<p>\xe6\x97\xa5\xe6\x9c</p>", "<p>日\ufffd</p>"),
        (b"<p>caf\xc3 au lait</p>", "<p>caf\ufffd au lait</p>"),
        (b"<p>It\x99s</p>", "<p>It\ufffds</p>"),
        (b"<p>na\xc3\xafve caf\xa9</p>", "<p>naïve caf\ufffd</p>"),
        ("<p>Съешь".encode() + b"\xd0 \xff</p>", "<p>Съешь\ufffd \ufffd</p>"),
    ],
)
def test_a_damaged_character_does_not_overrule_declared_utf8_however_short_the_page(body, text):
    assert found(body, "text/html; charset=utf-8") == (text, "utf-8", "header")
    assert found(b"<meta charset=utf-8>" + body)[:2] == ("<meta charset=utf-8>" + text, "utf-8")


@pytest.mark.parametrize("encoding", ["shift_jis", "euc-jp"])
def test_a_damaged_character_does_not_overrule_a_declared_legacy_charset(encoding):
    codec = {"shift_jis": "cp932", "euc-jp": "euc_jp"}[encoding]
    raw = "<p>日本語の文</p>".encode(codec) + b"\xff<p>"
    assert found(raw, f"text/html; charset={encoding}") == ("<p>日本語の文</p>\ufffd<p>", encoding, "header")


@pytest.mark.parametrize("encoding", ["shift_jis", "euc-jp", "gbk", "big5", "euc-kr", "windows-1253", "iso-8859-8"])
def test_of_a_tiny_page_the_declared_charset_is_believed_whatever_a_detector_thinks(encoding):
    bad = b"\xff" if encoding != "windows-1253" else b"\xaa"
    text, charset, by = found(b"<p>a" + bad + b"<b>c</b>" + bad, f"text/html; charset={encoding}")
    assert (text, charset, by) == ("<p>a\ufffd<b>c</b>\ufffd", encoding, "header")


def test_where_nothing_speaks_for_another_charset_declared_utf8_stays():
    raw = b"<p>\x80 \x81 \x82 \x83</p>"
    assert found(raw, "text/html; charset=utf-8")[1:] == ("utf-8", "header")
    assert found(raw)[1:] == ("windows-1252", "default")


def test_utf16_that_a_header_declares_is_believed_where_the_bytes_do_not_contradict_it():
    japanese = ("<p>日本語の文章はここにあります。漢字</p>" * 40).encode("utf-16-be")
    assert found(japanese, "text/html; charset=utf-16be")[1:] == ("utf-16be", "header")
    assert found(b"<p>plain</p>", "text/html; charset=utf-16")[0] == "<p>plain</p>"


def test_utf8_cut_inside_a_character_stays_utf8():
    whole = RUSSIAN.split("</p>")[0].rstrip(".")
    assert found(whole.encode()[:-1])[:2] == (whole[:-1] + "\ufffd", "utf-8")


def test_a_server_that_says_latin1_with_everything_does_not_overrule_the_meta():
    raw = b'<meta charset="windows-1251">' + RUSSIAN.encode("cp1251")
    text, charset, by = found(raw, "text/html; charset=iso-8859-1")
    assert (text.endswith(RUSSIAN), charset, by) == (True, "windows-1251", "meta")


def test_a_label_that_cannot_be_the_charset_is_passed_over():
    raw = (JAPANESE * 3).encode("euc_jp")
    assert found(raw, "text/html; charset=shift_jis")[:2] == (JAPANESE * 3, "euc-jp")


@pytest.mark.parametrize(
    ("text", "codec", "charset"), [(RUSSIAN, "koi8-r", "koi8-r"), (JAPANESE, "cp932", "shift_jis")]
)
def test_an_undeclared_charset_is_detected(text, codec, charset):
    assert found((text * 4).encode(codec)) == (text * 4, charset, "detected")


def test_iso_2022_jp_is_detected_though_it_is_ascii():
    assert found(JAPANESE.encode("iso2022_jp"))[:2] == (JAPANESE, "iso-2022-jp")


def test_ascii_is_utf8_by_default():
    assert found(b"<p>plain</p>") == ("<p>plain</p>", "utf-8", "default")


def test_latin1_means_windows_1252_and_undefined_bytes_become_controls():
    text, charset, _ = found(b"<p>caf\xe9 \x93quoted\x94 \x81</p>", "text/html; charset=latin1")
    assert (text, charset) == ("<p>café “quoted” \x81</p>", "windows-1252")


def test_control_characters_are_kept():
    assert found(b"a\x00b\x0cc")[0] == "a\x00b\x0cc"


@settings(max_examples=200, deadline=None)
@given(
    raw=st.binary(max_size=300),
    content_type=st.none() | st.text(max_size=30) | st.sampled_from(["a; charset=gbk", "x; charset=utf-16"]),
)
def test_no_bytes_and_no_header_make_it_fail(raw, content_type):
    decoded = decode_page(raw, content_type)
    decoded.text.encode()
    assert decoded.found_by in ("bom", "header", "meta", "detected", "default")


@pytest.mark.parametrize(
    ("label", "charset"),
    [
        ("latin1", "windows-1252"),
        ("ISO-8859-1", "windows-1252"),
        ("us-ascii", "windows-1252"),
        (" gb2312\n", "gbk"),
        ("x-sjis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("tis-620", "windows-874"),
        ("iso-8859-9", "windows-1254"),
        ("unicode-1-1-utf-8", "utf-8"),
        ("x-user-defined", "x-user-defined"),
        ("iso-8859-8-i", "iso-8859-8-i"),
    ],
)
def test_labels_mean_what_the_standard_says(label, charset):
    assert encoding_of(label) == charset


@pytest.mark.parametrize("label", ["", None, "none", "utf8mb4", "utf-7", "charset", "\x00", "x" * 1000])
def test_an_unknown_label_is_no_codec(label):
    assert encoding_of(label) is None


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        (b"<meta charset=koi8-r>", "koi8-r"),
        (b"<META CHARSET='koi8-r' />", "koi8-r"),
        (b"<!-- <meta charset=utf-8> --><meta charset=koi8-r>", "koi8-r"),
        (b"<p title='<meta charset=utf-8>'><meta charset=koi8-r>", "koi8-r"),
        (b"<meta name=a content='text/html; charset=koi8-r'>", None),
        (b"<meta content='text/html; charset=koi8-r' http-equiv=Content-Type>", "koi8-r"),
        (b"<meta charset=nothing><meta charset=koi8-r>", "koi8-r"),
        (b"<metacharset=koi8-r>", None),
        (b"<meta charset='koi8-r", None),
        (b"< meta charset=koi8-r>", None),
    ],
)
def test_the_prescan_finds_what_a_browser_finds(head, codec):
    assert prescan(head) == codec


def test_a_meta_that_asks_for_utf16_means_utf8():
    assert meta_encoding(b"<meta charset=utf-16>") == "utf-8"


def test_a_meta_behind_the_first_kilobyte_is_found():
    assert meta_encoding(b"<!-- " + b"x" * 3000 + b" --><meta charset=koi8-r>") == "koi8-r"


def test_an_xml_declaration_counts():
    assert meta_encoding(b'<?xml version="1.0" encoding="ISO-8859-2"?><html>') == "iso-8859-2"
