"""trafilatura, more than twice as fast and with the same text to the byte.

Single slow functions of the pinned release are replaced in a copy of the library that is ours alone
(`private_library`), only where its version and the source of every function replaced are those the replacements were
proved for; else the library runs as it is, and says so once. What is replaced, and why:

| replaced | by | because |
|---|---|---|
| the XPaths of `xpaths`, `settings.BASIC_CLEAN_XPATH` | `fast_rules` | ``re:test`` calls Python for every element |
| `utils.HTML_PARSER`'s class lookup | lxml's at C level | a Python call for every element met |
| `utils.trim`, `remove_control_characters`, `line_processing` | `fast_cleaning` | caches that cost more than they save |
| `htmlprocessing.prune_unwanted_nodes`, `tree_cleaning`, `prune_html`, `delete_by_link_density` | `fast_cleaning` | a walk for each of 55 tags; texts measured that hold no link |
| `external.try_justext` (jusText's `ParagraphMaker`, `classify_paragraphs`, `revise_paragraph_classification`) | `fast_justext` | SAX events, texts and stop lists built again and again |
| `external.compare_extraction`, `try_readability` (`readability_lxml.Document`) | `fast_cascade`, `fast_readability` | carried out to the end where its text cannot be chosen |
| `core._prepare_tree`, `_extract_and_compare`, `html2txt`; `main_extractor.extract_content`, `_extract` | `fast_cascade` | copies of the tree for attempts that are not made |
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable
from typing import Any

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

from stages.extraction import fast_cleaning, fast_justext, fast_rules
from stages.extraction.fast_cascade import Cascade
from stages.extraction.fast_readability import Readability
from stages.extraction.private_library import Modules, digest, load_copy, sources_digest

VERSIONS = {"trafilatura": "2.3.1", "justext": "3.0.2"}
SOURCES = "ab0ae8b1e23487fc"
"""Digest of all source files of these releases: where it is the same, nothing need be loaded to know what differs."""
DIGESTS: dict[str, str] = {
    "xpaths.BODY_XPATH": "049ab58f8ca0d8bf",
    "xpaths.OVERALL_DISCARD_XPATH": "90fe7cbe71fb424a",
    "xpaths.TEASER_DISCARD_XPATH": "ebb02f066626551d",
    "xpaths.DISCARD_IMAGE_ELEMENTS": "cb1ab981e44913f7",
    "xpaths.RAW_TREE_PRUNE_XPATH": "0a775839824a964b",
    "xpaths.REMOVE_COMMENTS_XPATH": "5d97216ca15d0558",
    "xpaths.REMOVE_COMMENTS_AND_LISTS_XPATH": "9cc18d34e6e2d258",
    "settings.BASIC_CLEAN_XPATH": "db6c25acd08aef99",
    "utils.trim": "b82ffd884c0dc230",
    "utils.remove_control_characters": "26cbe32b70e70e35",
    "utils.return_printables_and_spaces": "288779372242f2ae",
    "utils.fromstring_bytes": "c5ee8713366ea137",
    "utils.load_html": "bc0039c89805dea3",
    "utils.line_processing": "8ec593c93ef9e685",
    "utils.repair_faulty_html": "7e68c7a3cb24910c",
    "utils.sanitize": "48d4002f672ee319",
    "htmlprocessing.prune_unwanted_nodes": "4731f8e24ef86449",
    "htmlprocessing.tree_cleaning": "828e83a7393082de",
    "htmlprocessing.prune_html": "ce327c5260aedd21",
    "htmlprocessing.delete_by_link_density": "306ab5a31636cd08",
    "htmlprocessing.link_density_test": "0b3d71f252bf1963",
    "htmlprocessing.collect_link_info": "f19694013146ff10",
    "htmlprocessing.is_paragraph_listing": "cd15b55af42f431c",
    "htmlprocessing._handle_forms": "dea817f4a63f08c7",
    "htmlprocessing.recover_math": "a8dd575f1afe5a6e",
    "htmlprocessing.convert_tags": "3b91547711b762a5",
    "xml.delete_element": "76e448c154eb43ba",
    "baseline.html2txt": "a8c97eab2097c57d",
    "baseline._spaced_text": "d04314f988c6afae",
    "baseline.basic_cleaning": "80877b2ccdefda2d",
    "readability_lxml.Document": "fe2ad9d1920eed29",
    "readability_lxml.text_length": "74f7faf7008b34b4",
    "readability_lxml.Candidate": "7badc25560147f96",
    "external.try_readability": "538e3c8e5ab7e4d4",
    "external._prefer_readability": "f6ee688e9ae60074",
    "external.compare_extraction": "2d3d1ffea3ba469f",
    "external.try_justext": "6f0fa6cffc365def",
    "external.justext_rescue": "43d803082a76d38a",
    "external.sanitize_tree": "6fd0b78ab2c26a5d",
    "main_extractor.extract_content": "f0270c94ac5f30b5",
    "main_extractor._extract": "3e0e39ed3e03e8e4",
    "main_extractor.recover_wild_text": "335f6d13321fd4e3",
    "main_extractor.prune_unwanted_sections": "e6eb7afcc64d3f37",
    "main_extractor.handle_textelem": "59c8a575858db16d",
    "main_extractor.handle_formatting": "dcd8161cd3651ae5",
    "main_extractor.handle_titles": "de763801347fbc28",
    "main_extractor.handle_other_elements": "1662b444153a0013",
    "main_extractor.handle_paragraphs": "5f63d33439110567",
    "main_extractor._elem_text": "e42e0fc090a4f44a",
    "core._prepare_tree": "9595f0642825c2c7",
    "core._extract_and_compare": "f7d056c2118222e8",
    "core._recall_retry": "59594c39714f57be",
    "core.trafilatura_sequence": "f03dc4d2946dacbd",
    "core._forum_thread_page": "e7f7cef99b33704f",
    "justext.ParagraphMaker": "b41fe77fbc5b6a64",
    "justext.PathInfo": "a0654d40b436e45d",
    "justext.define_stoplist": "9149bbf4aa8ac519",
    "justext.classify_paragraphs": "37149c0348a99b3c",
    "justext.revise_paragraph_classification": "cdb816fa335044f0",
    "justext._get_neighbour": "2b29d11400c9c65c",
    "justext.is_blank": "4761029ea6494a6d",
    "justext.Paragraph": "638810ac2d88e31c",
    "justext.normalize_whitespace": "9bffba6a89181d2c",
}
_COMMENTS = ("div", "list", "section", "details")


def replaced(modules: Modules) -> dict[str, Any]:
    """Return what is replaced, and what the replacements read, by name."""
    import justext.core
    import justext.paragraph
    import justext.utils

    names = {
        "xpaths": "BODY_XPATH OVERALL_DISCARD_XPATH TEASER_DISCARD_XPATH DISCARD_IMAGE_ELEMENTS RAW_TREE_PRUNE_XPATH "
        "REMOVE_COMMENTS_XPATH REMOVE_COMMENTS_AND_LISTS_XPATH",
        "settings": "BASIC_CLEAN_XPATH",
        "utils": "trim remove_control_characters return_printables_and_spaces fromstring_bytes load_html line_processing repair_faulty_html sanitize",
        "htmlprocessing": "prune_unwanted_nodes tree_cleaning prune_html delete_by_link_density link_density_test "
        "collect_link_info is_paragraph_listing _handle_forms recover_math convert_tags",
        "xml": "delete_element",
        "baseline": "html2txt _spaced_text basic_cleaning",
        "readability_lxml": "Document text_length Candidate",
        "external": "try_readability _prefer_readability compare_extraction try_justext justext_rescue sanitize_tree",
        "main_extractor": "extract_content _extract recover_wild_text prune_unwanted_sections handle_textelem "
        "handle_formatting handle_titles handle_other_elements handle_paragraphs _elem_text",
        "core": "_prepare_tree _extract_and_compare _recall_retry trafilatura_sequence _forum_thread_page",
    }
    found = {f"{m}.{n}": getattr(getattr(modules, m), n) for m, row in names.items() for n in row.split()}
    found |= {
        f"justext.{thing.__name__}": thing
        for thing in (
            justext.core.ParagraphMaker,
            justext.core.PathInfo,
            justext.core.define_stoplist,
            justext.core.classify_paragraphs,
            justext.core.revise_paragraph_classification,
            justext.core._get_neighbour,
            justext.core.is_blank,
            justext.paragraph.Paragraph,
            justext.utils.normalize_whitespace,
        )
    }
    return found


def differences(modules: Modules) -> list[str]:
    """Return in what the installed libraries differ from those the replacements were proved for."""
    wrong = [f"{n} {v}" for n, known in VERSIONS.items() if (v := importlib.metadata.version(n)) != known]
    try:
        found = {name: digest(thing) for name, thing in replaced(modules).items()}
    except (AttributeError, OSError, TypeError) as error:
        return [*wrong, str(error)]
    return wrong + [name for name, value in found.items() if DIGESTS.get(name) != value]


def accelerate(modules: Modules) -> None:
    """Replace the slow functions in `modules`, a copy of the library that nobody else uses."""
    x, names = modules.xpaths, vars(modules).values()
    cleaning = fast_cleaning.Cleaning(modules)
    modules.htmlprocessing.library_tree_cleaning = modules.htmlprocessing.tree_cleaning
    basic = fast_rules.basic_rule(modules.settings.BASIC_CLEAN_XPATH)
    new: dict[str, Any] = {
        "BODY_XPATH": fast_rules.body_rules(x.BODY_XPATH),
        "OVERALL_DISCARD_XPATH": fast_rules.discard_rules(x.OVERALL_DISCARD_XPATH),
        "TEASER_DISCARD_XPATH": fast_rules.teaser_rules(),
        "DISCARD_IMAGE_ELEMENTS": fast_rules.caption_rules(),
        "REMOVE_COMMENTS_XPATH": fast_rules.comment_rules(x.REMOVE_COMMENTS_XPATH, _COMMENTS),
        "REMOVE_COMMENTS_AND_LISTS_XPATH": fast_rules.comment_rules(
            x.REMOVE_COMMENTS_AND_LISTS_XPATH, (*_COMMENTS, "ol", "ul")
        ),
        "BASIC_CLEAN_XPATH": fast_rules.outermost(("*",), basic),
        "trim": fast_cleaning.trim,
        "remove_control_characters": fast_cleaning.remove_control_characters,
        "line_processing": fast_cleaning.line_processing,
        "_log_event": fast_cleaning.no_log,
        "prune_unwanted_nodes": cleaning.prune_unwanted_nodes,
        "tree_cleaning": cleaning.tree_cleaning,
        "prune_html": cleaning.prune_html,
        "delete_by_link_density": cleaning.delete_by_link_density,
        "prune_unwanted_sections": cleaning.prune_unwanted_sections,
        "INVALID_XML_CHARS": fast_cleaning.Scrub(modules.utils.INVALID_XML_CHARS),
        "try_justext": functools.partial(_try_justext, modules),
    }
    first = fast_rules.first_rules(x.RAW_TREE_PRUNE_XPATH, x.REMOVE_COMMENTS_AND_LISTS_XPATH)
    _replace(names, new)
    cascade = Cascade(modules, Readability(modules.readability_lxml), basic)
    cascade.first_rules = first
    new = {
        "trafilatura_sequence": cascade.sequence,
        "_prepare_tree": cascade.prepare_tree,
        "_extract_and_compare": cascade.extract_and_compare,
        "compare_extraction": cascade.compare,
        "extract_content": cascade.extract_content,
        "_extract": cascade.extract,
    }
    _replace(names, new)
    modules.cascade = cascade
    modules.utils.HTML_PARSER = _parser()


def _parser() -> HTMLParser:
    """Return the library's parser with classes told in C, and without the limits for which it loses a page whole:
    256 levels, 10 MB of text in one place."""
    parser = HTMLParser(
        collect_ids=False,
        default_doctype=False,
        encoding="utf-8",
        remove_comments=True,
        remove_pis=True,
        huge_tree=True,
    )
    parser.set_element_class_lookup(etree.ElementDefaultClassLookup(element=HtmlElement))
    return parser


def _replace(modules: Any, new: dict[str, Any]) -> None:
    for module in modules:
        for name, value in new.items():
            if hasattr(module, name):
                setattr(module, name, value)


def _try_justext(modules: Modules, tree: Any, url: str | None, language: str | None) -> Any:
    body = etree.Element("body")
    words = fast_justext.stop_words(modules.settings.JUSTEXT_LANGUAGES.get(language))
    paragraphs = fast_justext.paragraphs_of(tree)
    for paragraph, kind in zip(paragraphs, fast_justext.judge(paragraphs, words), strict=True):
        if kind == "good":
            etree.SubElement(body, "p").text = paragraph.text
    return body


@functools.cache
def _loaded() -> tuple[Modules, list[str]]:
    modules = load_copy()
    wrong = differences(modules)
    if wrong:
        basic = fast_rules.basic_rule(modules.settings.BASIC_CLEAN_XPATH)
        modules.cascade = Cascade(modules, Readability(modules.readability_lxml), basic)
    else:
        accelerate(modules)
    return modules, wrong


def library() -> Modules:
    """Return our copy of trafilatura, made fast where it is the release this was proved for."""
    return _loaded()[0]


def why_slow() -> str:
    """Return why the library runs as it is, in one line to be said once a run; empty where it runs fast."""
    if sources_digest(VERSIONS) == SOURCES:
        return ""
    wrong = _loaded()[1]
    if not wrong:
        return ""
    shown = ", ".join(wrong[:3]) + (", …" if len(wrong) > 3 else "")
    return (
        f"trafilatura runs as it is, at less than half the speed: {shown} differ from trafilatura "
        f"{VERSIONS['trafilatura']} with jusText {VERSIONS['justext']}, which the faster functions were proved for"
    )


def extractor() -> Callable[..., str | None]:
    """Return trafilatura's `extract` with the same text, faster where it may be."""
    return library().core.extract
