"""Pages of our own writing that lead trafilatura through all its attempts, for comparing it with its faster self."""

SENTENCES = [f"This is sentence number {n} of an article about bridges and the rivers below them." for n in range(12)]
LONG = " ".join(SENTENCES[:3])
MENU = "<nav><ul><li><a href='/'>Home</a></li><li><a href='/a'>About us</a></li></ul></nav>"


def page(body, head=""):
    return f"<!doctype html><html><head><title>Bridges</title>{head}</head><body>{MENU}{body}</body></html>"


def paragraphs(texts=SENTENCES, tag="p", attributes=""):
    return "".join(f"<{tag} {attributes}>{text}</{tag}>" for text in texts)


ARTICLE = page("<article><h1>Bridges</h1>" + paragraphs() + "</article>")
_LINKS = "".join(f"<li><a href='/{n}'>Another page of the site, number {n}</a></li>" for n in range(30))
_DATA = '<script type="application/ld+json">{"@type": "%s", "articleBody": "%s"}</script>'

LIBRARY_PAGES = {
    "article": ARTICLE,
    "article with lists, quotes, code and a table": page(
        "<div class='post-content'><h2>Kinds</h2><ul><li>Arch</li><li>Beam <b>long</b></li></ul>"
        f"<blockquote>{LONG}</blockquote><pre>a = {{\n  1: 2}}</pre><table><tr><th>Name</th><th>Length</th></tr>"
        "<tr><td rowspan=2>Forth</td><td>2,467 m</td></tr><tr><td><ul><li>x</li></ul></td></tr></table>"
        + paragraphs()
        + "</div>"
    ),
    "comments and sharing": page(
        f"<div id='content'>{paragraphs()}<div class='share-buttons'>Share this</div></div>"
        f"<div id='comments' class='comment-list'>{paragraphs(tag='div', attributes='class=comment')}</div>"
    ),
    "forum by its data": page(
        "".join(f"<div class='comment-body'><p>{s}</p></div>" for s in SENTENCES),
        _DATA % ("DiscussionForumPosting", ""),
    ),
    "no paragraphs but divisions": page("".join(f"<div>{s}<br>{s}</div>" for s in SENTENCES)),
    "few words among many": page(
        f"<article><p>{SENTENCES[0]}</p></article><div class='x'>{paragraphs(SENTENCES * 4, 'div')}</div>"
    ),
    "links everywhere": page(f"<div class='main'><p>{LONG}</p><ul>{_LINKS}</ul></div><div><ul>{_LINKS}</ul></div>"),
    "all in a form": page(f"<form id='aspnetForm'><div>{paragraphs()}</div><input></form>"),
    "all in a menu": f"<html><body><nav><script>var x = 'a < b';</script>{paragraphs()}</nav></body></html>",
    "nested clutter": page(f"<aside>a<aside>b</aside>c</aside>tail<aside>d</aside>{paragraphs()}<footer>f</footer>"),
    "text only in data": page("<div id='app'></div>", _DATA % ("Article", LONG)),
    "teasers and hidden parts": page(
        f"<article>{paragraphs()}<div class='Teaser'>{LONG}</div><p style='display:none'>no</p>"
        f"<div aria-hidden='true'>no</div><div class='caption'>c</div></article>"
    ),
    "endless scrolling": page(
        f"<article>{paragraphs()}</article><div class='infinite-scroll'>{paragraphs()}</div>"
        f"<div class='infinite-scroll'><h1>Mine</h1>{paragraphs()}</div><div class='elementor-share-buttons'>Share</div>"
    ),
    "a cookie banner and little else": page(
        f"<div class='cookie-banner'>{paragraphs()}</div><div class='footer-x'>foot</div><p>{SENTENCES[0]}</p>"
    ),
    "readability's pick": page(
        f"<div class='widget'><p>{SENTENCES[0]}</p></div><div class='body'><div><div>{paragraphs(SENTENCES * 3)}</div>"
        f"<p class='comment'>{LONG}</p><iframe src='https://youtube.com/v'></iframe><title></title></div></div>"
    ),
    "figures, details, marks": page(
        f"<article><figure><table><tr><td>{LONG}</td></tr></table></figure><details><summary>More</summary>{LONG}"
        f"</details><p>10<sup>6</sup>, <del>old</del> <q>said</q><sub></sub></p>{paragraphs()}</article>"
    ),
    "control characters": page(paragraphs([f"\x01{s}\u200b\ufeff\xad" for s in SENTENCES])),
    "unclosed": f"<html><body><div class=post><p>{'<p>'.join(SENTENCES)}<td>cell<li>item<b>bold",
}
