"""Every passage as a line of JSON, with what each of its sentences is and what is wrong with it."""

import json
from collections.abc import Iterator
from pathlib import Path

from corpus.files import staged_file
from testbed.evaluations.leme.examples import EditorPassages
from testbed.run.world import World
from testbed.scores.readers import NO_EDIT


def write_passages(texts: EditorPassages, world: World, folder: Path) -> Path:
    """What an editor's model wrote before and after each edit of this world, one passage a line.

    A line has `case`, `entity`, `role`, `reader`, `sample`, `text`, and `sentences`: of each its `text`, its
    `kind` (null where it cannot be read), `why` it is not one, or what it gets wrong, and the
    classes of errors it is an `error` of, under the first reading. Passages about twins have no such classes.
    """
    path = folder / f"passages-{texts.editor.edited.slug}.jsonl"
    with staged_file(path) as aside:
        lines = (json.dumps(line, ensure_ascii=False) for line in _passage_records(texts, world))
        aside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _passage_records(texts: EditorPassages, world: World) -> Iterator[dict]:
    cases, names = texts.editor.edited.results.cases, world.graph.entities
    ours = cases["run"] == cases["run"].min()
    of_readers = {NO_EDIT: texts.before} | {texts.editor.name: texts.after}
    for reader, pairs in of_readers.items():
        for pair in (pair for pair in pairs if ours[pair.case]):
            for role, lines in pair.passages.items():
                yield {
                    "case": pair.case,
                    "entity": names[int(cases[role][pair.case])],
                    "role": role,
                    "reader": reader,
                    "sample": pair.sample,
                    "text": " . ".join(line.text for line in lines),
                    "sentences": [
                        {
                            "text": line.text,
                            "kind": line.sentence and line.sentence.kind.name.lower(),
                            "why": line.flaw,
                            "error": [name for name, marks in pair.marks.items() if (role, at) in marks],
                        }
                        for at, line in enumerate(lines)
                    ],
                }
