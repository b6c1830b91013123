"""A table that changes or goes after a world was made of it is missed."""

from testbed import corpus, verify
from tests.runs import at, complaint
from tests.test_any_table import homes


def test_a_table_that_changed_or_is_gone_is_noticed(tmp_path, capsys):
    table = tmp_path / "w.tsv"
    table.write_text(homes(40))
    args = [*at(tmp_path), "--world.source", "tsv", "--world.path", str(table)]
    assert corpus.main(args) == 0
    assert corpus.main(args) == 0
    assert "has this corpus already" in capsys.readouterr().out
    assert verify.main(at(tmp_path)) == 0
    assert "w.tsv" not in capsys.readouterr().out

    table.write_text(homes(41))
    assert corpus.main(args) == 2
    assert f"{table} has changed since this world was made of it; choose another --run" in complaint(capsys)
    assert verify.main(at(tmp_path)) == 0
    assert f"{table} has changed since this world was made of it" in capsys.readouterr().out

    table.unlink()
    for main, words in ((corpus.main, args), (verify.main, at(tmp_path))):
        assert main(words) == 0
        assert f"{table}, of which this world was made, is gone" in capsys.readouterr().out
