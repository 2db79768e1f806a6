"""Texts that break one published rule each: spam, lists, tables, teasers, repetition."""

from __future__ import annotations

from making.compose import Article, Dice
from making.crawl import BOOKS, HTML, TEXTS, WARCS, Crawl, composed, whole_text

HASHTAGS = (
    "Grand opening this weekend #sale #bargain and do not be late #shop #today because the first of all visitors "
    "#winner #lucky will have a present #gift to take home #free with every purchase #deal of the day #hot so tell "
    "your friends #share and neighbours #spread that the shop #best on the corner #street is open #now until late "
    "#night and that the music #live is going to be loud #party and the cakes #yummy are made by hand #homemade"
)
DOTS = (
    "So ... I went to the shop ... and the man said ... well ... you will not believe it ... he said that there were "
    "no more ... none at all ... and I said ... but you have a sign ... and he looked at the sign ... and then at me "
    "... and to be honest ... I have never been so ... what is the word ... so lost ... and that is all ... goodbye"
)
TEASERS = (
    "You will be surprised to see what this farmer found under the floor of his barn...",
    "Doctors and nurses have a new name for the habit of sleeping with the window open...",
    "The seven words that every traveller ought to know before going to the mountains...",
    "What the captain did with the last of the oranges is still talked about today...",
    "This village had no shop for years, and then a girl of twelve opened one...",
    "Our editors have tried nineteen kinds of soap, and the winner may surprise you...",
    "These stories come from all over the world and are chosen by hand every day.",
    "Click on the pictures to read more of them, and come back tomorrow for the rest.",
)
SHORT_WORDS = (
    "I am at it as we go up to it. Do it or do not do it, he is on to it. If so, it is up to us to be in on it. "
    "Be it so, as it is. We go in, he is in, so am I. Is it he or is it us? It is as it is, so let it be. "
    "My ox is up at no. 6. Go to it, go at it, go by it. He is an ex of an ax. Oh, no, it is on us, so be it."
)
LONG_WORDS = (
    "Internationalization notwithstanding, administrative representatives underestimated interdepartmental "
    "communication requirements, particularly the telecommunications infrastructure responsibilities of "
    "municipalities. Counterproductive oversimplification characterized environmental recommendations, and "
    "institutional decentralization disproportionately disadvantaged underrepresented neighbourhoods. "
    "Unquestionably, comprehensive recommendations incorporating multidisciplinary perspectives necessitate "
    "conscientious implementation, uncharacteristically straightforward accountability, straightforward "
    "documentation, nondiscriminatory representation, constructive disagreement and extraordinary perseverance "
    "throughout administrations overwhelmingly preoccupied with entrepreneurial competitiveness."
)
HEADLINES = (
    "Mayor opens repaired bridge after three years. Fishermen report good catch near northern pier. Library extends "
    "evening hours during winter. Two cyclists injured on Harbour Road. School choir wins regional prize. Heavy rain "
    "expected Thursday, sunny spells Friday. Bakery celebrates hundred years on Mill Street. Volunteers plant four "
    "hundred oaks beside old railway line. Museum shows photographs by local artist. Council delays decision on new "
    "swimming pool. Farmers warn against early frost. Ferry timetable changes next Monday. Lost parrot found in church."
)
READINGS = "the pump {} | {} | {} | {} the gauge {} | {} | {} | {} the valve {} | {} | {} and the tank {} | {} | {} ;"
LOREM = (
    "Welcome to the new page of our company, which will be filled with news very soon.",
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore.",
    "Please come back to see what we have to offer, for the builders of this page are working on it day and night.",
    "We have been in the trade for thirty years, and we look forward to hearing from you about your plans.",
    "Our office is open from Monday to Friday, and on Saturdays by appointment with one of the partners.",
    "The address and the telephone number will be found here as soon as the page is finished.",
)
RUN_ON = (
    "there is a road that goes down to the river and on the road there is a cart and in the cart there is a box that "
    "belongs to the man with the grey hat who has been on his way to the market since early morning and will not be "
    "home before dark because the horse is old and the hill is steep and the box is heavy with all the things that "
    "he wants to sell to the people who come from the other side of the water to buy them"
)
CATCHWORDS = (
    "Congratulations neighbourhood Mrs.", "Everything straightforward a.m.", "with love Dr.", "who knows Rev.",
    "Grandmother understanding Messrs.", "they slept p.m.", "nobody knew Mr.", "Notwithstanding everybody else vs.",
    "that was Gov.", "have been Sen.", "Something extraordinarily funny p.m.", "we like Mrs.", "of course Rev.",
    "the whole Inc.", "Misunderstandings everywhere Jr.", "she loved Dr.", "should have Mr.",
    "Disappointments thereafter a.m.", "and the Co.", "they will Gov.", "Something wonderful thereafter Bros.",
    "why not Mr.", "because of Mrs.", "Conversations disappearing p.m.", "thank you Rev.",
    "Whisperings throughout dinner Jr.",
)  # fmt: skip
VERSE = (
    "The lamp is lit.", "The door is barred.", "The rain comes down.", "The road is hard.", "And who goes by?",
    "A man with a sack.", "What does he have?", "He will not say.", "He looks not back.", "The dog lies still.",
    "The cat looks on.", "The clock strikes two.", "The man is gone.", "But on the step,", "when it is day,",
    "there lies a loaf,", "as hard as clay,", "and next to that", "a golden ring.", "We ate the one.",
    "We kept the other.", "And who he was,", "you ask my mother.",
)  # fmt: skip


