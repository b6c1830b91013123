"""The rule of names: a function is a verb with its object; nothing is named by a bare participle.

    python -m tests.test_naming

prints, for each package, how many functions there are and what share of their names is one word, a bare
participle, or a bare adjective.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("corpus", "bayes", "lm", "testbed", "experiments")
MOST_OF_ONE_WORD = 0.35
FROM_OUTSIDE = {"open", "readable"}
"""Names of the standard library: its verb, and a method that it calls."""
NOT_PARTICIPLES = set("embed exceed feed need proceed seed shed speed succeed unembed".split())
IRREGULAR = set(
    """begun bent born bought bound broken brought built caught chosen come cut dealt done drawn driven fallen
    felt forgotten fought found frozen given gone grown heard held hidden kept known laid learnt led left lent
    lost made meant met overtaken paid proven put read rewritten risen said seen sent set shown slept sold
    sought spent split spoken spread stolen stood struck sworn taken taught thought thrown told torn
    undone understood
    withdrawn won worn written""".split()
)
SAME_AS_VERB = set("come cut put read set split spread".split())
"""The verb and its participle are one word; it is read as the verb."""
ADJECTIVES = set(
    """absent alike alone apart available big blank busy central certain clean close common complete correct
    deep different direct dry due early easy empty equal exact false far few final fine finite foreign free
    frequent fresh full general good great half happy hard heavy high honest ideal idle independent large last
    late lasting likely literal little live local lone long loose lost low many merry minor missing mutual
    naive narrow near new nice numeric odd old only open other own plain plural poor popular positive possible
    present private probable proper public pure quick quiet random rare raw ready real related relative right
    safe same several sharp short silent similar simple single small smooth soft sole special stale steady
    strange strict strong sure sweet tall thin tidy tiny true typical uniform unique unlike unsafe usual vague
    valid various warm weak whole wide wild wrong young""".split()
)
ADJECTIVE_ENDING = re.compile(r"(able|ible|less|ful|ous)$")


class Function(NamedTuple):
    """A function or method, and where it is defined."""

    name: str
    where: str
    is_public: bool


@cache
def functions_of(package):
    """Every function and method of a package but those with names of the language, such as __init__."""
    paths = sorted((ROOT / package).rglob("*.py"))
    return [f for path in paths for f in functions_in(path.read_text("utf-8"), str(path.relative_to(ROOT)))]


def functions_in(source, path):
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not node.name.startswith("__") and node.name not in FROM_OUTSIDE:
            yield Function(node.name, f"{path}:{node.lineno}", not node.name.startswith("_"))


def words_of(name):
    return [word for word in name.split("_") if word]


def is_participle(word):
    return word in IRREGULAR - SAME_AS_VERB or (word.endswith("ed") and word not in NOT_PARTICIPLES)


def is_adjective(word):
    return word in ADJECTIVES or (word != "table" and bool(ADJECTIVE_ENDING.search(word)))


def is_bare(name, kind):
    words = words_of(name)
    return len(words) == 1 and kind(words[0])


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_function_is_a_bare_participle_or_adjective(package):
    public = [f for f in functions_of(package) if f.is_public]
    bare = [f for f in public if is_bare(f.name, is_participle) or is_bare(f.name, is_adjective)]
    assert not bare, "\n".join(f"{f.where}: {f.name}" for f in bare)


@pytest.mark.parametrize("package", PACKAGES)
def test_most_names_have_a_verb_and_an_object(package):
    names = [f.name for f in functions_of(package)]
    assert sum(len(words_of(name)) == 1 for name in names) <= MOST_OF_ONE_WORD * len(names)


def test_the_rule_can_fail():
    source = "class A:\n  def told(self): ...\n  def _kept(self): ...\ndef store_rows():\n  def whole(): ..."
    found = list(functions_in(source, "a.py"))
    assert [f.name for f in found if is_bare(f.name, is_participle)] == ["told", "_kept"]
    assert [f.name for f in found if is_bare(f.name, is_adjective)] == ["whole"]
    assert not is_bare("read", is_participle)
    assert not is_bare("is_written", is_participle)
    assert is_bare("asked", is_participle)


def print_shares():
    header = ("package", "functions", "one word", "participle", "adjective")
    print("{:12} {:>9} {:>9} {:>10} {:>9}".format(*header))
    everything = [f.name for package in PACKAGES for f in functions_of(package)]
    groups = {package: [f.name for f in functions_of(package)] for package in PACKAGES}
    for package, names in {**groups, "all": everything}.items():
        one = sum(len(words_of(name)) == 1 for name in names)
        participles = sum(is_participle(words_of(name)[0]) for name in names)
        adjectives = sum(is_bare(name, is_adjective) for name in names)
        shares = [f"{100 * count / len(names):.1f}%" for count in (one, participles, adjectives)]
        print("{:12} {:9,} {:>9} {:>10} {:>9}".format(package, len(names), *shares))


if __name__ == "__main__":
    print_shares()
