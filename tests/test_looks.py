"""Colours of editors, pictures and their messages: distinct, well-formed, true, and dark on a dark page."""

import io
import re
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.browser import Browser, find_browser
from testbed.engine.catalogue import editor_entries
from testbed.pages.belief_pictures import BeliefPanel, draw_beliefs
from testbed.pages.charts import draw_lines, draw_training
from testbed.pages.messages import NOTHING, describe_extremes, format_number
from testbed.pages.palette import (
    AGENT_COLOUR,
    MODEL_COLOUR,
    ON_DARK,
    PAPER,
    SLOTS,
    assign_slots,
    colour_of,
    has_ring,
    palette_css,
)
from testbed.scores.statistics import Estimate

names = st.lists(st.text(min_size=1) | st.sampled_from(sorted(editor_entries())), max_size=SLOTS, unique=True)


@given(names)
def test_editors_look_different(editors):
    slots = assign_slots(editors)
    assert {*slots} == {*editors}
    assert len({(colour_of(slot), has_ring(slot)) for slot in slots.values()}) == len(editors)


@given(st.sampled_from(sorted(editor_entries())))
def test_an_editor_alone_has_its_colour_whatever_its_settings(editor):
    assert assign_slots([editor])[editor] == assign_slots([f"{editor}, steps 7"])[f"{editor}, steps 7"]


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


COLOURS = {f"e{slot}": colour_of(slot) for slot in range(SLOTS // 2)}
COLOURS |= {"model": MODEL_COLOUR, "agent": AGENT_COLOUR}


@pytest.mark.parametrize("name", COLOURS)
def test_marks_stand_out_from_the_page(name):
    """Contrast of at least 3 to the page, light or dark (WCAG 1.4.11)."""
    for colour, back in zip(COLOURS[name], ("#ffffff", "#14191f"), strict=True):
        low, high = sorted((luminance(colour), luminance(back)))
        assert (high + 0.05) / (low + 0.05) > 3
    assert f"--{name}:{COLOURS[name].light}" in palette_css()


@given(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=4), st.text(), st.integers(0, 99))
def test_pictures_of_edits_are_xml_whatever_the_names(tmp_path_factory, objects, title, seed):
    path = tmp_path_factory.mktemp("svg") / "edit.svg"
    p = np.random.default_rng(seed).random((2, 2, len(objects)))
    draw_beliefs(title, [BeliefPanel("what", objects, *p)], path)
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "desc", "style", "text", "rect"}
    widths = [float(e.get("width")) for e in root.iter() if e.get("class") in ("model", "agent")]
    full = next(float(e.get("width")) for e in root.iter() if e.get("class") == "track")
    # Behind the legend, bars as they are drawn: an object, before and after, the model and the agent.
    assert widths[2:] == pytest.approx((np.transpose(p, (2, 1, 0)) * full).ravel(), abs=0.051)


def test_claims_are_described_one_by_one(tmp_path):
    p, q = np.array([[0.8, 0.5], [0.6, 0.4]]), np.array([[0.0, 1.0], [0.9, 0.1]])
    says = draw_beliefs("t", [BeliefPanel("true", ["A", "not A"], p, q, False)], tmp_path / "edit.svg")
    assert says == (
        "t. true: A 0.80 before and 0.60 after, by the agent 0.90, "
        "not A 0.50 before and 0.40 after, by the agent 0.10"
    )


