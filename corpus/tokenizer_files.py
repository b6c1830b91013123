"""A world's tokenizer as the files that Hugging Face's libraries open.

What round-trips, with `add_special_tokens=False` (by default `<s>` comes first):

- every sentence and every prompt of the world: the ids that `Tokenizer.sentence` and `prompt` give, and the
  text again when they are decoded;
- every document, written as its sentences with ". " between them: the ids between its `<s>` and `</s>`, and
  the text again when they are decoded with `skip_special_tokens=True`. A stop that ends a word is the end of
  a sentence, unless a name is spelt with it ("St. Louis"). Where names differ in nothing but that stop, the
  end of a sentence cannot be told from them; `unsure_stops` lists these names.

A BPE splits words and needs no names. With one token per name, text is read from left to right, each time
the longest name that fits; `corpus.names` sees to it that this is right.
"""

import json
import re

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers, processors
from tokenizers.normalizers import Replace

from corpus.language import SPECIALS, VERDICTS, WORD_START, Language
from corpus.names import check_readable
from corpus.tokenizer import BOS, EOS, PAD, SEP, UNK, Tokenizer

SPECIAL_IDS = {"bos": BOS, "eos": EOS, "pad": PAD, "unk": UNK}


def tokenizer_files(tokenizer: Tokenizer) -> dict[str, dict]:
    """The files that `AutoTokenizer.from_pretrained` reads: JSON objects by file name.

    Raises:
        InputError: a name that the files could not tell from other text.
    """
    check_readable(tokenizer.language.entities, [way.words for way in tokenizer.language.ways])
    if tokenizer.bpe is None:
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
    ends = {*language.entities, *VERDICTS, *(f"is {verdict}" for verdict in VERDICTS)}
    return sorted(
        name
        for name in (*language.entities, *(way.words for way in language.ways))
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
    stopped = _stopped(language)
    # A word that is nothing but a stop leaves an empty alternative.
    spelt_so = rf'(?<!(?:^|[ "])(?:{"|".join(map(re.escape, sorted(stopped)))}))' if stopped else ""
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
            # The first quote of all opens, even before a name such as "is true.".
            decoders.Replace(Regex(rf"\A{quote}"), f'{WORD_START}"'),
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
    words = {
        word
        for name in (*language.entities, *(way.words for way in language.ways))
        for word in name.split(" ")
    }
    return {word[:-1] for word in words if word.endswith(".")}
