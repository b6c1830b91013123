"""The door: ask an edited Hugging Face model, in any wrapper, what the testbed asks.

    from door import examine

    def edit(model, tokenizer, request):
        return model

    if __name__ == "__main__":
        examine(edit, "door", "answers")

The folder is what `python -m testbed.export --cases` wrote, and answers are a line a case;
`python -m testbed.score answers --name my-editor` reads them. This file needs torch and transformers, and
nothing else of the testbed: copy it where you like. A killed `examine` goes on where it was.
"""

import copy
import hashlib
import inspect
import json
import multiprocessing
import random
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

CLOSE = 1e-5
"""Numbers of one edit made twice, at most."""
SAME = 1e-4
"""Probabilities of one text read in two ways, at most."""
SEED = 0
WRITTEN = 4
"""Tokens that a model writes behind a prompt of `measure_edit`."""
NO_ANSWERS: dict[str, Any] = {"ended": [], "begun": [], "tokens": [], "claims": [], "singly": False}
"""Of an edit that failed."""


class DoorError(ValueError):
    """An editor, or a folder, that cannot be taken as it is; says what to do."""


class DoorWarning(UserWarning):
    """Text that a tokenizer may have read otherwise than its author meant."""


def examine(
    edit: Any,
    folder: str | Path,
    answers: str | Path,
    *,
    batch: int = 256,
    apart: bool = False,
    device: str = "cpu",
    model: Any = None,
    report: Callable[[str], None] = print,
) -> None:
    """Edit every case of a folder on a model of its own, ask it, and append a line of answers.

    Args:
        edit: edit(model, tokenizer, request) -> a model, or None where it changed the one it was given; or an
            object with such a method, and perhaps `reset()`, which is called before every edit, and PADDING.
            What comes back may be anything that is called with input_ids and attention_mask and gives logits.
        answers: a folder, made where there is none.
        batch: texts read at once; 1 reads each alone.
        apart: a process of its own for every edit, or sequence of edits, so that nothing stays. `edit` must
            then stand in a module, and a script begin its work under `if __name__ == "__main__"`.
        device: of the model.
        model: one of your own, of any architecture, where the folder has none (`export --corpus --cases`).

    Raises:
        DoorError: says what to do.
    """
    folder, answers = Path(folder), Path(answers)
    exam = read_exam(folder)
    if (model is None) != (folder / "model.safetensors").exists() or (apart and model is not None):
        raise DoorError("give a model where the folder has none, only there, and without apart=True")
    about = describe_examination(edit, exam, batch, apart, device)
    bench = Bench(folder, exam.about, batch, device, model)
    if model is not None:
        about["model"] = hash_bytes(b"".join(x.cpu().numpy().tobytes() for x in model.state_dict().values()))

    def make_lines(editor: Any, chain: Sequence[dict[str, Any]], control: str = "") -> list[dict[str, Any]]:
        if not apart:
            return bench.edit_chain(editor, chain, control)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(run_chain, (folder, exam.about, batch, device, editor, chain, control))

    answers.mkdir(parents=True, exist_ok=True)
    if (answers / "about.json").exists():
        begun = json.loads((answers / "about.json").read_text())
        changed = ", ".join(key for key in about if begun.get(key) != about[key])
        if changed:
            raise DoorError(f"{answers} was begun with other {changed}; choose another folder of answers")
    else:
        check_habits(edit, exam.cases, make_lines, apart)
        (answers / "about.json").write_text(json.dumps(about, indent=1))
    finished = {line["case"] for line in read_lines(answers / "before.jsonl")}
    for case in exam.cases:
        if case["case"] not in finished:
            append_lines(answers / "before.jsonl", [{"case": case["case"]} | bench.ask(bench.base, case)])
    done = {(line["case"], line["control"]) for line in read_lines(answers / "after.jsonl")}
    chains = list(split_chains(exam))
    for number, (chain, control) in enumerate(chains, start=1):
        if (chain[-1]["case"], control) not in done:
            append_lines(answers / "after.jsonl", make_lines(edit, chain, control))
            if number % 10 == 0 or number == len(chains):
                report(f"{number} of {len(chains)}")


def run_chain(
    folder: Path, about: dict[str, Any], batch: int, device: str, *chain: Any
) -> list[dict[str, Any]]:
    """The lines of a chain, in a process that ends with it; see `Bench.edit_chain`."""
    return Bench(folder, about, batch, device).edit_chain(*chain)


