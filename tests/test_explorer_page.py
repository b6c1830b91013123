"""The explorer in a browser, from disk: filters, views, a case, an address, the keyboard, hostile names.

    python -m pytest -m slow -s tests/test_explorer_page.py

prints how large 5,000 cases of 16 editors are, and how long the page takes to open, to filter, and to open a
case. It is skipped where there is no Chromium.
"""

import time
from types import SimpleNamespace
from urllib.parse import quote

import numpy as np
import pytest

from experiments.browser import Browser, find_browser
from testbed.evaluations.catalogue import recorded_evaluation_named
from testbed.pages.explorer.view import view_of
from testbed.pages.explorer.write import ExploredEvaluation, write_explorer
from testbed.run.runs import Run
from testbed.run.world import load_world
from testbed.scores.gather import gather_results
from testbed.scores.summary import score_editors
from tests.edited import cases_of, rows_of, write_edits, write_training
from tests.explored import multiply
from tests.runs import copied
from tests.test_explorer import HOSTILE

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not find_browser(), reason="no Chromium is installed")]
CASES, EDITORS, BASE = 5_000, 16, 50
MOST_BYTES = 20e6
COUNT = "document.getElementById('count').textContent"
OPEN = "document.getElementById('case')?.open"
TITLE = "document.getElementById('case-title').textContent"
SEARCH = "at('find').value = {}; at('find').dispatchEvent(new Event('input'))"


@pytest.fixture(scope="module")
def report(built, tmp_path_factory):
    """The page of many cases and editors, names hostile; and the editors."""
    run = Run(copied(built, tmp_path_factory.mktemp("many")), "x")
    write_training(run)
    write_edits(run, "lora-down", rows_of(run, cases_of(run, BASE), 0.5))
    [editor] = score_editors(gather_results([run], recorded_evaluation_named("hase")))
    editors = multiply(editor, CASES, EDITORS)
    graph = load_world(run).graph
    entities = [f"{HOSTILE[i % len(HOSTILE)]} {i}" for i in range(len(graph.entities) + CASES)]
    world = SimpleNamespace(graph=SimpleNamespace(entities=entities, relations=graph.relations))
    commands = {e.name: f"--run x --editor '{e.name}'" for e in editors}
    explored = ExploredEvaluation("hase", "Hase", editors, [view_of(e) for e in editors], commands)
    start = time.monotonic()
    page = write_explorer([explored], [world], "x", tmp_path_factory.mktemp("page"))
    print(f"\n{CASES * EDITORS:,} rows written in {time.monotonic() - start:.1f} s")
    return page, editors, entities


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        browser.resize(1280, 800)
        yield browser


@pytest.fixture(autouse=True)
def no_complaints(browser):
    """Nothing stands in the console at the end of any test."""
    browser.console.clear()
    yield
    assert not browser.console


def count_rows(browser):
    return int(browser.value(COUNT).split(" of ")[0].replace(",", ""))


def click(browser, selector, nth=0):
    browser.value(f"document.querySelectorAll({selector!r})[{nth}].click()")


def choose_preset(browser, title):
    browser.value(
        f"[...document.querySelectorAll('#presets button')].find(b => b.textContent === {title!r}).click()"
    )


def column(browser, key, rows=10):
    """What the first rows on the screen say in a column."""
    place = f"app.columns.findIndex((c) => c?.key === {key!r})"
    lines = f"[...document.querySelectorAll('#space > div')].slice(0, {rows})"
    return browser.value(f"{lines}.map((row) => row.children[{place}].textContent)")


def test_it_is_small_and_quick(report, browser):
    """Seconds are those of the page's processor: other processes may be at work."""
    page, _, _ = report

    def seconds_of(expression):
        start = browser.processor_seconds()
        browser.value(expression)
        return browser.processor_seconds() - start

    size = sum(path.stat().st_size for path in page.parent.iterdir())
    start = browser.processor_seconds()
    browser.open(page.as_uri())
    end = browser.processor_seconds()
    opening = end - start if end > start else end
    box = "document.querySelector('#filters details[data-key=editor] input')"
    filtering = max(seconds_of(f"{box}.click(); document.body.offsetHeight") for _ in range(4))
    searching = max(seconds_of(SEARCH.format(repr(text))) for text in ("O'Br", ""))
    cases = []
    for place in (0, 150, 4_321):
        browser.value(f"moveTo({place})")
        cases.append(seconds_of("openRow(app.cursor).then(() => document.body.offsetHeight)"))
        browser.value("change({ case: null })")
    print(f"{size / 1e6:.1f} MB; opens in {opening:.2f} s, filters in {filtering:.3f} s, searches in "
          f"{searching:.3f} s, opens a case in {max(cases):.3f} s")  # fmt: skip
    assert size <= MOST_BYTES
    # Twice what is wanted: machines differ.
    assert opening < 2 * 1
    assert filtering < 2 * 0.1
    assert max(cases) < 2 * 0.3


