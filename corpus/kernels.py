"""The loops over every fact, sentence and token of a corpus; see `corpus.compiled` for how they run.

Each takes preallocated arrays only and works on the range [low, high) of its items, so that ranges can
run side by side. Each has its obvious twin in tests/naive.py. A uniform index below n is
`int(random() * n)`; its bias is below n / 2**53.
"""

import numpy as np

ATOMIC_PER_FACT = 10
LEAST_TRUE_SAMPLES = 6
SENTENCES_PER_FACT = 24
# Rows of a fact's published sentences: 10 atomic, 10 truth, then these four.
FIRST_NOT, SECOND_NOT, THE_AND, THE_OR = 20, 21, 22, 23
# The numbers of `corpus.text.language.Kind` and `corpus.text.tokenizer.Word`. They stand here because
# compiled code is kept for as long as this file does not change; a test holds them to the enums.
ATOMIC, TRUTH, NOT, AND, OR, IMAGINE, REVISE, ABOUT = range(8)
WORD_QUOTE, WORD_NOT, WORD_AND, WORD_OR, WORD_IS, WORD_TRUE, WORD_FALSE = range(7)
WORD_IMAGINE, WORD_REVISE, WORD_ABOUT = range(7, 10)


def draw_statements(
    rng, low, high,
    subject, relation, truth, share, start, stop, objects, cumulative, distractor, pool, place, earlier,
    in_proportion, label, a, b,
):  # fmt: skip
    """The 24 sentences of each fact f in [low, high) (design.md 3), at rows 24 f to 24 f + 23.

    Args:
        subject, relation, truth, share: of each fact; `share` is the probability of its truth.
        start, stop, objects, cumulative: the table of each fact as a range of entries.
        distractor: the false object of a root fact, -1 for others.
        pool, place: all objects, and where each fact's truth stands among them.
        earlier: facts of earlier subjects are [0, earlier[f]).
        in_proportion: truth sentences are about the truth, as many called true as statements are right; else
            each is about what a statement says, and called right with the probability `share`.
        label, a, b: columns to fill (see `corpus.text.sentences.Sentences`).
    """
    for f in range(low, high):
        first = f * SENTENCES_PER_FACT
        for row in range(first, first + SENTENCES_PER_FACT):
            a[row, 0], a[row, 1] = subject[f], relation[f]
        hits = 0
        while hits < LEAST_TRUE_SAMPLES:
            hits = 0
            for row in range(first, first + ATOMIC_PER_FACT):
                u = rng.random()
                entry, last = start[f], stop[f] - 1
                while entry < last:
                    middle = (entry + last) // 2
                    if cumulative[middle] > u:
                        last = middle
                    else:
                        entry = middle + 1
                a[row, 2] = objects[entry]
                hits += objects[entry] == truth[f]
        for row in range(first, first + ATOMIC_PER_FACT):
            if in_proportion:
                a[row + ATOMIC_PER_FACT, 2] = truth[f]
                label[row + ATOMIC_PER_FACT] = row - first < hits
                continue
            object_stated = a[row, 2]
            a[row + ATOMIC_PER_FACT, 2] = object_stated
            right = share[f] if object_stated == truth[f] else 1.0 - share[f]
            label[row + ATOMIC_PER_FACT] = rng.random() < right

        for row in range(first + FIRST_NOT, first + SENTENCES_PER_FACT):
            joins = row >= first + THE_AND
            holds = False
            other_holds = False
            for second in range(2 if joins else 1):
                # The statement: about this fact, or about one of an earlier subject.
                g = int(rng.random() * earlier[f]) if second else f
                true = rng.random() < 0.5 if joins else row == first + SECOND_NOT
                if true:
                    object_stated = truth[g]
                elif distractor[g] >= 0:
                    object_stated = distractor[g]
                else:
                    drawn = int(rng.random() * (len(pool) - 1))
                    object_stated = pool[drawn + (drawn >= place[g])]
                if second:
                    other_holds = true
                    b[row, 0], b[row, 1], b[row, 2] = subject[g], relation[g], object_stated
                else:
                    holds = true
                    a[row, 2] = object_stated
            if row == first + THE_AND:
                label[row] = holds and other_holds
            elif row == first + THE_OR:
                label[row] = holds or other_holds
            else:
                label[row] = not holds
            if joins and rng.random() < 0.5:
                for column in range(3):
                    a[row, column], b[row, column] = b[row, column], a[row, column]


