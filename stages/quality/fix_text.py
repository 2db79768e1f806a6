"""Text that was decoded wrongly is put right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import ftfy

from pipeline.documents import Document
from pipeline.stage import DocumentStage, Keep, Verdict


@dataclass(frozen=True, kw_only=True)
class FixText(DocumentStage):
    """Mend text that was decoded wrongly (mojibake), and characters that no text should hold, by ftfy.

    The choices are those of FineWeb's formatter: nothing is done that changes how right text looks.
    """

    name: ClassVar[str] = "fix_text"
    published: ClassVar[str] = "ftfy 6 (Speer 2019, doi:10.5281/zenodo.2591652); FineWeb, arXiv:2406.17557"
    libraries: ClassVar[tuple[str, ...]] = ("ftfy",)
    preload: ClassVar[tuple[str, ...]] = ("ftfy",)

    unescape_html: Literal["auto", "yes", "no"] = "auto"
    """Whether ``&eacute;`` becomes é; auto: in texts without an angle bracket."""
    fix_encoding: bool = True
    """Undo decoding by the wrong charset: ``schÃ¶n`` becomes schön."""
    remove_control_characters: bool = True
    """Take out control characters that do nothing, and terminal escapes."""
    straighten_quotes: bool = False
    """Curly quotation marks become straight ones."""
    fix_widths: bool = False
    """Latin ligatures become letters, and halfwidth and fullwidth forms common ones."""
    fix_line_breaks: bool = False
    """Line breaks of any kind become a line feed."""
    normalization: Literal["", "NFC", "NFKC", "NFD", "NFKD"] = ""
    """Normal form of the text (UAX 15); empty: as it is."""

    def judge(self, document: Document) -> Verdict:
        config = ftfy.TextFixerConfig(
            unescape_html="auto" if self.unescape_html == "auto" else self.unescape_html == "yes",
            remove_terminal_escapes=self.remove_control_characters,
            fix_encoding=self.fix_encoding,
            fix_latin_ligatures=self.fix_widths,
            fix_character_width=self.fix_widths,
            uncurl_quotes=self.straighten_quotes,
            fix_line_breaks=self.fix_line_breaks,
            remove_control_chars=self.remove_control_characters,
            normalization=self.normalization or None,
            explain=False,
        )
        fixed = ftfy.fix_text(document.text, config)
        return None if fixed == document.text else Keep(text=fixed)
