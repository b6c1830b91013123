"""The page of attacks names tests; each is there, in the file that it names."""

import re

from tests.runs import ROOT

PAGE = (ROOT / "docs" / "attack.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`((?:tests/)?(?:attack/)?test_\w+\.py)`|`(test_\w+)`")


def test_every_test_that_the_page_names_is_there():
    text, count = "", 0
    for file, name in NAMED.findall(PAGE):
        if file:
            [path] = [p for p in (ROOT / "tests").rglob("test_*.py") if p.name == file.rpartition("/")[2]]
            text = path.read_text(encoding="utf-8")
            count += 1
        else:
            assert f"def {name}(" in text, name
    assert count > 15
