"""The tokenizer of a pretrained model, with the five ids that this project gives a meaning of its own.

Everything here counts on PAD, BOS, EOS, SEP and UNK being the ids 0 to 4. A pretrained model has tokens of
its own that begin and end a document and stop a sentence, under other ids. So ids are exchanged, five pairs
of them: rows of the embedding and of the head, and the tokenizer's vocabulary, in the same way. Nothing else
changes, and the same exchange leads back.

Every word is read with the space before it, as inside a text: " Ada Marlow educated at Quintal College".
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tokenizers
from tokenizers import AddedToken, Regex, normalizers

from corpus.errors import InputError
from corpus.files import hash_content, read_json
from corpus.text.language import SPECIALS

TOKENIZER, TOKENIZER_CONFIG, CONFIG = "tokenizer.json", "tokenizer_config.json", "config.json"
STOP, STOP_ID = ".", 3


class Pretrained(NamedTuple):
    """A pretrained model's tokenizer, as its folder has it.

    Attributes:
        content: its tokenizer.json.
        specials: its ids of what pads, begins and ends a document, stops a sentence, and is unknown.
        vocabulary: rows of the model's embedding, which may be more than there are tokens.
    """

    content: dict[str, Any]
    specials: tuple[int, ...]
    vocabulary: int

    @property
    def checksum(self) -> str:
        """Of the whole tokenizer."""
        return hash_content(self._asdict(), 64)

    @property
    def order(self) -> np.ndarray:
        """The pretrained model's id of each of our ids, int[V]; it is its own inverse up to a sort."""
        return exchange_ids(self.specials, self.vocabulary)


def exchange_ids(specials: Sequence[int], vocabulary: int) -> np.ndarray:
    """All ids in their order, but for `specials`, which change places so that they come first.

    >>> exchange_ids([3, 0], 6).tolist()
    [3, 0, 2, 1, 4, 5]
    """
    order = np.arange(vocabulary)
    for place, special in enumerate(specials):
        there = int(np.flatnonzero(order == special)[0])
        order[[place, there]] = order[[there, place]]
    return order


def read_pretrained(folder: Path) -> Pretrained:
    """The tokenizer of a folder of Hugging Face's.

    A document begins with the model's own token for that and ends with its own; where they are one, and for
    what pads and what is unknown, further special tokens are taken, which no text holds.

    Raises:
        InputError: no such folder, another kind of tokenizer than byte pairs, no token that stops a sentence,
            or too few special tokens.
    """
    content = read_json(folder / TOKENIZER)
    config = read_json(folder / CONFIG)
    names = read_json(folder / TOKENIZER_CONFIG) if (folder / TOKENIZER_CONFIG).exists() else {}
    kind = content.get("model", {}).get("type")
    if kind != "BPE":
        raise InputError(f"{folder / TOKENIZER}: a tokenizer of kind {kind!r} is not supported; only BPE is")
    tokenizer = _parse(content, folder)
    stop = tokenizer.token_to_id(STOP)
    if stop is None:
        raise InputError(f"{folder / TOKENIZER} has no token {STOP!r}, which would stop a sentence")
    special = [one["id"] for one in content.get("added_tokens", []) if one.get("special")]

    def find_special(role: str) -> int | None:
        name = names.get(f"{role}_token")
        name = name.get("content") if isinstance(name, dict) else name
        found = config.get(f"{role}_token_id") if name is None else tokenizer.token_to_id(str(name))
        return found[0] if isinstance(found, list) else found

    wanted = {role: find_special(role) for role in ("bos", "eos", "pad", "unk")}
    free = [one for one in [*wanted.values(), *special] if one is not None and one != stop]
    chosen: dict[str, int] = {}
    for role, wish in wanted.items():
        left = [one for one in (wish, *special, *free) if one in free and one not in chosen.values()]
        if not left:
            raise InputError(
                f"{folder / TOKENIZER} has {len({*free})} special tokens, where four are needed: to begin "
                "and to end a document, to pad, and for what is unknown; add some"
            )
        chosen[role] = left[0]
    vocabulary = max(config.get("vocab_size") or 0, tokenizer.get_vocab_size())
    return Pretrained(content, (chosen["pad"], chosen["bos"], chosen["eos"], stop, chosen["unk"]), vocabulary)


def build_pretrained(pretrained: Pretrained) -> tokenizers.Tokenizer:
    """The tokenizer under our ids, which reads every word and quote with the space before it."""
    inverse = np.argsort(pretrained.order).tolist()
    content = json.loads(json.dumps(pretrained.content))
    # A token that the library adds keeps its id only if the vocabulary has it, too.
    added = {one["content"]: one["id"] for one in content.get("added_tokens", [])}
    vocabulary = {token: inverse[i] for token, i in (content["model"]["vocab"] | added).items()}
    content["model"]["vocab"] = vocabulary
    for one in content.get("added_tokens", []):
        one["id"] = vocabulary[one["content"]]
    content.update(post_processor=None, truncation=None, padding=None)
    out = _parse(content)
    # Some put the first space there themselves.
    puts_space = out.encode("a", add_special_tokens=False).tokens[0] != "a"
    own = out.normalizer
    spaces = [
        normalizers.Replace(Regex(' *" *'), ' " '),
        normalizers.Replace(Regex("^ +| +$"), ""),
        *([] if puts_space else [normalizers.Prepend(" ")]),
    ]
    out.normalizer = normalizers.Sequence([*spaces, *([own] if own else [])])
    specials = [out.id_to_token(i) for i in range(len(SPECIALS)) if i != STOP_ID]
    out.add_special_tokens([AddedToken(name, normalized=False) for name in specials])
    return out


def check_words(tokenizer: tokenizers.Tokenizer, names: Sequence[str]) -> None:
    """Refuse names whose tokens are not those of their words, one after another, or hold a stop.

    Raises:
        InputError: names it, and what to do.
    """
    words = sorted({word for name in names for word in name.split(" ")})
    encodings = tokenizer.encode_batch(words, add_special_tokens=False)
    ids = {word: one.ids for word, one in zip(words, encodings, strict=True)}
    for word in words:
        if not ids[word] or min(ids[word]) < len(SPECIALS):
            raise InputError(
                f"the word {word!r} has a token in it by which this tokenizer stops a sentence, begins or "
                "ends a document; rename what is called so"
            )
    joined = [" ".join(pair) for pair in zip(names, [*names[1:], names[0]], strict=True)]
    for text, one in zip(joined, tokenizer.encode_batch(joined, add_special_tokens=False), strict=True):
        if one.ids != [token for word in text.split(" ") for token in ids[word]]:
            raise InputError(
                f"this tokenizer merges letters of different words, as in {text!r}: names would have no "
                "tokens of their own; take a model whose tokenizer splits words"
            )


def _parse(content: dict[str, Any], folder: Path | None = None) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # The library raises nothing more exact.
        raise InputError(
            f"{folder and folder / TOKENIZER} is not readable as a tokenizer ({error})"
        ) from None