def test_filters_count_what_they_leave(report, browser):
    page, editors, _ = report
    browser.open(page.as_uri())
    assert count_rows(browser) == CASES * EDITORS
    click(browser, "#filters details[data-key=editor] input", 3)
    assert count_rows(browser) == CASES
    name = editors[3].name
    assert {*column(browser, "editor")} == {name}
    browser.value("document.querySelector('#filters details[data-key=follows]').open = true")
    browser.wait("document.querySelector('#filters details[data-key=follows] input')")
    labels = browser.value(
        "Object.fromEntries([...document.querySelectorAll('#filters details[data-key=follows] label')]"
        ".map(l => [l.children[1].textContent, Number(l.children[2].textContent.replace(/,/g, ''))]))"
    )
    values = view_of(editors[3]).columns[1].values
    assert labels == {word: int((values == word).sum()) for word in np.unique(values)}
    for nth, word in enumerate(labels):
        click(browser, "#filters details[data-key=follows] input", nth)
        assert count_rows(browser) == labels[word]
        click(browser, "#filters details[data-key=follows] input", nth)


def test_views_do_what_they_say(report, browser):
    page, editors, _ = report
    browser.open(page.as_uri())
    choose_preset(browser, "the agent changed and the model did not")
    assert {*column(browser, "follows")} == {"no"}
    assert count_rows(browser) == sum((view_of(e).columns[1].values == "no").sum() for e in editors)
    choose_preset(browser, "moved where nothing should")
    assert min(map(int, column(browser, "false"))) >= 1
    choose_preset(browser, "worst damage")
    values = [*map(float, column(browser, "damage"))]
    assert values == sorted(values, reverse=True)
    most = max(np.nanmax(e.values[e.name]["damage"].by_case) for e in editors)
    assert values[0] == pytest.approx(most, abs=0.006)
    choose_preset(browser, "editors disagree most")
    all_p = np.stack([view_of(e).columns[4].values for e in editors])
    spread = all_p.max(0) - all_p.min(0)
    first = column(browser, "p-consequence", EDITORS)
    # Rows of a case stand together: the first case has as many rows as there are editors.
    assert max(map(float, first)) - min(map(float, first)) == pytest.approx(np.nanmax(spread), abs=0.011)


def tick(browser, editor):
    """Tick an editor's box among the filters."""
    boxes = "[...document.querySelectorAll('#filters details[data-key=editor] label')]"
    browser.value(
        f"{boxes}.find(l => l.children[1].textContent === {editor!r}).querySelector('input').click()"
    )


def test_three_readers_find_their_answers(report, browser):
    """The clicks of docs/tour.md."""
    page, editors, entities = report
    first, second = editors[3], editors[5]
    browser.open(page.as_uri())
    tick(browser, first.name)
    choose_preset(browser, "the agent changed and the model did not")
    missed = view_of(first).columns[1].values == "no"
    support = first.edits.results.cases["support_new"]
    assert {*column(browser, "editor")} == {first.name}
    assert int(column(browser, "support", 1)[0]) == support[missed].max()

    browser.open(page.as_uri())
    tick(browser, first.name)
    tick(browser, second.name)
    choose_preset(browser, "editors disagree most")
    differ = np.abs(np.subtract(*(view_of(e).columns[4].values for e in (first, second))))
    values = [*map(float, column(browser, "p-consequence", 2))]
    assert abs(values[0] - values[1]) == pytest.approx(np.nanmax(differ), abs=0.011)
    browser.value("openRow(0)")
    browser.wait(OPEN)
    heads = browser.value("[...document.querySelectorAll('.question')][0].querySelector('thead').textContent")
    assert {first.name, second.name} == {n for n in (first.name, second.name) if n in heads}

    browser.open(f"{page.as_uri()}#evaluation=hase&f.editor={quote(first.name)}")
    choose_preset(browser, "worst damage")
    assert {*column(browser, "editor")} == {first.name}
    damage = first.values[first.name]["damage"].by_case
    worst = np.flatnonzero(damage == np.nanmax(damage))
    assert column(browser, "subject", 1)[0] in {
        entities[first.edits.results.cases["subject"][i]] for i in worst
    }


