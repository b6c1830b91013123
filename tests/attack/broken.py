"""Broken answers and cards, drawn from their schemas; none may be taken."""

import json
from collections import Counter

import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from corpus.errors import InputError

WRONG = {
    "integer": [-1, 2**40, 10**30, 1.5, "7", True, None, [], {}],
    "number": [-0.1, -1e9, 1e30, "soon", True, None, [0.5], {}, float("nan"), float("inf")],
    "string": [3, None, ["x"], {}, "x" * 10_000, 0.5],
    "boolean": [0, 1, "true", None, []],
    "array": [{}, "x", None, 3, True],
    "object": [[], "x", None, 3, [{}]],
}
"""What is no value of a type, whatever its limits here are."""


def list_places(value, schema, defs, path=()):
    """Every place of a document, with the schema of what stands there."""
    while "$ref" in schema or "anyOf" in schema:
        alternatives = schema.get("anyOf", [schema])
        schema = next(one for one in alternatives if one.get("type") != "null")
        schema = defs[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    yield path, schema
    if isinstance(value, dict):
        for key, inner in value.items():
            within = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
            if isinstance(within, dict):
                yield from list_places(inner, within, defs, (*path, key))
    if isinstance(value, list):
        for i, inner in enumerate(value):
            yield from list_places(inner, schema.get("items") or {}, defs, (*path, i))


def replace_at(value, path, new):
    """A document with something else at a place."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replace_at(value[path[0]], path[1:], new)
    return copy


@st.composite
def break_by_schema(draw, value, schema):
    """What kind of mistake, and a document with it, of a class of msgspec."""
    described = msgspec.json.schema(schema)
    places = [one for one in list_places(value, described, described["$defs"]) if one[1]]
    path, here = draw(st.sampled_from(places[:1]) | st.sampled_from(places))
    old = value
    for key in path:
        old = old[key]
    ways = ["type"]
    ways += ["missing key", "unknown key"] if here.get("required") else []
    ways += ["one deeper"] if path else []
    way = draw(st.sampled_from(ways))
    if way == "missing key":
        gone = draw(st.sampled_from(here["required"]))
        return way, replace_at(value, path, {key: x for key, x in old.items() if key != gone})
    if way == "unknown key":
        return way, replace_at(value, path, old | {"surprise": 1})
    if way == "one deeper":
        return way, replace_at(value, path, [old])
    allowed = [*([] if old is not None else [None]), *here.get("enum", [])]
    kind = here.get("type", "string")
    wrong = [x for x in WRONG[kind] if not any(x is y or x == y for y in allowed)]
    wrong = [x for x in wrong if not (x is None and is_optional(value, path, schema))]
    if here.get("maximum", 1) > 1:
        wrong = [x for x in wrong if x != 1e30 or here["maximum"] < 1e30]
    return way, replace_at(value, path, draw(st.sampled_from(wrong)))


def is_optional(value, path, schema):
    """Whether nothing may stand at a place."""
    try:
        msgspec.json.decode(json.dumps(replace_at(value, path, None)), type=schema)
    except msgspec.MsgspecError:
        return False
    return True


@st.composite
def break_text(draw, text):
    """What kind of mistake, and bytes of a document with it, before JSON is JSON."""
    first = [next(iter(json.loads(text).items()))]
    ways = {
        "cut": lambda: text[: draw(st.integers(1, len(text) - 2))],
        "no UTF-8": lambda: text.replace(b'"', b'"\xff', 1),
        "half a character": lambda: text.replace(b'"', b'"\\ud800', 1),
        "nested": lambda: b"[" * 100_000,
        "twice": lambda: text + text,
        "long": lambda: text[:-1] + b" " * (1 << 24) + text[-1:],
        "key twice": lambda: json.dumps(dict(first))[:-1].encode() + b", " + text[1:],
        "UTF-16": lambda: text.decode().encode("utf-16"),
        "mark of byte order": lambda: b"\xef\xbb\xbf" + text,
    }
    way = draw(st.sampled_from(sorted(ways)))
    return way, ways[way]()


def break_line(lines, choices):
    """Strategy: what kind of mistake, and the lines of a file with it, each a well-formed line."""

    @st.composite
    def build(draw):
        number = draw(st.integers(0, len(lines) - 1))
        line = json.loads(json.dumps(lines[number]))
        q = draw(st.sampled_from([i for i, row in enumerate(line["ended"]) if len(row) > 1]))
        ended, begun, tokens = line["ended"][q], line["begun"][q], line["tokens"][q]
        likeliest = max(range(len(begun)), key=begun.__getitem__)
        least = min(range(len(begun)), key=begun.__getitem__)

        def change(**fields):
            return [*lines[:number], line | fields, *lines[number + 1 :]]

        def change_row(key, row):
            rows = [*line[key]]
            rows[q] = row
            return change(**{key: rows})

        def state_least():
            """The tokens of the least likely option, where the likeliest has most of the probability."""
            line["ended"][q] = [0.9 if i == likeliest else 0.0 for i in range(len(ended))]
            line["begun"][q] = [*line["ended"][q]]
            name = choices[line["case"]][q][least]
            return change_row("tokens", [*name, *[0] * (len(tokens) - len(name))])

        ways = {
            "sum": lambda: change_row("begun", [1.0] * len(begun)),
            "sum with the end": lambda: change(ended=[[1.0] * len(row) for row in line["ended"]],
                                               begun=[[1.0] * len(row) for row in line["begun"]]),
            "end larger": lambda: change_row("ended", [min(1.0, begun[0] + 0.1), *ended[1:]]),
            "too few": lambda: change_row("ended", ended[1:]),
            "too many": lambda: change_row("tokens", [*tokens, 0]),
            "no vocabulary": lambda: change_row("tokens", [10**7, *tokens[1:]]),
            "behind the end": lambda: change_row("tokens", [0] * (len(tokens) - 1) + [9]),
            "tokens against probabilities": state_least,
            "twice": lambda: [*lines, lines[number]],
            "no such case": lambda: change(case=len(lines)),
            "another case again": lambda: change(case=lines[number - 1]["case"]),
            "no such control": lambda: change(control="surprise"),
            "no such mark": lambda: change(mark=3),
            "gone": lambda: [*lines[:number], *lines[number + 1 :]],
            "fault and answers": lambda: change(fault="no luck"),
            "no row": lambda: change(ended=line["ended"][1:]),
        }  # fmt: skip
        if line["claims"]:
            ways["claims"] = lambda: change(claims=[[1.0, 1.0], *line["claims"][1:]])
        way = draw(st.sampled_from(sorted(ways)))
        return way, ways[way]()

    return build()


def dump(*lines):
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def break_answers(folder, choices):
    """Strategy: kind of mistake, name of a file of a folder of answers, and its bytes with the mistake."""
    from testbed.engine.file_exchange.schema import About, EditLine, Line

    about = json.loads((folder / "about.json").read_text())
    before, after = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for name in ("before", "after")
    )

    def place(name, lines, number):
        return lambda found: (found[0], name, dump(*lines[:number], found[1], *lines[number + 1 :]))

    def place_text(name, lines, number):
        """Behind a cut line stand others, so that it is not one that a kill cut off."""
        head, tail = dump(*lines[:number]), dump(*lines[number + 1 :])
        return lambda found: (found[0], name, head + found[1] + b"\n" + tail)

    numbers = range(len(after))
    return st.one_of(
        break_by_schema(about, About).map(lambda found: (found[0], "about.json", dump(found[1]))),
        break_text(dump(about)).map(lambda found: (found[0], "about.json", found[1])),
        *(
            strategy
            for name, lines, schema in (("before.jsonl", before, Line), ("after.jsonl", after, EditLine))
            for strategy in (
                st.sampled_from(numbers).flatmap(
                    lambda k, n=name, s=lines, c=schema: break_by_schema(s[k], c).map(place(n, s, k))
                ),
                st.sampled_from(numbers).flatmap(
                    lambda k, n=name, s=lines: break_text(dump(s[k])[:-1]).map(place_text(n, s, k))
                ),
            )
        ),
        break_line(after, choices).map(lambda found: (found[0], "after.jsonl", dump(*found[1]))),
    )


def break_card(card):
    """Strategy: kind of mistake, scorecard.json, and its bytes with the mistake."""
    from testbed.scores.card_format import Card

    own = next(i for i, one in enumerate(card["editors"]) if one["editor"] == card["examined"])
    world = next(iter(card["worlds"]))

    @st.composite
    def contradict(draw):
        row = draw(st.sampled_from(sorted(card["editors"][own]["numbers"])))
        number = card["editors"][own]["numbers"][row]
        better = draw(st.floats(0.01, 9) | st.floats(-9, -0.01))
        verdicts = {"better", "unsure", "worse"} - {number["over no edit"]["verdict"]}
        numbers, over = ("editors", own, "numbers", row), ("editors", own, "numbers", row, "over no edit")
        ways = {
            "value": ((*numbers, "value"), better + (number["value"] or 0)),
            "low": ((*numbers, "low"), better + (number["low"] or 0)),
            "cases": ((*numbers, "cases"), number["cases"] + draw(st.integers(1, 10**6))),
            "difference": ((*over, "difference"), better + (number["over no edit"]["difference"] or 0)),
            "high": ((*over, "high"), better + (number["over no edit"]["high"] or 0)),
            "verdict": ((*over, "verdict"), draw(st.sampled_from(sorted(verdicts)))),
            "count": (("editors", own, "rows surely better"), draw(st.integers(20, 10**6))),
            "suite": (("suite",), draw(st.text(min_size=5, max_size=9))),
            "world": (("worlds", world, "cases"), draw(st.text(max_size=9))),
            "method": (("methods", world, "version"), draw(st.integers(1000, 10**6))),
            "examined": (("examined",), draw(st.text(max_size=5))),
        }
        way = draw(st.sampled_from(sorted(ways)))
        return way, replace_at(card, *ways[way])

    broken = break_by_schema(card, Card) | contradict()
    return st.one_of(
        broken.map(lambda found: (found[0], "scorecard.json", dump(found[1]))),
        break_text(dump(card)).map(lambda found: (found[0], "scorecard.json", found[1])),
    )


def list_names(questions):
    """Token ids of the options of each choice of each case."""
    return [
        [[questions.tokenizer.entity(int(o)).tolist() for o in choice.options] for choice in case.choices]
        for case in questions.cases
    ]


def make_answers(place):
    """A small run, answers to its cases, and what reads a folder of answers: (folder, choices, read)."""
    from dataclasses import replace

    from testbed.commands.edit import draw_with_agent
    from testbed.commands.score import read_folder
    from testbed.engine.file_exchange.schema import About
    from testbed.engine.questions import Questions
    from testbed.presets import EDIT
    from testbed.run.model import load_model
    from testbed.run.runs import Run
    from testbed.run.strict_json import read_document
    from testbed.run.world import load_world
    from testbed.settings import CaseConfig
    from tests.attack.trials import write_answers

    write_answers(place, place / "answers")
    options = replace(EDIT["tiny"], runs=place, run="x", cases=CaseConfig(6))
    world = load_world(Run(place, "x"))
    model, _ = load_model(Run(place, "x"), world, options.checkpoint)
    questions = Questions(world, model, draw_with_agent(world, options)[1], options.seed)

    def read(folder):
        read_folder(folder, read_document(folder / "about.json", About), world, questions, 1)

    return place / "answers", list_names(questions), read


def try_broken(strategy, check, times):
    """Draw broken files and check that none is taken; the names of the files.

    Args:
        check: (name, bytes) -> whatever was taken; raises InputError where the file is refused.
        times: so many as often as properties are tried (`--hypothesis-profile thorough` tries 500).

    Raises:
        AssertionError: one was taken, or the message names no file.
    """
    refused, count = Counter(), int(times * settings.default.max_examples)

    @seed(0)
    @settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def attempt(broken):
        way, name, content = broken
        try:
            check(name, content)
        except InputError as error:
            stem = name.partition(".")[0]
            # What a card says of a method is held against the config.json beside its answers.
            words = (stem, "another version", "method: not the suite's of this version, or the card's")
            assert any(word in str(error) for word in words), (way, name, str(error)[:300])
            refused[name] += 1
        else:
            raise AssertionError(f"taken: {way} in {name}: {content[:2000]!r}")

    attempt()
    assert refused.total() == count
    return {*refused}


def check_answers(folder, read):
    """Reads the folder with one file replaced, and puts the file back."""

    def check(name, content):
        path = folder / name
        whole = path.read_bytes()
        path.write_bytes(content)
        try:
            read(folder)
        finally:
            path.write_bytes(whole)

    return check
