"""Every page in a browser: wide and narrow, light and dark, nothing run or fetched, nothing hidden or on top of another."""

from __future__ import annotations

import json
import time

import pytest

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: make test-pages")

NAMES = (
    "run",
    "one-language",
    "none",
    "hostile",
    "many-languages",
    "compare",
    "analyse",
    "batch",
    "later-stopped",
    "unfinished",
)
LOOKS = [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]
OVERLAPS = """() => [...document.querySelectorAll('svg')].flatMap(picture => {
  const texts = [...picture.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  return texts.flatMap(([a, p], n) => texts.slice(n + 1).filter(([b, q]) =>
    Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3
  ).map(([b]) => [a, b]));
})"""
OUTSIDE = """() => [...document.querySelectorAll('svg')].flatMap(picture => {
  const area = picture.getBoundingClientRect();
  return [...picture.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()])
    .filter(([, r]) => r.width && (r.left < area.left - 2 || r.right > area.right + 2)).map(([text]) => text);
})"""
SMALL = """() => { const found = []; const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) { const parent = walk.currentNode.parentElement; if (!walk.currentNode.data.trim() || ['SCRIPT', 'STYLE'].includes(parent.tagName)) continue;
    let size = parseFloat(getComputedStyle(parent).fontSize); const picture = parent.closest('svg');
    if (picture) size *= picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
    if (size < 11.99 && parent.getClientRects().length) found.push([walk.currentNode.data.slice(0, 40), size]); }
  return found.slice(0, 5); }"""


def opened(browser, address, width, scheme):
    """Return the page with everything folded out, and what it has said, asked for and thrown."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    told: list[str] = []
    page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: told.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (told.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: told.append(f"request: {request.url}") if request.url != address else None)
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    return page, told


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_page_fits_its_window_and_runs_and_fetches_nothing(browser, pages, name, width, scheme):
    page, told = opened(browser, pages[name].as_uri(), width, scheme)
    assert told == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(SMALL) == []
    assert page.evaluate("document.querySelectorAll('script, img, iframe, object, link').length") == 0
    page.close()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_a_page_can_be_read_by_everybody(browser, pages, name, width, scheme):
    page, _ = opened(browser, pages[name].as_uri(), width, scheme)
    assert serious(page) == []
    page.close()


def until(page, true, seconds=30):
    """Wait for an expression to be true. Playwright's own way asks the page to evaluate text, which its policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(true):
        assert time.monotonic() < end, true
        page.wait_for_timeout(50)