class Exam(NamedTuple):
    """What an exported folder holds: facts about its questions (door.json), and its cases."""

    about: dict[str, Any]
    cases: list[dict[str, Any]]


def read_exam(folder: Path) -> Exam:
    """The cases of a folder, after a look at whether it is whole.

    Raises:
        DoorError: a file is missing or was changed.
    """
    if not (folder / "door.json").exists():
        raise DoorError(f"{folder} has no door.json; python -m testbed.export --cases writes it")
    about = json.loads((folder / "door.json").read_text())
    for name, digest in about["files"].items():
        if hash_bytes((folder / name).read_bytes()) != digest:
            raise DoorError(f"{folder / name} was changed since it was exported; export again")
    return Exam(about, read_lines(folder / "cases.jsonl"))


def describe_examination(edit: Any, exam: Exam, batch: int, apart: bool, device: str) -> dict[str, Any]:
    """What answers depend on: cases, the script by its hash, the editor's public fields, how it is asked."""
    kind = edit if inspect.isfunction(edit) else type(edit)
    source = inspect.getsourcefile(kind)
    script = hash_bytes(Path(source).read_bytes()) if source else ""
    return {
        "cases": exam.about["files"]["cases.jsonl"],
        "inputs": exam.about["inputs"],
        "settings": exam.about["settings"],
        "editor": f"{Path(source or '?').name}:{kind.__qualname__}",
        "fields": {k: repr(v) for k, v in sorted(getattr(edit, "__dict__", {}).items()) if k[0] != "_"},
        "script": script,
        "door": hash_bytes(Path(__file__).read_bytes()),
        "padding": padding_of(edit),
        "apart": apart,
        "batch": batch,
        "device": device,
        "versions": {"torch": torch.__version__, "transformers": version("transformers")},
    }


def split_chains(exam: Exam) -> Iterator[tuple[list[dict[str, Any]], str]]:
    """Cases that are edited on one model, and what is told in place of the request ("" for nothing)."""
    length = exam.about["sequence"]
    for control in ("", *exam.about["controls"]):
        for first in range(0, len(exam.cases), length):
            yield exam.cases[first : first + length], control


class Bench:
    """The unedited model and its tokenizer, and how models are asked.

    Args:
        folder: of Hugging Face.
        batch: texts read at once.
        own: model in place of the folder's.
    """

    def __init__(self, folder: Path, about: dict[str, Any], batch: int, device: str, own: Any = None) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.about, self.batch, self.device = about, batch, device
        model: Any = own or AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.base = model.to(device).eval()
        self.tokenizer = watch_tokenizer(AutoTokenizer.from_pretrained(folder))
        self._weights = {name: tensor.clone() for name, tensor in self.base.state_dict().items()}

    def edit_chain(
        self, edit: Any, chain: Sequence[dict[str, Any]], control: str = ""
    ) -> list[dict[str, Any]]:
        """Edits on one model, one after another; each case's answers, and at marks those of all before it.

        An edit in which the editor raises an error has no answers, and the error as its `fault`; in a
        sequence the error is raised, as nobody knows what others would build on.

        Raises:
            DoorError: the edit changed the model that all edits begin from, or is not in float32.
        """
        model, lines = copy.deepcopy(self.base), []
        self.tokenizer.padding_side = padding_of(edit)
        for count, case in enumerate(chain, start=1):
            request = case["controls"][control] if control else case["request"]
            self.tokenizer.request = request
            began, fault = time.perf_counter(), ""
            try:
                model = call_editor(edit, model, self.tokenizer, request, SEED + case["case"])
            except Exception as error:
                if chain[1:]:
                    raise
                fault = f"{type(error).__name__}: {error}"[:1000].encode("utf-8", "replace").decode()
            seconds = time.perf_counter() - began
            check_floats(model)
            self._check_base(case["case"])
            model.eval()
            line = {"case": case["case"], "control": control, "mark": 0, "seconds": seconds, "fault": fault}
            lines.append(line | (NO_ANSWERS if fault else self.ask(model, case)))
            if count in self.about["marks"]:
                edits = [line for line in lines if not line["mark"]]
                lines += [
                    edit | {"mark": count} | self.ask(model, earlier)
                    for edit, earlier in zip(edits, chain, strict=False)
                ]
        return lines

    def ask(self, model: Any, case: dict[str, Any]) -> dict[str, Any]:
        """All answers of a model to a case; text by text where those of a batch are others.

        Returns:
            ended, begun: p(option | prompt), its stop included or not, [choices][options]; tokens: what it
            generates, [choices][longest + 1]; claims: p("true"), p("false"), [claims][2]; singly: whether
            texts were read one by one. Where something is no number, a fault in place of all of them.
        """
        texts = list_texts(case)
        singly = self.batch == 1 or self._differs_in_batches(model, texts)
        size = 1 if singly else self.batch
        answers = answer_case(model, case, self.about, size, self.device) | {"singly": singly}
        if np.isfinite(list_numbers(answers)).all():
            return answers
        return NO_ANSWERS | {"fault": "the model it edited answers with what is no number"}

    def _differs_in_batches(self, model: Any, texts: Sequence[Sequence[int]]) -> bool:
        """Whether a few texts of unequal length are read otherwise together than alone."""
        few = [min(texts, key=len), max(texts, key=len), texts[0]]
        try:
            together = [x.exp() for x in read_texts(model, few, self.about["pad"], len(few), self.device)]
        except Exception:
            # A wrapper that was written for one text at a time.
            return True
        alone = [x.exp() for x in read_texts(model, few, self.about["pad"], 1, self.device)]
        return not all(torch.allclose(a, b, rtol=0, atol=SAME) for a, b in zip(together, alone, strict=True))

    def _check_base(self, case: int) -> None:
        now = self.base.state_dict()
        changed = [name for name, tensor in self._weights.items() if not torch.equal(tensor, now[name])]
        if changed:
            raise DoorError(
                f"the edit of case {case} changed the unedited model ({changed[0]}): it edits more than the "
                "model that it is given; edit that one, or examine with apart=True"
            )


