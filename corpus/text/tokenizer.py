"""Sentences as token ids: one token per name, or a BPE that never merges across words (design.md 3).

The BPE is trained on the corpus, or is that of a pretrained model (`corpus.text.pretrained`).

Either way each name and each word of the grammar has one fixed row of tokens, and a sentence's tokens
are the concatenation of its rows: `encode(render(x)) == row-wise tokens of x`. That is what lets whole
corpora be written by gathering rows.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers, processors, trainers
from tokenizers.normalizers import Replace

from corpus.errors import InputError
from corpus.graph import KnowledgeGraph
from corpus.text.language import SPECIALS, SUPPOSING, VERDICTS, WORD_START, Atom, Kind, Language, Sentence
from corpus.text.names import check_readable
from corpus.text.pretrained import Pretrained, build_pretrained, check_words

PAD, BOS, EOS, SEP, UNK = range(len(SPECIALS))
WORDS_READ = 2_000_000
SPECIAL_IDS = {"bos": BOS, "eos": EOS, "pad": PAD, "unk": UNK}


class Word(IntEnum):
    """Words of the grammar that have a row of their own, besides entities and relations."""

    QUOTE = 0
    NOT = 1
    AND = 2
    OR = 3
    IS = 4
    TRUE = 5
    FALSE = 6
    IMAGINE = 7
    REVISE = 8
    ABOUT = 9


def words_of(kind: Kind, label: bool | int) -> list[Word]:
    """The words of the grammar in a sentence of one kind, in their order."""
    if kind == Kind.ATOMIC:
        return []
    if kind in (*SUPPOSING, Kind.ABOUT):
        return [Word[kind.name]]
    inner = [] if kind == Kind.TRUTH else [Word[kind.name]]
    return [Word.QUOTE, *inner, Word.QUOTE, Word.IS, Word.TRUE if label else Word.FALSE]


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """The rows of one world's names and words, and exact encoding and decoding.

    Attributes:
        language: the names, to parse text (entity kind only).
        pieces: text of every token id; WORD_START marks where a space stands.
        offsets, tokens: rows in compressed form, entities first, then relations, then their other
            phrasings, then `Word`s.
        bpe: the trained byte-pair encoder, or None where every name is one token.
        pretrained: the tokenizer that the encoder was made of, where it is a pretrained model's.
    """

    language: Language
    pieces: tuple[str, ...]
    offsets: np.ndarray
    tokens: np.ndarray
    bpe: tokenizers.Tokenizer | None
    pretrained: Pretrained | None = None

    @property
    def vocabulary(self) -> int:
        """Number of token ids."""
        return len(self.pieces)

    @property
    def dtype(self) -> type[np.unsignedinteger]:
        """Smallest unsigned integer that holds every token id: uint16 or uint32."""
        return np.uint16 if self.vocabulary <= 2**16 else np.uint32

    @cached_property
    def row_length(self) -> np.ndarray:
        """Tokens of each row."""
        return np.diff(self.offsets)

    def row(self, index: int) -> np.ndarray:
        """Token ids of one row."""
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]

    def entity(self, entity: int) -> np.ndarray:
        """Token ids of an entity's name."""
        return self.row(entity)

    def relation_row(self, relation: np.ndarray | int) -> np.ndarray | int:
        """Row index of a relation."""
        return len(self.language.entities) + relation

    def phrasing_row(self, relation: int, phrasing: int) -> int:
        """Row index of a relation as it is said in a phrasing (see `corpus.text.language.Sentence`)."""
        way = len(self.language.relations) + phrasing - 1 if phrasing else relation
        return len(self.language.entities) + way

    def word_row(self, word: Word) -> int:
        """Row index of a word of the grammar."""
        return len(self.language.entities) + len(self.language.ways) + word

    def word(self, word: Word) -> int:
        """The single token id of a word of the grammar, UNK of one that the world's language lacks."""
        return int(self.row(self.word_row(word))[0]) if word < len(self.language.words) else UNK

    def prompt(self, first: int, relation: int, phrasing: int = 0) -> np.ndarray:
        """Tokens of "<s> {subject} {relation}", what a model continues with an object.

        In an inverse phrasing: of "<s> {object} {words}", what a model continues with a subject. Behind a
        hedge: of "<s> {hedge} {subject} {relation}".
        """
        words = self.row(self.phrasing_row(relation, phrasing))
        if phrasing and self.language.phrasings[phrasing - 1].is_hedge:
            return np.concatenate([[BOS], words, self.prompt(first, relation)[1:]]).astype(np.int32)
        return np.concatenate([[BOS], self.entity(first), words]).astype(np.int32)

    def sentence(self, sentence: Sentence) -> np.ndarray:
        """Tokens of a sentence, row by row."""

        def atom_rows(a: Atom, phrasing: int = 0) -> list[int]:
            row = self.phrasing_row(a.relation, phrasing)
            if phrasing and self.language.phrasings[phrasing - 1].is_hedge:
                return [row, *atom_rows(a)]
            inverse = phrasing > 0 and self.language.phrasings[phrasing - 1].inverse
            return [a.object, row, a.subject] if inverse else [a.subject, row, a.object]

        rows = atom_rows(sentence.a, sentence.phrasing)
        if sentence.kind == Kind.ABOUT:
            rows = [self.word_row(Word.ABOUT), *rows[:2]]
        elif sentence.kind in (Kind.NOT, *SUPPOSING):
            rows = [self.word_row(Word[sentence.kind.name]), *rows]
        if sentence.b is not None:
            rows += [self.word_row(Word[sentence.kind.name]), *atom_rows(sentence.b)]
        if sentence.label is not None:
            quote = self.word_row(Word.QUOTE)
            label = self.word_row(Word.TRUE if sentence.label else Word.FALSE)
            rows = [quote, *rows, quote, self.word_row(Word.IS), label]
        return np.concatenate([self.row(r) for r in rows]).astype(np.int32)

    def encode(self, text: str) -> np.ndarray:
        """Tokens of a sentence given as text."""
        if self.bpe is None:
            return self.sentence(self.language.parse(text))
        return np.array(self.bpe.encode(text, add_special_tokens=False).ids, np.int32)

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of token ids; exact on every sentence, and on documents with their separators."""
        if self.bpe is not None and self.pretrained:
            return self.bpe.decode([int(t) for t in tokens])
        text = "".join(self.pieces[t] for t in tokens).replace(WORD_START, " ")
        return re.sub(r'" (.*?) "', r'"\1"', text).strip()


def entity_tokenizer(graph: KnowledgeGraph) -> Tokenizer:
    """One token for each entity, each relation and each word."""
    language = language_of(graph)
    names = _list_rows(language)
    return Tokenizer(
        language=language,
        pieces=_special_pieces() + tuple(WORD_START + name for name in names),
        offsets=np.arange(len(names) + 1),
        tokens=np.arange(len(names), dtype=np.int32) + len(SPECIALS),
        bpe=None,
    )


def train_bpe(graph: KnowledgeGraph, mentions: np.ndarray, vocabulary: int) -> Tokenizer:
    """A BPE of at most `vocabulary` entries trained on a corpus; its merges stay inside words.

    Training needs no more of a corpus than how often each word occurs, so words are counted by name
    rather than read. Counts are scaled down, never below one, to WORDS_READ in all; the grammar's words
    count as the commonest of all, so that each is one token.

    Args:
        mentions: int[entities + relations + phrasings], how often the corpus names each.

    Raises:
        InputError: the vocabulary is too small to hold the grammar's words as single tokens.
    """
    bpe = tokenizers.Tokenizer(models.BPE(unk_token=SPECIALS[UNK]))
    # Splitting at quotes and spaces is enough: an entity ends where a word ends.
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split('"', "isolated"),
            pre_tokenizers.Metaspace(replacement=WORD_START, prepend_scheme="always"),
        ]
    )
    count: Counter[str] = Counter()
    language = language_of(graph)
    names = _list_rows(language)[: -len(language.words)]
    for name, times in zip(names, mentions.tolist(), strict=True):
        for word in name.split(" "):
            count[word] += times
    count.update(dict.fromkeys(language.words, max(count.values())))
    scale = min(1.0, WORDS_READ / count.total())
    text = (" ".join([word] * max(1, round(times * scale))) for word, times in count.items())
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=list(SPECIALS), show_progress=False, min_frequency=1
    )
    bpe.train_from_iterator(text, trainer)
    return bpe_tokenizer(graph, bpe)


def pretrained_tokenizer(graph: KnowledgeGraph, pretrained: Pretrained) -> Tokenizer:
    """The rows of a world's names under the tokenizer of a pretrained model.

    Raises:
        InputError: a name's tokens are not those of its words, or a word of the grammar is no single token.
    """
    bpe = build_pretrained(pretrained)
    text = [bpe.decoder] if bpe.decoder else []
    bpe.decoder = decoders.Sequence([*text, decoders.Replace(" ", WORD_START), _build_decoder("[.<]")])
    check_words(bpe, _list_rows(language_of(graph)))
    return bpe_tokenizer(graph, bpe, pretrained)


def bpe_tokenizer(
    graph: KnowledgeGraph, bpe: tokenizers.Tokenizer, pretrained: Pretrained | None = None
) -> Tokenizer:
    """The rows of a world's names under a trained BPE."""
    language = language_of(graph)
    names = _list_rows(language)
    for name in names:
        for special in SPECIALS:
            if special in name:
                raise InputError(f"the name {name!r} contains the special token {special!r}; rename it")
    rows = [encoding.ids for encoding in bpe.encode_batch(list(names), add_special_tokens=False)]
    for word, row in zip(language.words, rows[-len(language.words) :], strict=True):
        if len(row) != 1:
            todo = "take another model" if pretrained else "raise --tokenizer.vocabulary so that it is one"
            raise InputError(f"the word {word!r} takes {len(row)} tokens; {todo}")
    lengths = [len(row) for row in rows]
    by_id = [""] * (pretrained.vocabulary if pretrained else bpe.get_vocab_size())
    for token, i in bpe.get_vocab().items():
        by_id[i] = token
    return Tokenizer(
        language=language,
        pieces=_special_pieces() + tuple(by_id[len(SPECIALS) :]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        tokens=np.array([t for row in rows for t in row], np.int32),
        bpe=bpe,
        pretrained=pretrained,
    )


def save_tokenizer(tokenizer: Tokenizer, path: Path) -> None:
    """Write the kind and, for a BPE, its vocabulary and merges as JSON."""
    saved: dict[str, Any] = {"kind": "entity", "bpe": None}
    if tokenizer.pretrained:
        saved = {"kind": "pretrained", **tokenizer.pretrained._asdict()}
    elif tokenizer.bpe is not None:
        saved = {"kind": "bpe", "bpe": json.loads(tokenizer.bpe.to_str())}
    path.write_text(json.dumps(saved, ensure_ascii=False), encoding="utf-8")


def load_tokenizer(path: Path, graph: KnowledgeGraph) -> Tokenizer:
    """Read what `save_tokenizer` wrote."""
    saved = json.loads(path.read_text(encoding="utf-8"))
    if saved["kind"] == "entity":
        return entity_tokenizer(graph)
    if saved["kind"] == "pretrained":
        whole = Pretrained(saved["content"], tuple(saved["specials"]), saved["vocabulary"])
        return pretrained_tokenizer(graph, whole)
    return bpe_tokenizer(graph, tokenizers.Tokenizer.from_str(json.dumps(saved["bpe"])))


def _list_rows(language: Language) -> list[str]:
    """What every row of a tokenizer says."""
    return [*language.entities, *(way.words for way in language.ways), *language.words]


def language_of(graph: KnowledgeGraph) -> Language:
    """The language of a world."""
    return Language(graph.entities, graph.relations, graph.phrasings, graph.outlines)


def _special_pieces() -> tuple[str, ...]:
    return ("", "", "", ".", "\ufffd")


def tokenizer_files(tokenizer: Tokenizer) -> dict[str, dict]:
    """The files that `AutoTokenizer.from_pretrained` reads: JSON objects by file name.

    What round-trips, with `add_special_tokens=False` (by default `<s>` comes first):

    - every sentence and every prompt of the world: the ids that `Tokenizer.sentence` and `prompt` give, and
      the text again when they are decoded;
    - every document, written as its sentences with ". " between them: the ids between its `<s>` and `</s>`,
      and the text again when they are decoded with `skip_special_tokens=True`. A stop that ends a word is the
      end of a sentence, unless a name is spelt with it ("St. Louis"). Where names differ in nothing but that
      stop, the end of a sentence cannot be told from them; `find_unsure_stops` lists these names.

    A BPE splits words and needs no names. With one token per name, text is read from left to right, each time
    the longest name that fits; `corpus.text.names` sees to it that this is right.

    Raises:
        InputError: a name that the files could not tell from other text.
    """
    check_readable(tokenizer.language.entities, [way.words for way in tokenizer.language.ways])
    names = {name: SPECIALS[i] for name, i in SPECIAL_IDS.items()}
    if tokenizer.bpe is None:
        out = _tokenize_names(tokenizer.pieces)
    elif tokenizer.pretrained:
        out = tokenizers.Tokenizer.from_str(tokenizer.bpe.to_str())
        names = {name: str(out.id_to_token(i)) for name, i in SPECIAL_IDS.items()}
    else:
        out = _tokenize_words(tokenizer.bpe, tokenizer.language)
    out.add_special_tokens([AddedToken(name, normalized=False) for name in names.values()])
    start = names["bos"]
    out.post_processor = processors.TemplateProcessing(
        single=f"{start} $A", pair=f"{start} $A {start}:1 $B:1", special_tokens=[(start, BOS)]
    )
    if not tokenizer.pretrained:
        out.decoder = _build_decoder("<" if tokenizer.bpe else "[.<]")
    special = {f"{role}_token": name for role, name in names.items()}
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


def find_unsure_stops(tokenizer: Tokenizer) -> list[str]:
    """Names, or words of a BPE, that differ from the end of a sentence in nothing but a stop, sorted."""
    language = tokenizer.language
    if tokenizer.bpe is not None:
        lasts = {name.split(" ")[-1] for name in language.entities}.union(VERDICTS)
        return sorted(word + "." for word in lasts.intersection(_find_stopped_words(language)))
    ends = {*language.entities, *VERDICTS, *(f"is {verdict}" for verdict in VERDICTS)}
    return sorted(
        name
        for name in (*language.entities, *(way.words for way in language.ways))
        if any(name[: stop.start()] in ends for stop in re.finditer(r"\.(?= |$)", name))
    )


def _tokenize_names(pieces: tuple[str, ...]) -> tokenizers.Tokenizer:
    names = [piece.replace(" ", WORD_START) for piece in pieces[len(SPECIALS) :]]
    specials = list(SPECIALS)
    # In the text of a document the separator is a plain stop.
    specials[SEP] = pieces[SEP]
    model = models.WordLevel({token: i for i, token in enumerate((*specials, *names))}, SPECIALS[UNK])
    out = tokenizers.Tokenizer(model)
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    token = rf"(?:{longest_first})(?=\.?(?:{WORD_START}|$))|\.(?={WORD_START}|$)"
    out.pre_tokenizer = _mark_words(pre_tokenizers.Split(Regex(token), "isolated"))
    return out


def _tokenize_words(bpe: tokenizers.Tokenizer, language: Language) -> tokenizers.Tokenizer:
    out = tokenizers.Tokenizer(bpe.model)
    stopped = _find_stopped_words(language)
    # A word that is nothing but a stop leaves an empty alternative.
    spelt_so = rf'(?<!(?:^|[ "])(?:{"|".join(map(re.escape, sorted(stopped)))}))' if stopped else ""
    out.normalizer = Replace(Regex(rf"{spelt_so}\.(?= |$)"), SPECIALS[SEP])
    out.add_tokens([AddedToken(SPECIALS[SEP], normalized=True)])
    out.pre_tokenizer = _mark_words()
    return out


def _mark_words(*behind: pre_tokenizers.PreTokenizer) -> pre_tokenizers.PreTokenizer:
    """Quotes apart, and WORD_START before every word; with steps behind, those decide where to split."""
    metaspace = pre_tokenizers.Metaspace(WORD_START, prepend_scheme="always", split=not behind)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(' ?"'), "isolated"), metaspace, *behind])


def _build_decoder(behind: str) -> decoders.Decoder:
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


def _find_stopped_words(language: Language) -> set[str]:
    """Words of names that are spelt with a stop behind them, without it."""
    words = {
        word
        for name in (*language.entities, *(way.words for way in language.ways))
        for word in name.split(" ")
    }
    return {word[:-1] for word in words if word.endswith(".")}
