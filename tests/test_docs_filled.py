"""Tables and pictures of the docs are what the records have; cells that are not are named."""

import re

import pytest

from corpus.errors import InputError
from experiments import docs
from experiments.doc_pictures import CHARTS, draw_chart
from experiments.docs import (
    BLOCK,
    HOME,
    PRINTED,
    figures_of_chart,
    fill_page,
    list_pages,
    print_figure,
    split_row,
)
from experiments.figures import FIGURES, Figure, write_figures

PAGES = [page for page in list_pages() if BLOCK.search(page.read_text(encoding="utf-8"))]
FINDINGS = sorted((HOME / "docs" / "findings").glob("*.md"))
LONG = ("papers",)
"""Pages of several questions."""
HABITS = re.compile(r"what to see|(?<!-)\b(?:bars?|asks?|says?|told|heeds?)\b", re.IGNORECASE)
"""What CONTRIBUTING.md's house style writes otherwise."""
TABLE = """<!-- table: a b
all = found
o after = after
half = -
printed = -
-->
| | who | o after | damage | half |
|---|---|---:|---:|---:|
| all | `rome` | **0.51 ± 0.10** | 0.4 | 0.9 |
| | told; not read | ? | 0.35 | 0.9 |
| all | printed | 0.7 | | |
<!-- end -->
"""


@pytest.fixture
def records(tmp_path, monkeypatch):
    """Two records; the second has measured one figure again."""
    monkeypatch.setattr(docs, "RECORDS", tmp_path)
    docs.index_figures.cache_clear()
    for name, rome in (("a", 0.3), ("b", 0.513)):
        (tmp_path / name).mkdir()
        rows = [Figure("found", labels=("all", "rome"), figure="after", value=rome, low=0.41, high=0.61)]
        if name == "a":
            rows += [
                Figure(
                    "found", labels=("all", "told; not read"), figure="after", value=0.2, low=0.1, high=0.5
                ),
                Figure("found", labels=("all", "told; not read"), figure="damage", value=0.25),
                Figure("found", labels=("all", "rome"), figure="damage \u2193", value=0.4),
                Figure("found", labels=("some", "rome"), figure="damage", value=0.1),
            ]
        write_figures(rows, tmp_path / name / FIGURES)
    yield
    docs.index_figures.cache_clear()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_table_is_what_its_records_have(page):
    text = page.read_text(encoding="utf-8")
    assert fill_page(text, page.name) == text


@pytest.mark.parametrize("page", FINDINGS, ids=lambda page: page.stem)
def test_every_table_of_findings_is_filled_or_names_its_records(page):
    """But for tables of words alone."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for before, table in re.findall(r"(.*)\n((?:^\|.*\n)+)", text, re.MULTILINE):
        if any(PRINTED.match(cell) for line in table.splitlines()[2:] for cell in split_row(line)):
            assert before.startswith("<!-- command: python -m experiments."), table
            records = re.findall(r"2026-\d\d-\d\d-[\w-]+", before)
            assert records
            assert all((docs.RECORDS / record).is_dir() for record in records)


@pytest.mark.parametrize(
    "page", [page for page in FINDINGS if page.stem not in LONG], ids=lambda page: page.stem
)
def test_a_finding_is_short_and_in_plain_words(page):
    """A question, its answer, at most three tables of figures and 700 words, how sure, where it fails."""
    text = re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    prose = re.sub(r"^\|.*", "", text, flags=re.MULTILINE)
    assert re.match(r"# .*\?\n", text)
    assert len(prose.split()) <= 700
    assert sum(bool(re.search(r"\| *\**\d", table)) for table in tables) <= 3
    assert {"## How sure", "## Where it fails", "## Command and record"} <= {*prose.splitlines()}


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.stem)
def test_no_page_has_a_word_that_is_a_habit(page):
    """But in code, and in what a comment tells the program that fills tables."""
    text = re.sub(
        r"^```.*?^```|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    assert not re.findall(rf".*(?:{HABITS.pattern}).*", re.sub(r"`[^`]*`", "", text), re.IGNORECASE)


def headings_of(page):
    """What links may name behind a #."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.strip().lower()).replace(" ", "-") for one in found}