def test_search_finds_names_as_they_are(report, browser):
    page, editors, entities = report
    cases = editors[0].edits.results.cases
    for text in ("O'Brien", "<SCRIPT>", "\u05d3\u05d5\u05d3"):
        browser.open(page.as_uri())
        browser.value(SEARCH.format(repr(text)))
        hits = [text.lower() in name.lower() for name in entities]
        wanted = sum(any(hits[cases[k][i]] for k in ("subject", "object", "truth")) for i in range(CASES))
        assert count_rows(browser) == wanted * EDITORS


def test_hostile_names_are_text(report, browser):
    page, _, entities = report
    browser.open(page.as_uri())
    assert browser.value("document.title") == "Edits of x"
    for place in range(0, 200, 25):
        browser.value(f"moveTo({place}); openRow({place})")
        browser.wait(OPEN)
        browser.value("change({ case: null })")
    assert (
        browser.value(
            "document.querySelectorAll('#table script, #table img, dialog script, dialog img').length"
        )
        == 0
    )
    assert browser.value("document.title") == "Edits of x"
    names = column(browser, "subject")
    assert {*names} <= {*entities}


def test_the_keyboard_does_it_all(report, browser):
    page, _, _ = report
    browser.open(page.as_uri())
    browser.press("ArrowDown")
    browser.press("ArrowDown")
    browser.press("ArrowUp")
    browser.press("Enter", "\r")
    browser.wait(OPEN)
    first = browser.value(TITLE)
    browser.press("ArrowRight")
    browser.wait(f"{TITLE} !== {first!r}")
    browser.press("Escape")
    browser.wait(f"!{OPEN}")
    browser.press("/", "/")
    assert browser.value("document.activeElement.id") == "find"
    browser.press("Escape")
    assert browser.value("document.activeElement.id") == "table"
    assert browser.value("app.cursor") == 2


def test_an_address_is_a_view(report, browser):
    page, editors, _ = report
    browser.open(page.as_uri())
    click(browser, "#filters details[data-key=editor] input", 2)
    choose_preset(browser, "worst damage")
    browser.value("openRow(0)")
    browser.wait(OPEN)
    address, title, count = (browser.value(x) for x in ("location.href", TITLE, COUNT))
    browser.open(address, until=f"{OPEN} && {TITLE}")
    assert (browser.value(TITLE), browser.value(COUNT)) == (title, count)
    browser.value("setTimeout(() => history.back())")
    browser.open(f"{page.as_uri()}#case=7&beside={editors[1].name}&beside={editors[5].name}", until=OPEN)
    heads = browser.value("[...document.querySelectorAll('.question')][0].querySelector('thead').textContent")
    assert heads == f"before{editors[1].name}{editors[5].name}"
    assert "python -m testbed.ask" in browser.value("document.querySelector('#case pre').textContent")


def test_an_opened_case_has_the_models_probabilities(report, browser):
    page, editors, _ = report
    browser.open(f"{page.as_uri()}#case=7&beside={editors[4].name}", until=OPEN)
    c = editors[4].edits.results.choices
    row = np.flatnonzero(c.case == 7)[0]
    shown = browser.value(
        "[...document.querySelector('.question').querySelectorAll('tbody tr')]"
        ".map(tr => tr.children[2].querySelector('.figure')?.textContent).filter(Boolean)"
    )
    assert float(shown[0]) == pytest.approx(float(f"{c.lm[row, 1][tallest(c, row)]:.2f}"), abs=0.011)


def tallest(choices, row):
    """The option that model or agent ever gives most."""
    return np.maximum(choices.lm[row].max(0), choices.agent[row].max(0)).argmax()


@pytest.mark.parametrize("width", [400, 1280, 1600])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_runs_off_the_page(report, browser, width, dark, tmp_path):
    page, editors, _ = report
    browser.resize(width, 800, dark)
    browser.open(page.as_uri())
    assert browser.value("document.documentElement.scrollWidth") <= width
    browser.value(f"change({{ case: 7, beside: [{editors[1].name!r}, {editors[2].name!r}] }})")
    browser.wait(OPEN)
    assert browser.value(
        "document.getElementById('case').scrollWidth <= document.getElementById('case').clientWidth"
    )
    back = browser.value("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") != dark
    browser.resize(1280, 800)