def serious(page):
    """Return the serious findings of axe-core."""
    found = axe.Axe().run(page).response["violations"]
    return [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")]


A4 = 794 - 2 * 38
"""Pixels between the margins of a page of A4: 210 mm at 96 to the inch, less a centimetre on either side."""
BEYOND = """(wide) => [...document.querySelectorAll('main *')].filter(e => e.getClientRects().length && e.getBoundingClientRect().right > wide + 1)
  .map(e => [e.tagName, e.textContent.slice(0, 40), Math.round(e.getBoundingClientRect().right)]).slice(0, 5)"""
HEADS = """() => [...document.querySelectorAll('table')].filter(t => t.getClientRects().length)
  .filter(t => !t.tHead || getComputedStyle(t.tHead).display !== 'table-header-group').map(t => t.textContent.slice(0, 40))"""
FAINT = """() => { const bright = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  return [...document.querySelectorAll('main *')].filter(e => e.getClientRects().length && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
    .filter(e => 1.05 / (bright(getComputedStyle(e).fill !== 'rgb(0, 0, 0)' && e.closest('svg') ? getComputedStyle(e).fill : getComputedStyle(e).color) + .05) < 4.5)
    .map(e => [e.tagName, e.textContent.slice(0, 40)]).slice(0, 5); }"""


def assert_prints(page):
    """What is on a page of A4: nothing beyond its edge, a head on every table, and ink that shows on white paper."""
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": A4, "height": 1000})
    assert page.evaluate(BEYOND, A4) == []
    assert page.evaluate(HEADS) == []
    assert page.evaluate(FAINT) == []
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_can_be_printed(browser, pages, name):
    page, _ = opened(browser, pages[name].as_uri(), A4, "dark")
    assert_prints(page)
    page.close()


def test_on_paper_stand_all_views_of_the_funnel_and_what_is_folded_away_as_evidence(browser, pages):
    page = browser.new_page()
    page.goto(pages["run"].as_uri())
    shown = "(s) => [...document.querySelectorAll(s)].map(e => e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height > 0)"
    assert page.evaluate(shown, ".switch > .view") == [True, False]
    page.check("#flow-1")
    assert page.evaluate(shown, ".switch > .view") == [False, True]
    assert not any(page.evaluate(shown, ".pair"))
    page.emulate_media(media="print")
    assert page.evaluate(shown, ".switch > .view") == [True, True]
    assert all(page.evaluate(shown, ".pair"))
    assert not any(page.evaluate(shown, ".switch > input"))
    page.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_no_larger_than_a_megabyte(pages, name):
    assert pages[name].stat().st_size <= 1_000_000


def test_every_picture_of_a_run_has_its_figures_in_a_table_of_the_same_section(browser, pages):
    page, _ = opened(browser, pages["run"].as_uri(), 1280, "light")
    lonely = page.evaluate("""() => { const parts = []; let now = null;
      for (const one of document.querySelector('main').children) { if (one.tagName === 'H2') parts.push(now = [one.textContent, 0, 0]);
        if (now) { now[1] += one.querySelectorAll('svg').length; now[2] += one.matches('table') || one.querySelectorAll('table').length; } }
      return parts.filter(([, pictures, tables]) => pictures && !tables).map(([title]) => title); }""")
    assert lonely == []
    page.close()


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_planner_moves_its_numbers_and_keeps_its_state_in_the_link(browser, planner, width, scheme):
    address, _query = planner
    page, told = opened(browser, address, width, scheme)
    page.fill("#guess input[name=days]", "20")
    page.locator("#guess input[name=days]").blur()
    page.click("#show")
    until(page, "document.querySelectorAll('#sections details').length > 20")
    assert page.locator("#guessed td").first.text_content() == "days"
    before = page.locator("#figures b").first.text_content()
    page.locator("input[data-for=tokens]").evaluate("s => { s.value = 13; s.dispatchEvent(new Event('input')) }")
    until(page, f"document.querySelector('#figures b').textContent !== {json.dumps(before)}")
    assert "tokens=10T" in page.url
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate(SMALL) == []
    assert serious(page) == []
    assert [line for line in told if not line.startswith(f"request: {address}")] == []
    again, _ = opened(browser, page.url, width, scheme)
    until(again, "document.querySelectorAll('#sections details').length > 20")
    assert again.locator("#figures b").first.text_content() == page.locator("#figures b").first.text_content()
    page.close()
    again.close()


def test_the_curve_is_taken_where_it_is_clicked_and_the_plan_is_saved(browser, planner):
    address, query = planner
    page, _ = opened(browser, f"{address}#{query}", 1280, "light")
    page.wait_for_selector("#curve svg")
    assert_prints(page)
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator("#curve svg").click(position={"x": 200, "y": 100})
    until(page, "location.hash.includes('parameters=')")
    assert "model=" not in page.url.replace("parameters=", "")
    with page.expect_download() as saving:
        page.click("#save")
    assert json.loads(saving.value.path().read_text())["schema"] == 2
    page.close()


def test_a_fault_of_what_is_asked_is_shown_and_the_last_plan_stays(browser, planner):
    address, query = planner
    page, _ = opened(browser, f"{address}#{query}", 390, "light")
    page.wait_for_selector("#curve svg")
    page.fill("#fields input[name=tp]", "7")
    page.locator("#fields input[name=tp]").blur()
    until(page, "document.getElementById('error').textContent !== ''")
    assert page.locator("#sections details").count() > 20
    page.close()
