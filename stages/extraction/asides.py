"""Lines within a text that are not of it: invitations, pointers to other pages, notices of rights, credits.

Told by their words, in the languages of most pages, and only where they are short. Chosen on the 990 pages of
trafilatura's evaluation, where each family takes away more segments that do not belong than ones that do.
"""

from __future__ import annotations

from stages.extraction.alternatives import search_for

LONGEST = 160
"""Longer lines are read as text, whatever they say."""

_FAMILIES = (
    # to subscribe
    r"newsletter|sign up (?:for|to)|subscri(?:be|ption)|suscr[ií]b|abonn(?:ez|ieren|iere|ier)|inscri(?:vez|viti|ption)|anmelde",
    # to follow
    r"follow (?:us|me)\b|join (?:us|our)\b|s[ií]guenos|seguinos|[úu]nete a|folge(?:n sie)? uns|suivez[- ]nous|seguici|"
    r"(?:telegram|whatsapp)[- ]?(?:kanal|channel|canal)|canal de (?:telegram|whatsapp)|"
    r"facebook.{1,40}(?:twitter|instagram|telegram)|twitter.{1,40}(?:facebook|instagram|telegram)|"
    r"instagram.{1,40}(?:facebook|twitter|telegram)|telegram.{1,40}(?:facebook|twitter|instagram)",
    # whose it is
    r"©|\(c\) ?(?:19|20)\d\d|all rights reserved|alle rechte vorbehalten|todos los derechos|tous droits r|"
    r"tutti i diritti|wszelkie prawa|все права",
    # another page
    r"^\W*(?:read (?:more|also|next|on)\b|also read|more(?: on| from)?:|see also|related(?: \w+)?:|"
    r"lea (?:tambi[ée]n|m[áa]s)|lee (?:tambi[ée]n|m[áa]s)|[lt]e puede interesar|v(?:ea|er) tambi[ée]n|mire:|"
    r"(?:auch|mehr) lesen|lesen sie (?:auch|mehr)|lies auch|auch interessant|das k[öo]nnte|weiterlesen|"
    r"mehr (?:zum thema|dazu|infos)|siehe auch|lire aussi|[àa] lire|voir aussi|leggi anche|czytaj|zobacz|lees ook|"
    r"leia (?:tamb[ée]m|mais)|l[äa]s (?:ocks[åa]|mer)|читайте)",
    # paid for
    r"affiliate|provision|commissions? (?:for|from|on)\b|anzeige|gesponsert|werbelink",
    # to log in, to comment
    r"\blog ?in\b|sign in\b|eingeloggt|einloggen|anmelden|registrier|"
    r"kommentare? (?:schreiben|abgeben|hinterlassen)|leave a (?:comment|reply)|post a comment|"
    r"deja (?:un|tu) comentario|laisser un commentaire",
    # credits
    r"^\W*(?:photo|foto|image|bild|credit|cr[ée]dit|imagen|beitragsbild|fotos|quelle|source|fuente|via)s?\b.{0,12}[:©]",
    # what it is filed under
    r"^\W*(?:tags?|schlagw[öo]rter|themen|temas|topics|categories|kategorien?|etiquetas|mots[- ]cl[ée]s|filed under|"
    r"category)\W*(?::|$)",
)
_says_so = search_for("|".join(_FAMILIES))


def is_aside(line: str) -> bool:
    """Return whether `line` speaks to the reader about something else than the text.

    >>> is_aside("Read more: How bridges are built"), is_aside("He had read more books than anybody.")
    (True, False)
    """
    return len(line) < LONGEST and bool(_says_so(line.lower()))