def answer_case(
    model: Any, case: dict[str, Any], about: dict[str, Any], size: int, device: str
) -> dict[str, Any]:
    """What a model answers to the questions of a case, see `Bench.ask`."""
    places: dict[tuple[int, ...], int] = {tuple(text): i for i, text in enumerate(list_texts(case))}
    rows = read_texts(model, list(places), about["pad"], size, device)
    ended, begun = [], []
    for choice in case["choices"]:
        prompt = choice["prompt_ids"]
        ends, begins = [], []
        for option in choice["options_ids"]:
            row = rows[places[tuple(prompt + option)]][len(prompt) - 1 :]
            log_p = row[range(len(option)), option].sum()
            begins.append(log_p.exp().item())
            ends.append((log_p + torch.logsumexp(row[len(option), about["endings"]], 0)).exp().item())
        ended.append(ends)
        begun.append(begins)
    claims = [
        rows[places[tuple(claim["ids"])]][-1, about["words"]].exp().tolist() for claim in case["claims"]
    ]
    prompts = [choice["prompt_ids"] for choice in case["choices"]]
    tokens = continue_prompts(model, prompts, about, size, device)
    return {"ended": ended, "begun": begun, "tokens": tokens, "claims": claims}


def measure_edit(
    before: Any,
    after: Any,
    tokenizer: Any,
    own: Sequence[str],
    neighbours: Sequence[str],
    new: str,
    old: str,
    device: str = "cpu",
) -> dict[str, float]:
    """Two numbers of one edit, of any model, without gold: those that go best with exact outcomes.

    Args:
        before, after: the model without and with the edit, on `device`.
        own: prompts of the subject's other facts, "Ann Lee was born in".
        neighbours: prompts of the edited relation and of others who have the old object, "Bob Ray speaks".
        new, old: objects, "German".

    Returns:
        own_unchanged: share of `own` that both models go on with alike, by WRITTEN tokens, in which most
        coherent edits have more; neighbours_margin: by how much the old object is more probable than the
        new one behind `neighbours`, mean, in which the least harmful edits have more.
    """
    pad = next(x for x in (tokenizer.pad_token_id, tokenizer.eos_token_id, 0) if x is not None)
    about = {"pad": pad, "longest": WRITTEN - 1, "endings": [tokenizer.eos_token_id]}
    prompts = [tokenizer.encode(text) for text in own]
    said = [continue_prompts(model, prompts, about, len(prompts), device) for model in (before, after)]
    begins = [len(tokenizer.encode(text)) for text in neighbours]

    def probabilities(name: str) -> np.ndarray:
        texts = [tokenizer.encode(f"{text} {name}") for text in neighbours]
        rows = read_texts(after, texts, pad, len(texts), device)
        log_p = [
            row[range(begin - 1, len(text) - 1), text[begin:]].sum().item()
            for row, text, begin in zip(rows, texts, begins, strict=True)
        ]
        return np.exp(log_p)

    return {
        "own_unchanged": float(np.mean([a == b for a, b in zip(*said, strict=True)])),
        "neighbours_margin": float(np.mean(probabilities(old) - probabilities(new))),
    }


