"""Documents as flat token files: written once, memory-mapped (DESIGN 3).

A document is "<s> sentence . sentence . ... sentence </s>". `tokens.bin` holds all documents end to
end, `offsets.npy` where each begins, `counts.json` how many there are and in which integer type.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus.files import read_json, write_json
from corpus.language import Kind
from corpus.sentences import Sentences
from corpus.tokenizer import BOS, EOS, SEP, Tokenizer, Word

DOCUMENTS_PER_CHUNK = 20_000


class TokenFile(NamedTuple):
    """Tokens of all documents (uint16 or uint32, memory-mapped) and int64[documents + 1] offsets."""

    tokens: np.ndarray
    offsets: np.ndarray


def sentence_rows(sentences: Sentences, tokenizer: Tokenizer) -> np.ndarray:
    """int32[n, 12]: the token rows of each sentence in order, -1 where a kind has fewer.

    The columns are: quote, not, s, r, o, connective, s2, r2, o2, quote, is, label. A kind that lacks
    one leaves -1, so that no kind needs a layout of its own.
    """
    kind, n = sentences.kind, len(sentences)
    quoted = kind != Kind.ATOMIC
    joined = (kind == Kind.AND) | (kind == Kind.OR)
    rows = np.full((n, 12), -1, np.int32)
    rows[quoted, 0] = rows[quoted, 9] = tokenizer.word_row(Word.QUOTE)
    rows[kind == Kind.NOT, 1] = tokenizer.word_row(Word.NOT)
    for atom, column, present in ((sentences.a, 2, slice(None)), (sentences.b, 6, joined)):
        rows[present, column] = atom[present, 0]
        rows[present, column + 1] = tokenizer.relation_row(atom[present, 1])
        rows[present, column + 2] = atom[present, 2]
    rows[kind == Kind.AND, 5] = tokenizer.word_row(Word.AND)
    rows[kind == Kind.OR, 5] = tokenizer.word_row(Word.OR)
    rows[quoted, 10] = tokenizer.word_row(Word.IS)
    label = np.where(sentences.label, tokenizer.word_row(Word.TRUE), tokenizer.word_row(Word.FALSE))
    rows[quoted, 11] = label[quoted]
    return rows


def write_documents(
    folder: Path,
    sentences: Sentences,
    order: np.ndarray,
    document_offsets: np.ndarray,
    tokenizer: Tokenizer,
) -> None:
    """Write the token files of a corpus into an existing folder.

    Args:
        order, document_offsets: what `corpus.sentences.cut_documents` returns.
    """
    rows = sentence_rows(sentences, tokenizer)
    # Three rows that are single special tokens, and an empty one for the absent columns.
    specials = np.array([BOS, SEP, EOS], np.int32)
    first = len(tokenizer.offsets) - 1
    starts = np.concatenate([tokenizer.offsets[:-1], len(tokenizer.tokens) + np.arange(3), [0]])
    lengths = np.concatenate([tokenizer.row_length, [1, 1, 1, 0]])
    table = np.concatenate([tokenizer.tokens, specials])
    bos, sep, eos, nothing = first, first + 1, first + 2, first + 3

    document_length = []
    with (folder / "tokens.bin").open("wb") as file:
        for low in range(0, len(document_offsets) - 1, DOCUMENTS_PER_CHUNK):
            bounds = document_offsets[low : low + DOCUMENTS_PER_CHUNK + 1]
            chunk = order[bounds[0] : bounds[-1]]
            cells = np.full((len(chunk), rows.shape[1] + 2), nothing, np.int64)
            cells[:, 1:-1] = np.where(rows[chunk] < 0, nothing, rows[chunk])
            cells[:, -1] = sep
            inner = bounds - bounds[0]
            cells[inner[:-1], 0] = bos
            cells[inner[1:] - 1, -1] = eos
            flat = cells.ravel()
            size = lengths[flat]
            ends = np.cumsum(size)
            within = np.arange(ends[-1]) - np.repeat(ends - size, size)
            tokens = table[np.repeat(starts[flat], size) + within]
            file.write(tokens.astype(tokenizer.dtype).tobytes())
            sentence_length = size.reshape(cells.shape).sum(axis=1)
            document_length.append(np.add.reduceat(sentence_length, inner[:-1]))
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(document_length))])
    np.save(folder / "offsets.npy", offsets, allow_pickle=False)
    write_json(
        folder / "counts.json",
        {
            "documents": len(offsets) - 1,
            "tokens": int(offsets[-1]),
            "dtype": np.dtype(tokenizer.dtype).name,
            "vocabulary": tokenizer.vocabulary,
            "longest_document": int(np.diff(offsets).max()),
        },
    )


def read_counts(folder: Path) -> dict:
    """Documents, tokens, vocabulary and longest document of a corpus folder."""
    return read_json(folder / "counts.json")


def open_documents(folder: Path) -> TokenFile:
    """Memory-map the token files of a corpus."""
    tokens = np.memmap(folder / "tokens.bin", dtype=read_counts(folder)["dtype"], mode="r")
    return TokenFile(tokens, np.load(folder / "offsets.npy", allow_pickle=False))
