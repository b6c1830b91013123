"""Documents as flat token files: written once, memory-mapped (design.md 3).

A document is "<s> sentence . sentence . ... sentence </s>". `tokens.bin` holds all documents end to
end, `offsets.npy` where each begins, `counts.json` how many there are and in which integer type.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus import kernels
from corpus.compiled import choose_kernels, map_in_order, run_blocks
from corpus.errors import InputError
from corpus.files import advise_remake, read_json, write_json
from corpus.text.documents import Documents
from corpus.text.language import Kind
from corpus.text.sentences import Sentences
from corpus.text.tokenizer import BOS, EOS, SEP, Tokenizer, Word, words_of

SENTENCES_PER_BLOCK = 65_536
DOCUMENTS_PER_BLOCK = 16_384


class TokenFile(NamedTuple):
    """Tokens of all documents (uint16 or uint32, memory-mapped) and int64[documents + 1] offsets."""

    tokens: np.ndarray
    offsets: np.ndarray


class SpelledSentences(NamedTuple):
    """Tokens of all sentences end to end; those of sentence i are tokens[place[i] : place[i + 1]]."""

    tokens: np.ndarray
    place: np.ndarray


def spell_sentences(sentences: Sentences, tokenizer: Tokenizer, threads: int = 1) -> SpelledSentences:
    """The tokens of every sentence."""
    spell = choose_kernels(kernels.spell_sentences, len(sentences))
    words = np.array([tokenizer.word_row(word) for word in Word])
    relations, phrasings = tokenizer.phrasing_row(0, 0), tokenizer.phrasing_row(0, 1)
    ways = tokenizer.language.phrasings
    inverse, hedges = (np.array(x, bool) for x in ([w.inverse for w in ways], [w.is_hedge for w in ways]))
    row_tokens = tokenizer.tokens.astype(tokenizer.dtype)
    length = sentence_lengths(sentences, tokenizer)
    place = np.concatenate([[0], np.cumsum(length)])
    tokens = np.empty(place[-1], tokenizer.dtype)

    def spell_block(low: int, high: int) -> None:
        part = slice(low, high)
        spell(
            sentences.kind[part], sentences.label[part], sentences.a[part], sentences.b[part],
            sentences.phrasing[part], words, relations, phrasings, inverse, hedges,
            tokenizer.offsets, row_tokens, tokens[place[low] : place[high]],
        )  # fmt: skip

    run_blocks(spell_block, len(sentences), SENTENCES_PER_BLOCK, threads)
    return SpelledSentences(tokens, place)


def sentence_lengths(sentences: Sentences, tokenizer: Tokenizer) -> np.ndarray:
    """int64[n]: tokens of each sentence."""
    # Words that the language lacks have no row, and no tokens.
    size = np.append(tokenizer.row_length, 0)
    # Of the words around the atoms, by kind and label.
    words = np.array(
        [[sum(size[tokenizer.word_row(w)] for w in words_of(k, lab)) for lab in (0, 1)] for k in Kind]
    )
    length = words[sentences.kind, sentences.label.astype(np.int8)]
    joined = np.flatnonzero(sentences.b[:, 0] >= 0)
    for rows, atom in ((slice(None), sentences.a), (joined, sentences.b[joined])):
        length[rows] += size[atom[:, 0]] + size[tokenizer.relation_row(atom[:, 1])] + size[atom[:, 2]]
    outlines = np.flatnonzero(sentences.kind == Kind.ABOUT)
    length[outlines] -= size[sentences.a[outlines, 2]]
    other = np.flatnonzero(sentences.phrasing)
    # Rows of large worlds go beyond the small integers that phrasings are kept as.
    phrasing_row = tokenizer.phrasing_row(0, 1) + sentences.phrasing[other].astype(np.int64) - 1
    is_hedge = np.array([way.is_hedge for way in tokenizer.language.phrasings], bool)
    kept = is_hedge[sentences.phrasing[other].astype(np.int64) - 1]
    length[other] += size[phrasing_row] - ~kept * size[tokenizer.relation_row(sentences.a[other, 1])]
    return length


def write_documents(
    folder: Path,
    sentences: Sentences,
    documents: Documents,
    tokenizer: Tokenizer,
    threads: int = 1,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Write the token files of a corpus into an existing folder.

    Args:
        advance: told the number of documents after each piece that is written.
    """
    spelled = spell_sentences(sentences, tokenizer, threads)
    length = document_lengths(documents, spelled, threads)
    offsets = np.concatenate([[0], np.cumsum(length)])
    with (folder / "tokens.bin").open("wb") as file:
        for count, tokens in join_documents(documents, spelled, offsets, threads):
            file.write(tokens.data)
            advance(count)
    np.save(folder / "offsets.npy", offsets, allow_pickle=False)
    write_json(
        folder / "counts.json",
        {
            "documents": len(documents),
            "tokens": int(offsets[-1]),
            "dtype": np.dtype(tokenizer.dtype).name,
            "vocabulary": tokenizer.vocabulary,
            "longest_document": int(length.max()),
        },
    )


def join_documents(
    documents: Documents, spelled: SpelledSentences, offsets: np.ndarray, threads: int = 1
) -> Iterator[tuple[int, np.ndarray]]:
    """Blocks of consecutive documents: how many there are, and their tokens.

    Args:
        offsets: int64[documents + 1], where each document begins among all tokens.
    """
    join = choose_kernels(kernels.join_documents, len(documents.order))

    def join_block(low: int) -> tuple[int, np.ndarray]:
        high = min(low + DOCUMENTS_PER_BLOCK, len(documents))
        out = np.empty(offsets[high] - offsets[low], spelled.tokens.dtype)
        join(low, high, documents.offsets, documents.order, spelled.place, spelled.tokens, BOS, SEP, EOS, out)
        return high - low, out

    return map_in_order(join_block, range(0, len(documents), DOCUMENTS_PER_BLOCK), threads)


def document_lengths(documents: Documents, spelled: SpelledSentences, threads: int = 1) -> np.ndarray:
    """int64[documents]: tokens of each document."""
    measure = choose_kernels(kernels.measure_documents, len(documents.order))
    length = np.empty(len(documents), np.int64)

    def measure_block(low: int, high: int) -> None:
        measure(low, high, documents.offsets, documents.order, spelled.place, length)

    run_blocks(measure_block, len(documents), DOCUMENTS_PER_BLOCK, threads)
    return length


def read_counts(folder: Path) -> dict:
    """Documents, tokens, vocabulary and longest document of a corpus folder."""
    return read_json(folder / "counts.json")


def open_documents(folder: Path) -> TokenFile:
    """Memory-map the token files of a corpus.

    Raises:
        InputError: they do not fit together.
    """
    counts, path = read_counts(folder), folder / "tokens.bin"
    try:
        tokens = np.memmap(path, dtype=np.dtype(counts["dtype"]), mode="r")
        offsets = np.load(folder / "offsets.npy", allow_pickle=False)
        fits = (
            tokens.dtype.kind == "u"
            and len(tokens) == counts["tokens"] == offsets[-1]
            and len(offsets) == counts["documents"] + 1
            and offsets[0] == 0
            and bool((np.diff(offsets) > 0).all())
            and int(tokens.max()) < counts["vocabulary"]
        )
    except (ValueError, TypeError, KeyError, IndexError, MemoryError, EOFError) as error:
        raise InputError(f"{folder} holds no documents ({error!s:.200}); {advise_remake(folder)}") from None
    if not fits:
        raise InputError(f"{path} is not what counts.json and offsets.npy say; {advise_remake(folder)}")
    return TokenFile(tokens, offsets)
