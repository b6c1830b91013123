"""A world's tokenizer as the files that Hugging Face's libraries open.

What round-trips, with `add_special_tokens=False` (by default `<s>` comes first):

- every sentence and every prompt of the world: the ids that `Tokenizer.sentence` and `prompt` give, and the
  text again when they are decoded;
- every document, written as its sentences with ". " between them: the ids between its `<s>` and `</s>`, and
  the text again when they are decoded with `skip_special_tokens=True`. A stop that ends a word is the end of
  a sentence, unless a name is spelt with it ("St. Louis"). Where names differ in nothing but that stop, the
  end of a sentence cannot be told from them; `unsure_stops` lists these names.

A BPE splits words and needs no names. With one token per name, text is read from left to right, each time
the longest name that fits; a world in which that misreads a sentence is refused.
"""

import json
import re
from collections.abc import Iterable

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers, processors
from tokenizers.normalizers import Replace

from corpus.errors import InputError
from corpus.language import CONNECTIVES, Language
from corpus.tokenizer import BOS, EOS, PAD, SEP, SPECIALS, UNK, WORD_START, WORDS, Tokenizer

VERDICTS = ("true", "false")
SPECIAL_IDS = {"bos": BOS, "eos": EOS, "pad": PAD, "unk": UNK}


def tokenizer_files(tokenizer: Tokenizer) -> dict[str, dict]:
    """The files that `AutoTokenizer.from_pretrained` reads: JSON objects by file name.

    Raises:
        InputError: a name that the files could not tell from other text.
    """
    _check_names(tokenizer.language)
    if tokenizer.bpe is None:
        _check_longest_first(tokenizer.language)
        out = _of_names(tokenizer.pieces)
    else:
        out = _of_words(tokenizer.bpe, tokenizer.language)
    out.add_special_tokens([AddedToken(SPECIALS[i], normalized=False) for i in SPECIAL_IDS.values()])
    start = SPECIALS[BOS]
    out.post_processor = processors.TemplateProcessing(
        single=f"{start} $A", pair=f"{start} $A {start}:1 $B:1", special_tokens=[(start, BOS)]
    )
    out.decoder = _decoder("<" if tokenizer.bpe else "[.<]")
    special = {f"{name}_token": SPECIALS[i] for name, i in SPECIAL_IDS.items()}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
    }
    return {
        "tokenizer.json": json.loads(out.to_str()),
        "tokenizer_config.json": config | special,
        "special_tokens_map.json": special,
    }


def unsure_stops(tokenizer: Tokenizer) -> list[str]:
    """Names, or words of a BPE, that differ from the end of a sentence in nothing but a stop, sorted."""
    language = tokenizer.language
    if tokenizer.bpe is not None:
        lasts = {name.split(" ")[-1] for name in language.entities}.union(VERDICTS)
        return sorted(word + "." for word in lasts.intersection(_stopped(language)))
    ends = {*language.entities, *VERDICTS}
    return sorted(
        name
        for name in (*language.entities, *language.relations)
        if any(name[: stop.start()] in ends for stop in re.finditer(r"\.(?= |$)", name))
    )


def _of_names(pieces: tuple[str, ...]) -> tokenizers.Tokenizer:
    names = [piece.replace(" ", WORD_START) for piece in pieces[len(SPECIALS) :]]
    specials = list(SPECIALS)
    # In the text of a document the separator is a plain stop.
    specials[SEP] = pieces[SEP]
    model = models.WordLevel({token: i for i, token in enumerate((*specials, *names))}, SPECIALS[UNK])
    out = tokenizers.Tokenizer(model)
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    token = rf"(?:{longest_first})(?=\.?(?:{WORD_START}|$))|\.(?={WORD_START}|$)"
    out.pre_tokenizer = _spaced(pre_tokenizers.Split(Regex(token), "isolated"))
    return out


def _of_words(bpe: tokenizers.Tokenizer, language: Language) -> tokenizers.Tokenizer:
    out = tokenizers.Tokenizer(bpe.model)
    words = "|".join(map(re.escape, sorted(_stopped(language))))
    spelt_so = rf'(?<!(?:^|[ "])(?:{words}))' if words else ""
    out.normalizer = Replace(Regex(rf"{spelt_so}\.(?= |$)"), SPECIALS[SEP])
    out.add_tokens([AddedToken(SPECIALS[SEP], normalized=True)])
    out.pre_tokenizer = _spaced()
    return out


def _spaced(*behind: pre_tokenizers.PreTokenizer) -> pre_tokenizers.PreTokenizer:
    """Quotes apart, and WORD_START before every word; with steps behind, those decide where to split."""
    metaspace = pre_tokenizers.Metaspace(WORD_START, prepend_scheme="always", split=not behind)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(' ?"'), "isolated"), metaspace, *behind])


def _decoder(behind: str) -> decoders.Decoder:
    """From pieces to text; what stands behind a sentence begins with `behind`."""
    quote = f'{WORD_START}"{WORD_START}'
    verdict = f"is{WORD_START}(?:{'|'.join(VERDICTS)})(?:{behind}|$)"
    return decoders.Sequence(
        [
            decoders.Fuse(),
            # A quote that closes is followed by its verdict; every other one opens.
            decoders.Replace(Regex(f"{quote}(?={verdict})"), f'"{WORD_START}'),
            decoders.Replace(quote, f'{WORD_START}"'),
            decoders.Replace(SPECIALS[SEP], "."),
            decoders.Replace(WORD_START, " "),
            decoders.Strip(" ", 1, 0),
        ]
    )


def _stopped(language: Language) -> set[str]:
    """Words of names that are spelt with a stop behind them, without it."""
    words = {word for name in (*language.entities, *language.relations) for word in name.split(" ")}
    return {word[:-1] for word in words if word.endswith(".")}


def _check_names(language: Language) -> None:
    for name in (*language.entities, *language.relations):
        for reserved in (*SPECIALS, WORD_START, '"'):
            if reserved in name:
                raise InputError(
                    f"the name {name!r} contains {reserved!r}, which stands for itself; rename it"
                )


def _check_longest_first(language: Language) -> None:
    """Refuse names that could be taken for a shorter one and the words behind it.

    Reading goes wrong only where one name is another with words behind it, and those words meet what the
    grammar allows behind the shorter one. Like `check_unambiguous`, the test may refuse too much.
    """
    entities = {_plain(name) for name in language.entities}
    relations = {_plain(name) for name in language.relations}
    behind = {**dict.fromkeys(entities, relations), **dict.fromkeys(relations, entities), "is": {*VERDICTS}}
    taken = set(WORDS)
    for name in (*language.entities, *language.relations):
        if name in taken:
            raise InputError(f"{name!r} would be two tokens with one spelling; rename one, or use a BPE")
        taken.add(name)
        plain = _plain(name)
        for at in (i for i, c in enumerate(plain) if c == " "):
            short, rest = plain[:at], plain[at + 1 :]
            connective, _, statement = rest.partition(" ")
            if (short in behind and _meets(rest, behind[short])) or (
                short in entities and connective in CONNECTIVES and _meets(statement, entities)
            ):
                raise InputError(
                    f"{name!r} can be misread as {short!r} and what follows it; rename one, or use a BPE "
                    "(--tokenizer.kind bpe)"
                )


def _plain(name: str) -> str:
    """A name without the stops that end its words."""
    return re.sub(r"\.+(?= |$)", "", name)


def _meets(words: str, names: Iterable[str]) -> bool:
    """Whether the words begin one of the names, or one of the names begins them."""
    return any(f"{name} ".startswith(f"{words} ") or f"{words} ".startswith(f"{name} ") for name in names)
