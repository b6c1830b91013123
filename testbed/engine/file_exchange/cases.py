"""Cases as plain data for any framework, and answers from there: what `door.py` reads and writes.

door.json     what the answers depend on, and ids of the words that matter
cases.jsonl   a case a line: the request, and every question as text and as ids; no belief of any agent
corpus.txt    sentences of the training corpus, for covariances and contexts
door.py       asks a Hugging Face model
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpus.errors import InputError
from corpus.files import hash_file, staged_file, write_json
from corpus.text.tokenizer import EOS, PAD, SEP
from testbed.engine.file_exchange.requests import describe_request
from testbed.engine.file_exchange.schema import Line
from testbed.engine.plan import SweepPlan
from testbed.engine.questions import ModelAnswers, Questions, case_questions, truth_words
from testbed.protocol import Case, names_of_controls
from testbed.run.world import World

DOOR, CASES, TEXT, SCRIPT = "door.json", "cases.jsonl", "corpus.txt", "door.py"
MODEL = ("config.json", "model.safetensors", "tokenizer.json")
SENTENCES = 20_000
"""Of the corpus, at most."""


def write_cases(
    world: World,
    cases: Sequence[Case],
    sequence: int,
    longest: int,
    made_from: Mapping[str, Any],
    folder: Path,
) -> None:
    """Write all of it beside a model, or a corpus, that was exported into the folder; door.json last.

    Args:
        sequence: edits that build on each other, 1 for independent ones.
        longest: tokens of the longest answer.
        made_from: inputs and settings, by name.

    Raises:
        InputError: cases ask for texts, which answers by files cannot have.
    """
    if any(case.passages for case in cases):
        raise InputError("these cases ask for texts, which answers by files cannot have: edit in process")
    if any(case.request.further for case in cases):
        raise InputError(
            "these requests state several facts at once, which answers by files cannot have: edit in process"
        )
    with staged_file(folder / CASES) as aside, aside.open("w", encoding="utf-8") as file:
        file.writelines(lines_of_cases(world, cases))
    with staged_file(folder / TEXT) as aside:
        aside.write_text("".join(f"{text}\n" for text in corpus_sentences(world)), encoding="utf-8")
    with staged_file(folder / SCRIPT) as aside:
        aside.write_bytes(Path(__file__).with_name(SCRIPT).read_bytes())
    files = (CASES, *(name for name in MODEL if (folder / name).exists()))
    about = dict(made_from) | {
        "files": {name: hash_file(folder / name) for name in files},
        "endings": [SEP, EOS],
        "pad": PAD,
        "words": list(truth_words(world.tokenizer)),
        "longest": longest,
        "sequence": sequence,
        "marks": marks_of(len(cases), sequence),
        "controls": names_of_controls(cases, sequence),
    }
    write_json(folder / DOOR, about)


def marks_of(cases: int, sequence: int) -> list[int]:
    """Numbers of edits after which all earlier ones of a sequence are asked again."""
    return SweepPlan(cases, sequence, 1, 1).marks


def lines_of_cases(world: World, cases: Sequence[Case]) -> Iterator[str]:
    """The file cases.jsonl, line by line."""
    yield from (json.dumps(row, ensure_ascii=False) + "\n" for row in describe_cases(world, cases))


def hash_cases(world: World, cases: Sequence[Case]) -> str:
    """The checksum of the file."""
    return hashlib.sha256("".join(lines_of_cases(world, cases)).encode()).hexdigest()


def describe_cases(world: World, cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """The lines of cases.jsonl."""
    for number, case in enumerate(cases):
        questions = case_questions(world.tokenizer, case)
        choices = []
        for choice, question in zip(case.choices, questions, strict=False):
            texts = question.texts if len(choice.options) else []
            choices.append(
                {
                    "prompt": _decode(world, question.texts[0][: question.prompt]),
                    "prompt_ids": question.texts[0][: question.prompt].tolist(),
                    "options": [_decode(world, text[question.prompt :], 0) for text in texts],
                    "options_ids": [text[question.prompt :].tolist() for text in texts],
                }
            )
        claims = [
            {"text": _decode(world, question.texts[0]), "ids": question.texts[0].tolist()}
            for question in questions[len(case.choices) :]
        ]
        yield {
            "case": number,
            "request": describe_request(world, case.requested_fact, case.credence),
            "controls": {c.name: describe_request(world, c.fact, case.credence) for c in case.controls},
            "choices": choices,
            "claims": claims,
        }


def _decode(world: World, ids: np.ndarray, first: int = 1) -> str:
    """The text of some ids, by default without the token that begins documents."""
    return world.tokenizer.decode(ids[first:].tolist())


def corpus_sentences(world: World) -> Iterator[str]:
    """Sentences of the corpus as text, in the order in which they were drawn."""
    language, sentences = world.tokenizer.language, world.sentences
    for index in range(min(SENTENCES, len(sentences.kind))):
        yield f"{language.render(sentences[index])}."


def pad_answers(questions: Questions, lines: Sequence[Line]) -> ModelAnswers:
    """Answers of some lines as the engine has its own, one row a line; a failed edit's are no numbers."""
    shape = questions.shape
    with_stop = np.zeros((len(lines), shape.choices, shape.options), np.float32)
    without_stop, claims = with_stop.copy(), np.zeros((len(lines), shape.claims, 2), np.float32)
    tokens = np.full((len(lines), shape.choices, questions.names.longest + 1), PAD, np.int32)
    for i, line in enumerate(lines):
        if line.fault:
            with_stop[i] = without_stop[i] = claims[i] = np.nan
        for q, (ended, begun, said) in enumerate(zip(line.ended, line.begun, line.tokens, strict=True)):
            with_stop[i, q, : len(ended)], without_stop[i, q, : len(begun)] = ended, begun
            tokens[i, q] = said
        if line.claims:
            claims[i, : len(line.claims)] = line.claims
    return ModelAnswers(with_stop, without_stop, tokens, claims)