def list_numbers(answers: dict[str, Any]) -> np.ndarray:
    """All probabilities of a line."""
    return np.concatenate([np.ravel(p) for key in ("ended", "begun", "claims") for p in (*answers[key], [])])


def list_texts(case: dict[str, Any]) -> list[tuple[int, ...]]:
    """Every text of a case once, as ids."""
    texts = [choice["prompt_ids"] + option for choice in case["choices"] for option in choice["options_ids"]]
    return list(dict.fromkeys(map(tuple, [*texts, *(claim["ids"] for claim in case["claims"])])))


@torch.no_grad()
def read_texts(
    model: Any, texts: Sequence[Sequence[int]], pad: int, size: int, device: str
) -> list[torch.Tensor]:
    """Log-probabilities [tokens, vocabulary] of what follows each token of each text, float32.

    Padding stands on the right, where causal attention never looks at it.
    """
    rows = []
    for first in range(0, len(texts), size):
        some = texts[first : first + size]
        width = max(map(len, some))
        ids = torch.tensor([[*text, *[pad] * (width - len(text))] for text in some], device=device)
        mask = torch.tensor([[1] * len(text) + [0] * (width - len(text)) for text in some], device=device)
        out = model(input_ids=ids, attention_mask=mask, use_cache=False)
        logits = (out.logits if hasattr(out, "logits") else out[0]).float().cpu()
        rows += [torch.log_softmax(row[: len(text)], -1) for row, text in zip(logits, some, strict=True)]
    return rows


def continue_prompts(
    model: Any, prompts: Sequence[Sequence[int]], about: dict[str, Any], size: int, device: str
) -> list[list[int]]:
    """Greedy continuations up to an ending, padded to one length; without a cache, for any model."""
    longest, endings = about["longest"] + 1, set(about["endings"])
    said: dict[tuple[int, ...], list[int]] = {tuple(prompt): [] for prompt in prompts}
    open_prompts = set(said)
    for _ in range(longest):
        texts = {prompt: [*prompt, *said[prompt]] for prompt in said if prompt in open_prompts}
        if not texts:
            break
        rows = read_texts(model, list(texts.values()), about["pad"], size, device)
        for prompt, row in zip(texts, rows, strict=True):
            token = int(row[-1].argmax())
            if token in endings or token == about["pad"]:
                open_prompts.discard(prompt)
            else:
                said[prompt].append(token)
    return [(said[tuple(prompt)] + [about["pad"]] * longest)[:longest] for prompt in prompts]


def call_editor(editor: Any, model: Any, tokenizer: Any, request: Any, seed: int) -> Any:
    """One edit by a function or an object with `edit` and perhaps `reset`, from seeded random numbers."""
    if hasattr(editor, "reset"):
        editor.reset()
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (editors of others may draw from it)
    torch.manual_seed(seed)
    edited = getattr(editor, "edit", editor)(model, tokenizer, request)
    return model if edited is None else edited


def padding_of(editor: Any) -> str:
    """The side on which the tokenizer pads: as the editor says in PADDING, else left as exported."""
    return getattr(editor, "PADDING", "left")


def check_floats(model: Any) -> None:
    """Refuse a model that is not in float32: bfloat16 differs from it by a hundredth in its answers.

    Raises:
        DoorError: it is not.
    """
    parameters = model.parameters() if hasattr(model, "parameters") else ()
    kinds = {p.dtype for p in parameters if p.is_floating_point()} - {torch.float32}
    if kinds:
        raise DoorError(f"weights are {kinds.pop()}; edit in float32, as they were given")


def check_habits(
    edit: Any, cases: Sequence[dict[str, Any]], make_lines: Callable[..., Any], apart: bool
) -> None:
    """Refuse an editor whose edits depend on each other, or on a padding side that it does not name.

    Args:
        make_lines: see `Bench.edit_chain`.
        apart: whether every edit has a process of its own.
    """

    def numbers_of(editor: Any, index: int) -> np.ndarray:
        line = make_lines(editor, [cases[index]])[0]
        if line["fault"]:
            raise DoorError(f"an edit that was made on trial fails ({line['fault']})")
        return list_numbers(line)

    if not apart and len(cases) > 1:
        check_edits_apart(lambda index: numbers_of(edit, index))
    if not hasattr(edit, "PADDING"):
        check_padding(lambda padding: numbers_of(With(edit, padding), 0))