def shuffle_sentences(rng, low, high, starts, times, bases, order):
    """Each group's items in so many random orders, one after another (Fisher and Yates).

    Args:
        starts: items of group g are [starts[g], starts[g + 1]).
        times: int64[groups], how many orders of each group.
        bases: int64[groups], from where on group g fills `order`.
        order: int32 to fill.
    """
    for g in range(low, high):
        first, size = starts[g], starts[g + 1] - starts[g]
        for k in range(times[g]):
            base = bases[g] + k * size
            for i in range(size):
                order[base + i] = first + i
            for i in range(size - 1, 0, -1):
                j = int(rng.random() * (i + 1))
                order[base + i], order[base + j] = order[base + j], order[base + i]


def spell_sentences(
    kind, label, a, b, phrasing, words, relations, phrasings, inverse, hedges, row_starts, row_tokens, out
):
    """The tokens of sentences, one after another from the start of `out`.

    Args:
        kind, label, a, b, phrasing: columns of `corpus.text.sentences.Sentences`.
        words: int64[words], the tokenizer's row of each `corpus.text.tokenizer.Word`.
        relations, phrasings: its rows of relation 0 and phrasing 0; entities stand at their own ids.
        inverse, hedges: bool[phrasings], which of them have the object first, and which stand before all.
        row_starts, row_tokens: tokens of row i are row_tokens[row_starts[i] : row_starts[i + 1]].
    """
    parts = np.empty(12, np.int64)
    at = 0
    for i in range(len(kind)):
        k = int(kind[i])
        quoted = TRUTH <= k <= OR
        n = 0
        if quoted:
            parts[n] = words[WORD_QUOTE]
            n += 1
        if k == NOT or k >= IMAGINE:
            # Words that open sentences stand in the order of their kinds.
            parts[n] = words[WORD_NOT] if k == NOT else words[WORD_IMAGINE + k - IMAGINE]
            n += 1
        if phrasing[i] > 0 and hedges[phrasing[i] - 1]:
            parts[n] = phrasings + int(phrasing[i]) - 1
            n += 1
        parts[n], parts[n + 1], parts[n + 2] = a[i, 0], relations + a[i, 1], a[i, 2]
        if phrasing[i] > 0 and not hedges[phrasing[i] - 1]:
            way = int(phrasing[i]) - 1
            parts[n + 1] = phrasings + way
            if inverse[way]:
                parts[n], parts[n + 2] = a[i, 2], a[i, 0]
        # An outline names no object.
        n += 2 if k == ABOUT else 3
        if b[i, 0] >= 0:
            parts[n] = words[WORD_AND] if k == AND else words[WORD_OR]
            parts[n + 1], parts[n + 2], parts[n + 3] = b[i, 0], relations + b[i, 1], b[i, 2]
            n += 4
        if quoted:
            parts[n], parts[n + 1] = words[WORD_QUOTE], words[WORD_IS]
            parts[n + 2] = words[WORD_TRUE] if label[i] else words[WORD_FALSE]
            n += 3
        for j in range(n):
            for t in range(row_starts[parts[j]], row_starts[parts[j] + 1]):
                out[at] = row_tokens[t]
                at += 1


def join_documents(low, high, offsets, order, place, spelled, bos, sep, eos, out):
    """The tokens of documents [low, high), one after another from the start of `out`.

    Args:
        offsets, order: the sentences of document d are order[offsets[d] : offsets[d + 1]].
        place, spelled: the tokens of each sentence, as `spell_sentences` writes them.
    """
    at = 0
    for d in range(low, high):
        out[at] = bos
        at += 1
        for i in range(offsets[d], offsets[d + 1]):
            for t in range(place[order[i]], place[order[i] + 1]):
                out[at] = spelled[t]
                at += 1
            out[at] = sep
            at += 1
        out[at - 1] = eos


def measure_documents(low, high, offsets, order, place, length):
    """Tokens of documents [low, high), with their beginning and separators."""
    for d in range(low, high):
        total = 1
        for i in range(offsets[d], offsets[d + 1]):
            total += place[order[i] + 1] - place[order[i]] + 1
        length[d] = total


