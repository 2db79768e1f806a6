"""Articles dressed as the pages of a web site: navigation, banner, sidebar, comments, footer, scripts."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from making.compose import Article, Dice
from making.phrases import PHRASES


@dataclass(frozen=True)
class Dress:
    """How a page looks.

    Attributes:
        theme: ``blog``, ``journal`` or ``wiki``.
        entities: characters beyond ASCII written as entities where HTML has a name for them.
        charset: what the page's own meta says; None for no meta.
    """

    theme: str = "blog"
    entities: bool = False
    charset: str | None = "utf-8"


_AFTER_NUMBER = re.compile(r"(?<=\d) (?=\w)")
_ENTITIES = {
    "—": "&mdash;", "–": "&ndash;", "’": "&rsquo;", "é": "&eacute;", "è": "&egrave;", "ê": "&ecirc;", "à": "&agrave;",
    "ç": "&ccedil;", "ä": "&auml;", "ö": "&ouml;", "ü": "&uuml;", "Ä": "&Auml;", "Ö": "&Ouml;", "Ü": "&Uuml;",
    "ß": "&szlig;", "ñ": "&ntilde;", "á": "&aacute;", "í": "&iacute;", "ó": "&oacute;", "ú": "&uacute;", "É": "&#201;",
    "½": "&frac12;", "°": "&deg;", "×": "&times;",
}  # fmt: skip

_SCRIPT = """<script>
window.site = window.site || {}; (function (s) { s.queue = []; s.push = function (e) { s.queue.push(e); };
document.addEventListener("DOMContentLoaded", function () { s.push({ event: "view", page: "%s" }); }); })(window.site);
</script>"""

_STYLE = """<style>
body { margin: 0; font: 17px/1.6 Georgia, serif; color: #222 } nav li { display: inline-block; padding: 0 .7em }
.cookie-banner { position: fixed; bottom: 0; background: #fffbe6; padding: 1em } aside { float: right; width: 16em }
</style>"""


def render(article: Article, dress: Dress, others: list[tuple[str, str]]) -> str:
    """Return the page of `article`.

    Args:
        others: (address, title) of pages that this one links to.
    """
    dice = Dice("page " + article.name)
    say = PHRASES[article.language]

    def escaped(text: str) -> str:
        text = html.escape(text, quote=False)
        if not dress.entities:
            return text
        return _AFTER_NUMBER.sub("&nbsp;", "".join(_ENTITIES.get(c, c) for c in text))

    meta = f'<meta charset="{dress.charset}">\n' if dress.charset else ""
    title = escaped(article.title)
    links = "\n".join(f'<li><a href="{a}">{escaped(t)}</a></li>' for a, t in others)
    paragraphs = [f"<p>{escaped(p)}</p>" for p in article.paragraphs]
    if len(paragraphs) > 3 and dress.theme == "journal":
        paragraphs.insert(2, f'<figure><img src="/img/{article.name}.jpg" alt=""></figure>')
    body = _THEMES[dress.theme].format(
        title=title,
        text="\n".join(paragraphs),
        links=links,
        comments=_comments(dice, say, escaped),
        **{key: escaped(value) for key, value in say.items() if isinstance(value, str)},
    )
    head = f"<title>{title} &#8211; {escaped(say['site'])}</title>"
    direction = ' dir="rtl"' if article.language in ("ar", "fa") else ""
    return (
        f'<!DOCTYPE html>\n<html lang="{article.language}"{direction}>\n<head>\n{meta}{head}\n{_STYLE}\n'
        f'{_SCRIPT % article.name}\n</head>\n<body class="{dress.theme}">\n{body}\n</body>\n</html>\n'
    )


def _comments(dice: Dice, say: dict, escaped) -> str:
    chosen = dice.order(say["comments"])[: 1 + dice.below(len(say["comments"]))]
    names = dice.order(["anna82", "k.m.", "Old Jonas", "ruth_v", "T. B.", "sparrow"])
    return "\n".join(
        f'<li class="comment" id="comment-{i}"><cite>{name}</cite> <div class="comment-body"><p>{escaped(text)}</p></div></li>'
        for i, (name, text) in enumerate(zip(names, chosen, strict=False), 1)
    )


_BLOG = """<div id="cookie-notice" class="cookie-banner" role="dialog"><p>{cookies}</p><button>{accept}</button></div>
<header class="site-header"><a class="logo" href="/">{site}</a>
<nav class="main-menu"><ul><li><a href="/">{home}</a></li><li><a href="/archive">{archive}</a></li>
<li><a href="/about">{about}</a></li><li><a href="/contact">{contact}</a></li></ul></nav></header>
<main><article class="post"><h1 class="entry-title">{title}</h1>
<div class="entry-content">
{text}
</div>
<div class="share-buttons"><a href="#">{share}</a> <a href="#">{print}</a></div></article>
<section id="comments" class="comments-area"><h2>{commented}</h2><ol class="comment-list">
{comments}
</ol><form class="comment-form"><textarea name="c"></textarea><button>{send}</button></form></section></main>
<aside class="sidebar"><h3>{related}</h3><ul>
{links}
</ul><div class="newsletter"><p>{newsletter}</p></div></aside>
<footer class="site-footer"><p>&copy;&nbsp;2024 {site}. {rights}</p><ul><li><a href="/privacy">{privacy}</a></li>
<li><a href="/imprint">{imprint}</a></li></ul></footer>
<noscript><p>{script}</p></noscript>"""

_JOURNAL = """<div class="topbar"><form role="search" action="/search"><input name="q"><button>{search}</button></form></div>
<nav id="menu" class="navigation"><a href="/">{home}</a> | <a href="/archive">{archive}</a> | <a href="/about">{about}</a></nav>
<div class="breadcrumbs"><a href="/">{home}</a> &raquo; <a href="/archive">{archive}</a> &raquo; {title}</div>
<div id="content"><article><header><h1>{title}</h1></header>
{text}
</article></div>
<div class="related-posts"><h4>{related}</h4><ul>
{links}
</ul></div>
<div id="comments" class="comments"><h3>{commented}</h3><ul>
{comments}
</ul></div>
<div id="footer" class="footer"><p>{site} &middot; {rights}</p><p><a href="/privacy">{privacy}</a></p></div>
<div class="cookie-consent" id="consent"><p>{cookies}</p><button>{accept}</button> <button>{refuse}</button></div>"""

_WIKI = """<div id="header"><div class="logo">{site}</div><div class="login"><a href="/login">{login}</a></div></div>
<div id="sidebar" class="sidebar"><ul><li><a href="/">{home}</a></li><li><a href="/archive">{archive}</a></li>
<li><a href="/contact">{contact}</a></li></ul><p class="ad">{newsletter}</p></div>
<main id="main"><h1 id="firstHeading">{title}</h1><div id="bodyContent">
{text}
</div></main>
<div id="links" class="related"><ul>
{links}
</ul></div>
<footer id="footer"><ul><li>{rights}</li><li><a href="/privacy">{privacy}</a></li><li><a href="/imprint">{imprint}</a></li></ul></footer>
<div id="cookie-law-info-bar"><span>{cookies}</span> <a role="button">{accept}</a></div>"""

_THEMES = {"blog": _BLOG, "journal": _JOURNAL, "wiki": _WIKI}