def inks_of(svg):
    """The colours in which a chart is drawn, and the text in it."""
    root = ElementTree.fromstring(svg)
    styles = " ".join(element.get("style", "") for element in root.iter())
    text = "".join(element.text or "" for element in root.iter() if element.tag.endswith("text"))
    return {*re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", styles)}, text


@pytest.mark.parametrize("name", ["Ada & Bo", "<script>", "$x_1$", "a\x1bb\x00c", "\u05d3\u05d5\u05d3"])
def test_charts_are_xml_and_have_a_dark_twin_of_every_ink(tmp_path, name):
    path = tmp_path / "chart.svg"
    lines = {f"line {i}": [Estimate(i, i - 1, i + 1, 5)] * 2 for i in range(12)}
    draw_lines({name: lines, "other": lines}, ["0", "1"], "across", "up", path)
    inks, text = inks_of(path.read_text(encoding="utf-8"))
    assert inks <= ON_DARK.keys()
    assert name.translate(dict.fromkeys((0x1B, 0), "\ufffd")) in text
    first = path.read_bytes()
    draw_lines({name: lines, "other": lines}, ["0", "1"], "across", "up", path)
    assert path.read_bytes() == first, "the same numbers make the same bytes"


def test_the_picture_of_a_training_has_dark_twins(tmp_path):
    lines = [{"step": s, "accuracy": 0.5, "loss": 1.0, "truth": 0.2, "or": 0.9} for s in (1, 10)]
    assert "50% of the facts" in draw_training(lines, tmp_path / "training.svg")
    inks, text = inks_of((tmp_path / "training.svg").read_text(encoding="utf-8"))
    assert inks <= ON_DARK.keys()
    assert "loss (nats per token)" in text


@pytest.mark.parametrize("ink", sorted(ON_DARK.keys() - {PAPER, "#e4e7eb", "#b8c2cc"}))
def test_dark_twins_stand_out_from_a_dark_page(ink):
    """All but the paper, grids and thin joins, which are to be faint."""
    assert (luminance(ON_DARK[ink]) + 0.05) / (luminance(ON_DARK[PAPER]) + 0.05) > 3


@given(st.dictionaries(st.text(min_size=1), st.floats(-9, 9) | st.just(float("nan"))))
def test_messages_name_the_highest_and_the_lowest(values):
    said = describe_extremes(values, "skill")
    known = {k: v for k, v in values.items() if v == v}
    if not known:
        assert said == f"Skill: {NOTHING}"
    elif len(set(known.values())) == 1:
        assert said.endswith(f"{format_number(next(iter(known.values())))} everywhere")
    else:
        high, low = max(known, key=known.get), min(known, key=known.get)
        assert said.startswith(f"Skill: highest for {high} ({format_number(known[high])}), lowest for {low} ")


WHOLE = "document.readyState === 'complete' && document.querySelector('table')"
UNFOLD = (
    "document.querySelectorAll('details').forEach((box) => { box.open = true; }); document.body.offsetHeight"
)
WIDE = "document.documentElement.scrollWidth"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def index(finished):
    return (finished / "x" / "report" / "index.html").resolve().as_uri()


needs_browser = pytest.mark.skipif(not find_browser(), reason="no Chromium is installed")


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("width", [400, 800, 1280, 1600])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_runs_off_the_report(index, browser, width, dark):
    browser.console.clear()
    browser.resize(width, 900, dark)
    browser.open(index, until=WHOLE)
    assert browser.value(WIDE) <= width
    browser.value(UNFOLD)
    assert browser.value(WIDE) <= width, "tables scroll in boxes of their own"
    assert (browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") != dark
    assert browser.value("[...document.images].every((one) => one.alt && one.complete && one.naturalWidth)")
    assert not browser.console


@pytest.mark.slow
@needs_browser
def test_pictures_are_dark_on_a_dark_page(index, browser):
    browser.resize(1280, 900, dark=True)
    browser.open(index, until=WHOLE)
    browser.value(UNFOLD)
    count = browser.value("document.images.length")
    assert count >= 6
    for i in range(count):
        browser.value(f"document.images[{i}].scrollIntoView()")
        pixels = plt.imread(io.BytesIO(browser.photograph()))
        assert (pixels.min(-1) > 0.95).mean() < 0.05, "letters alone are white"


@pytest.mark.slow
@needs_browser
def test_the_report_is_read_by_keyboard_and_by_taps(index, browser):
    browser.resize(1280, 900)
    browser.open(index, until=WHOLE)
    browser.value("document.querySelector('.what').click()")
    name, says = browser.value("document.querySelector(':popover-open').textContent").split(" ", 1)
    assert (name, says[:7]) == ("edit", "success")
    browser.press("Escape")
    assert browser.value("document.querySelector(':popover-open') === null")
    browser.value("document.querySelector('details.part summary').focus()")
    browser.press("Enter", "\r")
    assert browser.value("document.querySelector('details.part').open")
    browser.open(f"{index}#hase-section-cost", until=WHOLE)
    assert browser.value("document.getElementById('hase-section-cost').open"), "an address unfolds its part"


@pytest.mark.slow
@needs_browser
def test_a_number_leads_to_its_edits(index, browser):
    browser.open(index, until=WHOLE)
    head = "document.querySelector('#hase-first thead tr').cells"
    place = browser.value(
        f"[...{head}].findIndex((one) => one.textContent.startsWith('consequence follows'))"
    )
    cell = f"document.querySelector('#hase-first tbody tr').cells[{place}]"
    cases = int(browser.value(f"{cell}.title").split()[0])
    browser.open(browser.value(f"{cell}.querySelector('a').href"))
    rows = "[...document.querySelectorAll('#space > div')]"
    says = "app.columns.findIndex((c) => c?.key === 'follows')"
    told = browser.value(f"{rows}.map((row) => row.children[{says}].textContent)")
    assert sum(word in ("yes", "no") for word in told) == cases > 0
    browser.press("Enter", "\r")
    browser.wait("document.getElementById('case').open")