def plant_rules(crawl: Crawl) -> None:
    """Add a document for each rule."""
    gopher_quality(crawl)
    gopher_repetition(crawl)
    c4(crawl)
    fineweb(crawl)


def _drop(crawl: Crawl, stage: str, rule: str, what: str, text: str, file: str = TEXTS) -> None:
    """Put `text` into `file` as the document that `rule` of `stage` drops."""
    id = f"rule-{rule.replace('_', '-')}"
    if file == BOOKS:
        crawl.book(id, text)
    elif file == TEXTS:
        crawl.text(_article(id, text), id, body=text)
    else:
        title, _, rest = text.partition("\n")
        id = crawl.page(file, Article(id, "en", title, tuple(rest.split("\n"))))
    crawl.plant(id, file, what, "dropped", stage, rule)


def _article(name: str, text: str) -> Article:
    return Article(name, "en", name, (text,))


def gopher_quality(crawl: Crawl) -> None:
    """One document for each rule of Gopher's on quality."""
    stage = "gopher_quality"
    short = "\n".join(["Closed today", "The shop is closed today and will open again with the first snow of the year."])
    _drop(crawl, stage, "gopher_short_doc", "a page of two lines", short, WARCS[0])
    volume = "\n".join(whole_text(composed("en-places", n)) for n in range(60, 64))
    _drop(crawl, stage, "gopher_long_doc", "a book of more than 100,000 words", "\n".join([volume] * 45), BOOKS)
    _drop(crawl, stage, "gopher_below_avg_threshold", "words of one or two letters", SHORT_WORDS)
    _drop(crawl, stage, "gopher_above_avg_threshold", "words of officials", LONG_WORDS)
    _drop(crawl, stage, "gopher_too_many_hashes", "spam of hashtags", "Opening\n" + HASHTAGS, WARCS[1])
    _drop(crawl, stage, "gopher_too_many_ellipsis", "a message full of dots", DOTS)
    entries = composed("en-garden", 65).text.replace("\n", " ").split(". ")
    bullets = "\n".join(f"- {entry}." for entry in entries)
    _drop(crawl, stage, "gopher_too_many_bullets", "nothing but bullets", bullets)
    _drop(crawl, stage, "gopher_too_many_end_ellipsis", "teasers of a portal", "\n".join(TEASERS))
    dice = Dice("readings")
    table = "\n".join(READINGS.format(*(dice.below(900) / 10 for _ in range(14))) for _ in range(9))
    _drop(crawl, stage, "gopher_below_alpha_threshold", "a table of readings", table)
    _drop(crawl, stage, "gopher_enough_stop_words", "headlines without small words", HEADLINES)


