"""What kind of page a page is, by what it says of itself, by its address, and by what repeats in it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Literal

from stages.extraction.trees import named

Kind = Literal["article", "documentation", "forum", "listing", "product", "page"]

_TYPES = re.compile(r'"@type"\s*:\s*(?:\[\s*)?"([A-Za-z]+)"')
_ARTICLES = named(
    "Article NewsArticle BlogPosting ReportageNewsArticle OpinionNewsArticle AnalysisNewsArticle TechArticle Recipe "
    "ScholarlyArticle LiveBlogPosting Review"
)
_FORUMS = frozenset(("DiscussionForumPosting", "QAPage"))
_PRODUCTS = frozenset(("Product", "ProductGroup", "IndividualProduct", "Vehicle", "Hotel", "Apartment"))
_LISTINGS = frozenset(("ItemList", "CollectionPage", "SearchResultsPage", "OfferCatalog"))
_FORUM_MAKERS = re.compile(
    r"phpbb|vbulletin|xenforo|discourse|mybb|smf |simple machines|invision|ipb|flarum|nodebb|vanilla|fluxbb|punbb|woltlab",
    re.IGNORECASE,
)
_FORUM_ADDRESS = re.compile(
    r"(?:^|//|\.)(?:forums?|board|community|discuss(?:ions?)?|talk)\.|/(?:forums?|board|threads?|showthread|viewtopic|topics?"
    r"|discussions?|questions?|t|comments)(?:[/.?_-]|$)|[?&](?:topic|thread|t)=\d|/r/\w+/comments/",
    re.IGNORECASE,
)
_LISTING_ADDRESS = re.compile(
    r"/(?:category|categories|tag|tags|collections?|catalog(?:ue)?|search|archives?|shop|products?|listings?|jobs?)/?(?:$|[?#])"
    r"|/(?:category|categories|tag|tags|collections?|author|topic)/[^/]+/?(?:$|[?#])"
    r"|[?&](?:page|q|query|search|sort)=|/page/\d+/?$",
    re.IGNORECASE,
)
_PRODUCT_ADDRESS = re.compile(r"/(?:product|products|dp|item|p|artikel|produkt|produit|producto)/[^/]+", re.IGNORECASE)
_DOCS_ADDRESS = re.compile(
    r"(?:^|//|\.)(?:docs?|documentation|developers?|wiki|api|man|help|support)\.|/(?:docs?|documentation|wiki|reference|manual"
    r"|guide|tutorials?|api|man|help|kb)(?:/|$)",
    re.IGNORECASE,
)
_POST = re.compile(
    r"(?:^|[\s_-])(?:posts?|postbody|post-?row|message|messages|msg|reply|replies|answers?|comments?|topic-?post|cooked|"
    r"post-?content|post-?message|message-?body)(?:$|[\s_-])",
    re.IGNORECASE,
)


def kind_of(tree: Any, url: str | None) -> Kind:
    """Return the kind of the page; ``page`` where nothing tells.

    Args:
        tree: the page as parsed, scripts included.
        url: its address, if known.
    """
    address = (url or "").partition("#")[0]
    types = _types(tree)
    properties = {m.get("property") or m.get("name") or "": m.get("content") or "" for m in tree.iter("meta")}
    og_type = properties.get("og:type", "").lower()
    forum = 2 * bool(types & _FORUMS) + bool(_FORUM_ADDRESS.search(address))
    forum += 2 * bool(_FORUM_MAKERS.search(properties.get("generator", "")))
    if forum and (forum > 2 or _posts(tree) >= 2):
        return "forum"
    if types & _PRODUCTS or og_type in ("product", "og:product", "product.item"):
        return "product" if not types & _ARTICLES else "article"
    if types & _ARTICLES or og_type == "article" or "article:published_time" in properties:
        return "article"
    if _DOCS_ADDRESS.search(address):
        return "documentation"
    if types & _LISTINGS or _LISTING_ADDRESS.search(address):
        return "listing"
    if _PRODUCT_ADDRESS.search(address):
        return "product"
    return "page"


def _types(tree: Any) -> frozenset[str]:
    """Return the schema.org types that the page names, in JSON-LD or as microdata."""
    found: set[str] = set()
    for script in tree.iter("script"):
        if script.get("type") == "application/ld+json" and script.text:
            found.update(_TYPES.findall(script.text[:200_000]))
    for element in tree.iter("article", "div", "section", "main", "body", "html"):
        item = element.get("itemtype")
        if item:
            found.add(item.rstrip("/").rpartition("/")[2])
    return frozenset(found)


def _posts(tree: Any) -> int:
    """Return how often the most frequent name of a post, message, answer or comment with text is repeated."""
    names: Counter[str] = Counter()
    for element in tree.iter("div", "article", "li", "section", "td", "table"):
        name = element.get("class")
        if name and _POST.search(name) and len(element.text_content()) > 60:
            names[re.sub(r"\d+", "", name)] += 1
    return max(names.values(), default=0)