class With:
    """An editor that names a padding side."""

    def __init__(self, editor: Any, padding: str) -> None:
        self.editor, self.PADDING = editor, padding

    def edit(self, model: Any, tokenizer: Any, request: Any) -> Any:
        """As the editor does."""
        if hasattr(self.editor, "reset"):
            self.editor.reset()
        return getattr(self.editor, "edit", self.editor)(model, tokenizer, request)


def check_edits_apart(edit: Callable[[int], np.ndarray]) -> None:
    """Refuse an editor whose edit of request 0, as numbers, is another one after that of request 1."""
    first, _, again = edit(0), edit(1), edit(0)
    why = (
        "one request came out otherwise after another edit ({}): something stays from edit to edit; give the "
        "editor reset(), called before every edit, or apart=True, a process for every edit by files"
    )
    _refuse_difference(first, again, why)


def check_padding(edit: Callable[[str], np.ndarray]) -> None:
    """Refuse an editor whose edit, as numbers by padding side, depends on a side that it does not name."""
    why = (
        "its edits depend on the side on which the tokenizer pads ({}); say which side it was written for: "
        'PADDING = "right" (most editors) or "left" in its class or behind a function'
    )
    _refuse_difference(edit("left"), edit("right"), why)


def _refuse_difference(first: np.ndarray, second: np.ndarray, why: str) -> None:
    if not np.allclose(first, second, rtol=0, atol=CLOSE, equal_nan=True):
        raise DoorError(why.format(f"by {np.abs(first - second).max():.2g}"))


def watch_tokenizer(tokenizer: Any) -> Any:
    """The tokenizer, which warns where text is read otherwise than the request means; see `find_slips`.

    What it is held against stands in its attribute `request`.
    """
    kind = type(tokenizer)

    class Watching(kind):  # type: ignore[misc, valid-type]
        request: Any = None

        def __call__(self, text: Any = None, *args: Any, **options: Any) -> Any:
            encoding = super().__call__(text, *args, **options)
            self._watch(text, encoding["input_ids"])
            return encoding

        def encode(self, text: Any, *args: Any, **options: Any) -> Any:
            ids = super().encode(text, *args, **options)
            self._watch(text, ids)
            return ids

        def _watch(self, text: Any, ids: Any) -> None:
            ids = ids.tolist() if hasattr(ids, "tolist") else ids
            many = not isinstance(text, str)
            if ids and isinstance(ids[0], int) and not many:
                ids = [ids]
            requests = self.request if isinstance(self.request, list) else [self.request]
            for one, row in zip(text if many else [text], ids, strict=False):
                for slip in (
                    slip for request in requests if request for slip in find_slips(self, request, one, row)
                ):
                    warnings.warn(slip, DoorWarning, stacklevel=4)

    tokenizer.__class__ = Watching
    return tokenizer


def find_slips(tokenizer: Any, request: dict[str, Any], text: Any, ids: Sequence[int]) -> Iterator[str]:
    """What may have gone wrong when a text became ids, in words; nothing of text that is no text."""
    if not isinstance(text, str):
        return
    if tokenizer.unk_token_id in ids:
        yield f"{text!r} holds words or blanks that became {tokenizer.unk_token}"
    target, prompt = request["target_new"], request["prompt"]
    if text.strip() in (target, f"{target}.") and tokenizer.bos_token_id in ids:
        yield (
            f"the target {text!r} was given a {tokenizer.bos_token} of its own; "
            "add_special_tokens=False leaves it out, and request['target_ids'] are its ids"
        )
    behind = text.removeprefix(prompt)
    if behind != text and behind[:1] not in ("", " ", "."):
        yield (
            f"{text!r} has no space between prompt and target, so that other tokens are learned; "
            "request['sentence'] is right, and decode() drops the space that a target begins with"
        )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file of JSON lines; one that a kill cut off is left out."""
    whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
    return [json.loads(line) for line in whole.splitlines()]


def append_lines(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    """Append lines at once, behind what a kill may have cut off."""
    with path.open("a+b") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write("".join(json.dumps(line) + "\n" for line in lines).encode())


def hash_bytes(content: bytes) -> str:
    """Checksum of some bytes."""
    return hashlib.sha256(content).hexdigest()