def gopher_repetition(crawl: Crawl) -> None:
    """One document for each rule of Gopher's on repetition."""
    stage = "gopher_repetition"
    paragraphs = list(composed("en-sky", 66).paragraphs)
    few = "We thank the readers who wrote."
    text = "\n\n".join([few, paragraphs[0], few, paragraphs[1], few, few, few])
    _drop(crawl, stage, "dup_para_frac", "the same short paragraph again and again", text)
    text = "\n\n".join([*paragraphs[:4], max(paragraphs[:4], key=len)])
    _drop(crawl, stage, "dup_para_char_frac", "a long paragraph twice", text)
    lines = [s + "." for s in composed("en-sky", 67).text.replace("\n", " ").rstrip(".").split(". ")]
    text = "\n".join(line for n, line in enumerate(lines[:12]) for line in ([line, few] if n % 2 else [line]))
    _drop(crawl, stage, "dup_line_frac", "the same line between others", text + ("\n" + few) * 2)
    text = "\n".join([*lines[:14], *sorted(lines[:14], key=len)[-3:]])
    _drop(crawl, stage, "dup_line_char_frac", "the longest lines twice", text)
    for size, phrase, every in ((2, "Umbrellas wholesale", 5), (3, "best umbrellas wholesale", 9)):
        text = _stuffed(whole_text(composed("en-kitchen", 60 + size, 12)), phrase, every)
        _drop(crawl, stage, f"top_{size}_gram", "spam: a name in every sentence", text)
    text = _stuffed(whole_text(composed("en-kitchen", 64, 12)), "buy the best umbrellas", 11)
    _drop(crawl, stage, "top_4_gram", "spam: a slogan in every sentence", text)
    for size, share in REPEATED.items():
        text = _repeated(composed("en-software", 60 + size).text, share)
        _drop(crawl, stage, f"duplicated_{size}_n_grams", f"{share:.1%} of the text is a passage pasted in again", text)


REPEATED = {5: 0.156, 6: 0.146, 7: 0.136, 8: 0.126, 9: 0.116, 10: 0.106}
"""Size of n-gram -> share of characters that are repeated: over the limit of this size, under that of those before."""


def _repeated(text: str, share: float) -> str:
    """Return `text` in one line, with as many of its first words once more at the end as make up `share` of it."""
    whole = text.replace("\n", " ")
    words: list[str] = []
    for word in whole.split():
        words.append(word)
        if sum(map(len, words)) >= share * (len(whole) + len(" ".join(words)) + 2):
            break
    return f"{whole} {' '.join(words)}."


def _stuffed(text: str, phrase: str, every: int) -> str:
    """Return `text` with `phrase` put in after every so many words."""
    words = text.split(" ")
    return " ".join(w if n % every else f"{phrase} {w}" for n, w in enumerate(words))


def c4(crawl: Crawl) -> None:
    """Documents and lines that C4's rules take out."""
    _drop(crawl, "c4", "lorem_ipsum", "a page under construction", "Our company\n" + "\n".join(LOREM), HTML)
    lines = [
        *composed("en-software", 70, 10).paragraphs,
        "The setting is written as options = { depth: 3 } in the file.",
    ]
    _drop(crawl, "c4", "curly_bracket", "a page with program text", "Settings\n" + "\n".join(lines), WARCS[2])
    _drop(crawl, "c4", "too_few_sentences", "one sentence that never ends", RUN_ON)
    for number, (rule, line) in enumerate(
        (
            ("javascript", "Your browser seems to have Javascript switched off, which we regret."),
            ("policy", "By reading on you accept our cookie policy and everything that follows from it."),
            ("too_few_words", "Read more"),
            ("too_long_word", "data:" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * 32),
        )
    ):
        paragraphs = composed("en-garden", 71 + number, 14).paragraphs
        article = Article(
            f"line-{number}", "en", f"A page with line {number}", (*paragraphs[:2], line, *paragraphs[2:])
        )
        id = crawl.text(article, f"rule-{rule.replace('_', '-')}")
        crawl.plant(id, TEXTS, "a line that is no prose in an article that stays", "span", "c4", rule, line[:60])


def fineweb(crawl: Crawl) -> None:
    """One document for each of FineWeb's rules."""
    parts = composed("en-places", 72, 30).text.replace("\n", " ").rstrip(".").split(". ")
    lines = [". ".join(parts[at : at + 2]) for at in range(0, len(parts), 2)]
    _drop(crawl, "fineweb", "line_punct_ratio", "lines that break off without a full stop", "\n".join(lines))
    _drop(crawl, "fineweb", "short_line_ratio", "verse", "\n".join(VERSE))
    lines = [s + "." for s in composed("en-travel", 73, 30).text.replace("\n", " ").rstrip(".").split(". ")]
    _drop(crawl, "fineweb", "char_dup_ratio", "a line twice", "\n".join([*lines, max(lines, key=len)]))
    _drop(crawl, "fineweb", "list_ratio", "catchwords, three to a line", "\n".join(CATCHWORDS))