def next_fit(lengths, row_length, starts):
    """Bounds of rows over consecutive documents: a new row begins where a document no longer fits.

    Args:
        starts: int64[documents + 1] to fill with the first document of each row and one last bound.

    Returns:
        How many bounds were written.
    """
    rows, room = 0, np.int64(0)
    for d in range(len(lengths)):
        if lengths[d] > room:
            starts[rows] = d
            rows += 1
            room = np.int64(row_length)
        room -= lengths[d]
    starts[rows] = len(lengths)
    return rows + 1


def draw_from_urns(rng, starts, mass, objects, fixed_objects, out):
    """Draws from one Dirichlet-categorical table after another, tables integrated out (Polya's urn).

    Draw j of a table is one of `objects`, uniformly, with probability mass / (mass + j), else a copy of
    one of the j draws before it.

    Args:
        starts: draws of table g are [starts[g], starts[g + 1]).
        mass: float64[tables], total mass of each table's Dirichlet.
        fixed_objects: int32[draws], a value already known, or -1 where one is to be drawn.
        out: int32[draws] to fill.
    """
    for g in range(len(mass)):
        for at in range(starts[g], starts[g + 1]):
            before = at - starts[g]
            if fixed_objects[at] >= 0:
                out[at] = fixed_objects[at]
                continue
            u = rng.random() * (mass[g] + before)
            if u < mass[g]:
                out[at] = objects[int(rng.random() * len(objects))]
            else:
                out[at] = out[starts[g] + min(int(u - mass[g]), before - 1)]


def draw_exact_statements(
    rng, low, high, starts,
    subject, relation, truth, statements, truths, said, candidates, first_candidate, last_candidate, place,
    partners, first_partner, last_partner, mention, noise, label_noise,
    kind, label, a, b,
):  # fmt: skip
    """The sentences of each fact f in [low, high) of a world of kind `exact`, from row starts[f] on.

    Args:
        statements, truths, said: see `corpus.exact.ExactModel`.
        candidates, first_candidate, last_candidate, place: the objects f may have are
            candidates[first_candidate[f] : last_candidate[f]], the truth at place[f].
        partners, first_partner, last_partner: the logical facts of f's block, f among them.
        mention: probability of each fact that a sentence of another kind than atomic mentions the truth.
        kind, label, a, b: columns to fill (see `corpus.text.sentences.Sentences`).
    """
    for f in range(low, high):
        for row in range(starts[f], starts[f + 1]):
            i = row - starts[f]
            a[row, 0], a[row, 1] = subject[f], relation[f]
            if i < statements[f]:
                k = ATOMIC
            elif i < statements[f] + truths[f]:
                k = TRUTH
            elif i < statements[f] + truths[f] + 2:
                k = NOT
            elif i == statements[f] + truths[f] + 2:
                k = AND
            else:
                k = OR
            kind[row] = k
            if k == ATOMIC and said.shape[1] > 0 and said[f, i] >= 0:
                a[row, 2] = said[f, i]
                continue
            joins = k in (AND, OR)
            holds = False
            other_holds = False
            for second in range(2 if joins else 1):
                g = f
                if second:
                    # Another logical fact of the block: the draw skips f.
                    at = first_partner[f] + int(rng.random() * (last_partner[f] - first_partner[f] - 1))
                    g = partners[at] if partners[at] < f else partners[at + 1]
                true = rng.random() < (1.0 - noise if k == ATOMIC else mention[g])
                if true:
                    object_named = truth[g]
                else:
                    at = first_candidate[g] + int(rng.random() * (last_candidate[g] - first_candidate[g] - 1))
                    object_named = candidates[at + (at >= place[g])]
                if second:
                    other_holds = true
                    b[row, 0], b[row, 1], b[row, 2] = subject[g], relation[g], object_named
                else:
                    holds = true
                    a[row, 2] = object_named
            if k == TRUTH:
                label[row] = holds != (rng.random() < label_noise)
            elif k == NOT:
                label[row] = not holds
            elif k == AND:
                label[row] = holds and other_holds
            elif k == OR:
                label[row] = holds or other_holds
            if joins and rng.random() < 0.5:
                for column in range(3):
                    a[row, column], b[row, column] = b[row, column], a[row, column]