@pytest.mark.parametrize("page", list_pages(), ids=lambda page: page.stem)
def test_every_link_resolves(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), link
        assert not anchor or anchor in headings_of(there), link


def test_an_entry_of_the_log_is_short():
    """The newest days have an entry a heading; everything older has one a bold sentence, by topic."""
    _, *sections = re.split(r"^## ", (HOME / "LOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for section in sections:
        title, _, text = section.partition("\n")
        entries = [text] if title.startswith("20") else re.split(r"^- ", text, flags=re.MULTILINE)[1:]
        assert entries, title
        assert [entry for entry in entries if len(entry.split()) > 120] == [], title


def test_the_path_from_the_readme_leads_through_every_page_of_the_site_once():
    """Each page links on to the next, in the order of the site's tables of contents."""
    path, page = [], HOME / "README.md"
    while found := re.search(r"^Next: \[.*?\]\((.*?)\)", page.read_text(encoding="utf-8"), re.MULTILINE):
        page = (page.parent / found[1]).resolve()
        assert page not in path
        path.append(page)

    def list_below(page):
        """A page and those that its table of contents names."""
        text = page.read_text(encoding="utf-8")
        for names in re.findall(r"^```\{toctree\}\n(?::.*\n)*\n([^`]*)^```", text, re.MULTILINE):
            for name in names.split():
                below = (page.parent / f"{name}.md").resolve()
                yield from (below, *list_below(below))

    index = HOME / "docs" / "index.md"
    assert path == [*list_below(index)]
    assert {*path, index} == {*(HOME / "docs").rglob("*.md")} - {*(HOME / "docs" / "_site").rglob("*.md")}


@pytest.mark.parametrize("page", list_pages()[1:], ids=lambda page: page.stem)
def test_a_page_of_the_site_links_to_pages_of_the_site(page):
    """A link to another file of the repository names what it is; the site has no such page."""
    for link in re.findall(r"\]\((?!https?:)([^)\s#]+\.md)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).resolve().is_relative_to(HOME / "docs"), link


@pytest.mark.parametrize("name", CHARTS)
def test_a_picture_is_what_its_records_have(name, tmp_path):
    draw_chart(CHARTS[name], figures_of_chart(CHARTS[name]), tmp_path / "x.svg")
    shown = HOME / "docs" / "findings" / f"{name}.svg"
    words = [re.findall(r">([^<]+)</text>", path.read_text("utf-8")) for path in (tmp_path / "x.svg", shown)]
    assert words[0] == words[1]
    assert any(
        f"{name}.svg)" in page.read_text(encoding="utf-8")
        for page in [HOME / "docs" / "findings.md", *FINDINGS]
    )


def test_cells_are_filled_and_others_left(records):
    filled = fill_page(TABLE, "page.md")
    changes = [(a, b) for a, b in zip(TABLE.split("\n"), filled.split("\n"), strict=True) if a != b]
    assert changes == [
        ("| | told; not read | ? | 0.35 | 0.9 |", "| | told; not read | 0.20 [0.10, 0.50] | 0.25 | 0.9 |")
    ]
    assert fill_page(filled, "page.md") == filled


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "`rome`",
            "`memit`",
            "page.md, line 7, '.*0.51 ± 0.10.*': no figure of a, b has all of after; all; found; memit",
        ),
        ("all = found\n", "", "are of several figures"),
        ("table: a b", "table: nobody", "nobody is no record"),
    ],
)
def test_what_no_record_has_is_named(records, old, new, said):
    text = TABLE.replace(old, new)
    if "several" in said:
        text = text.replace("| all |", "| |", 1)
    with pytest.raises(InputError, match=said):
        fill_page(text, "page.md")


@pytest.mark.parametrize(
    ("cell", "printed"),
    [
        ("0.1", "0.6"),
        ("**0.12**", "**0.62**"),
        ("0.1 ± 0.2", "0.6 ± 0.10"),
        ("1,234", "1"),
        ("?", "0.62 ± 0.10"),
    ],
)
def test_a_figure_is_printed_in_the_form_of_its_cell(cell, printed):
    assert print_figure(Figure("found", value=0.62, low=0.52, high=0.72), cell) == printed
