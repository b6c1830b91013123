"""Tables of figures in the README and docs/: each section names a command that is there."""

from experiments import sources
from experiments.command import run_module


def test_every_table_of_figures_names_a_command(capsys):
    assert run_module(sources, []) == 0
    out = capsys.readouterr().out
    assert "docs/findings/hase.md: Every editor on ten worlds" in out
    assert "experiments/records/" in out


def test_figures_without_a_command_are_named(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text(
        "# A\n| x |\n|---:|\n| 1 |\n"
        "## B\n`python -m experiments.nobody`\n| x |\n|---:|\n| 1 |\n"
        "## C\nno table\n"
    )
    monkeypatch.setattr(sources, "HOME", tmp_path)
    monkeypatch.setattr(sources, "list_pages", lambda: [page])
    assert run_module(sources, []) == 2
    said = capsys.readouterr()
    assert "page.md, 'A'; page.md, 'B'" in " ".join(said.err.split())
    assert "'C'" not in said.out
