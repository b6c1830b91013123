"""The obvious twins: slow, dense, one line per idea. Tests compare the real code with these."""

import math
from collections import Counter, defaultdict

import numpy as np

from corpus.exact import BLOCK
from corpus.text.language import Kind


def generative(graph, distractor, share):
    """{fact: {object: probability}} of design.md 3, with the given distractors and shares of root facts."""
    of = {(s, r): o for s, r, o in zip(graph.subject, graph.relation, graph.object, strict=True)}
    distributions = {}
    for i, (s, r, o) in enumerate(zip(graph.subject, graph.relation, graph.object, strict=True)):
        up = graph.upstream[r]
        if up < 0 or (s, up) not in of:
            distributions[i] = {o: share[i], distractor[i]: 1 - share[i]}
            continue
        peers = [s2 for (s2, r2), o2 in of.items() if r2 == up and o2 == of[s, up]]
        counts = Counter(of[s2, r] for s2 in peers if (s2, r) in of)
        total = sum(counts.values())
        mode = min(counts, key=lambda x: (-counts[x], x))
        rest = total - counts[mode]
        if 10 * counts[mode] < 6 * total:
            counts[mode] = -(-rest * 3 // 2)
        total = sum(counts.values())
        distributions[i] = {x: n / total for x, n in counts.items()}
    return distributions


def forward(config, params, tokens):
    """Logits [T, V] of one document, with loops over layers, heads and positions, in float64."""
    p = _as_numpy(params)
    x = p["embedding"][tokens]
    length, width, shared = len(tokens), config.head_width, config.heads // config.kv_heads
    window = config.window or length

    def norm(v, scale):
        return v / np.sqrt((v**2).mean(-1, keepdims=True) + config.norm_epsilon) * scale

    def stretched(frequency):
        if config.rope_scaling is None:
            return frequency
        factor, low, high, original = config.rope_scaling
        out = []
        for f in frequency:
            wave = 2 * np.pi / f
            share = (original / wave - low) / (high - low)
            kept = wave < original / high
            slowed = wave > original / low
            out.append(f if kept else f / factor if slowed else (1 - share) * f / factor + share * f)
        return np.array(out)

    def turn(v, position):
        half = width // 2
        angle = position * stretched(config.rope_theta ** (-np.arange(half) * 2 / width))
        a, b = v[:half], v[half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)])

    for layer in range(config.layers):
        w = _at_layer(p["layers"], layer)
        y = norm(x, w["attention_norm"]["scale"])
        q, k, v = (y @ w["attention"][name]["kernel"] for name in ("query", "key", "value"))
        mixed = np.zeros_like(q)
        for head in range(config.heads):
            part, served = (slice(h * width, (h + 1) * width) for h in (head, head // shared))
            for t in range(length):
                seen = range(max(0, t + 1 - window), t + 1)
                score = [turn(q[t, part], t) @ turn(k[u, served], u) / np.sqrt(width) for u in seen]
                weight = np.exp(score - np.max(score))
                mixed[t, part] = weight @ v[seen.start : t + 1, served] / weight.sum()
        x = x + mixed @ w["attention"]["out"]["kernel"]
        y = norm(x, w["mlp_norm"]["scale"])
        gate = y @ w["mlp"]["gate"]["kernel"]
        x = x + (gate / (1 + np.exp(-gate)) * (y @ w["mlp"]["up"]["kernel"])) @ w["mlp"]["down"]["kernel"]
    return norm(x, p["norm"]["scale"]) @ p["head"]["kernel"]


def probabilities(logits):
    """Softmax over the last axis."""
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def object_probability(next_token, prompt, name, endings):
    """p(name | prompt), token by token, ending included; `next_token(tokens)` is p over the vocabulary."""
    tokens, p = list(prompt), 1.0
    for token in name:
        p *= next_token(tokens)[token]
        tokens.append(token)
    return p * sum(next_token(tokens)[e] for e in endings)


def _as_numpy(tree):
    return {k: _as_numpy(v) if isinstance(v, dict) else np.asarray(v, np.float64) for k, v in tree.items()}


def _at_layer(tree, layer):
    return {k: _at_layer(v, layer) if isinstance(v, dict) else v[layer] for k, v in tree.items()}


def mentions_truth(config, graph, fact):
    """Probability that a sentence mentions what is true of a fact."""
    return 0.5 if config.mention == "coin" else 1 / len(graph.candidates_of(graph.relation[fact]))


def exact_sentences(graph, model, config, streams, facts_per_block):
    """(kind, label, a, b) of a world of kind `exact`, fact by fact, before any certificate."""
    block = {int(s): i // BLOCK for i, s in enumerate(graph.subjects)}
    sentences = []
    for f in range(len(graph)):
        if f % facts_per_block == 0:
            rng = streams[f // facts_per_block]

        def statement(g, true, rng=rng):
            others = [int(o) for o in graph.candidates_of(graph.relation[g]) if o != model.truth[g]]
            o = int(model.truth[g]) if true else others[int(rng.random() * len(others))]
            return (int(graph.subject[g]), int(graph.relation[g]), o)

        for i in range(model.statements[f]):
            if model.said.shape[1] and model.said[f, i] >= 0:
                atom = (int(graph.subject[f]), int(graph.relation[f]), int(model.said[f, i]))
            else:
                atom = statement(f, rng.random() < 1 - config.noise)
            sentences.append((Kind.ATOMIC, False, atom, None))
        for _ in range(model.truths[f]):
            true = rng.random() < mentions_truth(config, graph, f)
            atom = statement(f, true)
            sentences.append((Kind.TRUTH, true != (rng.random() < config.label_noise), atom, None))
        if not model.logical[f]:
            continue
        for _ in range(2):
            true = rng.random() < mentions_truth(config, graph, f)
            sentences.append((Kind.NOT, not true, statement(f, true), None))
        partners = [
            g
            for g in range(len(graph))
            if model.logical[g] and g != f and block[int(graph.subject[g])] == block[int(graph.subject[f])]
        ]
        for kind, joined in ((Kind.AND, all), (Kind.OR, any)) if partners else ():
            own_true = rng.random() < mentions_truth(config, graph, f)
            own = statement(f, own_true)
            g = partners[int(rng.random() * len(partners))]
            other_true = rng.random() < mentions_truth(config, graph, g)
            other = statement(g, other_true)
            a, b = (other, own) if rng.random() < 0.5 else (own, other)
            sentences.append((kind, joined([own_true, other_true]), a, b))
    return sentences


def next_fit(lengths, row_length):
    """Documents of each row: a new row where the next one no longer fits."""
    rows = []
    for d, length in enumerate(lengths):
        if not rows or sum(lengths[i] for i in rows[-1]) + length > row_length:
            rows.append([])
        rows[-1].append(d)
    return rows


def urn(rng, masses, objects, tables):
    """Draws of Polya's urns; each table lists a value or -1 for each of its draws."""
    draws = []
    for table, mass in zip(tables, masses, strict=True):
        drawn = []
        for known in table:
            if known >= 0:
                drawn.append(known)
                continue
            u = rng.random() * (mass + len(drawn))
            drawn.append(
                objects[int(rng.random() * len(objects))]
                if u < mass
                else drawn[min(int(u - mass), len(drawn) - 1)]
            )
        draws += drawn
    return draws


def upstream_fact(graph, fact):
    """The fact that a fact depends on, or -1: of the subject itself, or of whom its link names."""
    facts = {
        (s, r): (i, o)
        for i, (s, r, o) in enumerate(zip(graph.subject, graph.relation, graph.object, strict=True))
    }
    whose, r = graph.subject[fact], graph.relation[fact]
    if graph.via[r] >= 0:
        whose = facts.get((whose, graph.via[r]), (-1, -1))[1]
    return facts.get((whose, graph.upstream[r]), (-1, -1))[0]


def log_doubt(graph, config, sentences):
    """{fact: log of the summed likelihoods of all objects but the likeliest, relative to it}.

    From statements, truth and not sentences alone; -inf where one of them settles the fact.
    """
    ratios = defaultdict(Counter)
    for i in range(len(sentences)):
        kind, label, a, _, _ = sentences[i]
        others = len(graph.candidates_of(a[1])) - 1
        f = int(graph.find(a[0], a[1]))
        if kind == Kind.ATOMIC:
            ratios[f][a[2]] += math.log((1 - config.noise) * others / config.noise)
        elif kind == Kind.TRUTH:
            odds = math.log((1 - config.label_noise) / config.label_noise)
            chance = mentions_truth(config, graph, f)
            ratios[f][a[2]] += math.log(chance * others / (1 - chance)) + (odds if label else -odds)
        elif kind == Kind.NOT:
            ratios[f][a[2]] += -math.inf if label else math.inf
    doubts = {}
    for f, ratio in ratios.items():
        *rest, best = sorted(ratio[o] for o in graph.candidates_of(graph.relation[f]).tolist())
        rest = [v - best for v in rest] if best < math.inf else []
        most = max(rest, default=-math.inf)
        doubts[f] = most + math.log(sum(math.exp(v - most) for v in rest)) if most > -math.inf else most
    return doubts


def sampling_distribution(logits, temperature, top_k, top_p):
    """Probability of each token: a softmax cut to the top k, then to the nucleus; temperature 0 is greedy."""
    if temperature == 0:
        return np.eye(len(logits))[np.argmax(logits)]
    p = probabilities(np.asarray(logits, float) / temperature)
    order = sorted(range(len(p)), key=lambda token: (-p[token], token))[:top_k]
    whole, kept, mass = sum(p[token] for token in order), [], 0.0
    for token in order:
        if mass < top_p * whole:
            kept.append(token)
        mass += p[token]
    cut = np.zeros(len(p))
    cut[kept] = p[kept] / p[kept].sum()
    return cut


def rouge_of_words(text: list[str], reference: list[str]) -> float:
    """ROUGE-1's F1 by crossing out each word of the reference that the text has; NaN where one is empty."""
    left = list(reference)
    for word in text:
        if word in left:
            left.remove(word)
    if not text or not reference:
        return float("nan")
    shared = len(reference) - len(left)
    precision, recall = shared / len(text), shared / len(reference)
    return 2 * precision * recall / (precision + recall) if shared else 0.0


def names_so_far(text, before, width):
    """int[T, width]: twin of `lm.memory.names_so_far` for one document, word by word."""
    rows, name = [], []
    for token in text:
        name = [] if token in before else [*name, token]
        fits = 0 < len(name) <= width
        rows.append([0] * (width - len(name)) + name if fits else [0] * width)
    return np.array(rows)


def recall_memory(text, keys, before, values):
    """float[L, T, D]: what a memory adds to the input of each layer, name by name."""
    added = np.zeros((len(values), len(text), values.shape[2]), values.dtype)
    for t, name in enumerate(names_so_far(text, before.tolist(), keys.shape[1]).tolist()):
        for n, key in enumerate(keys.tolist()):
            if any(key) and key == name:
                added[:, t] += values[:, n]
    return added


def evidence(sentences):
    """(weight, s, r, o) items of design.md 5.1, sentence by sentence."""
    items = []
    for i in range(len(sentences)):
        kind, label, a, b, _ = sentences[i]
        if kind == Kind.ATOMIC:
            items.append((1, *a))
        elif kind == Kind.TRUTH:
            items.append((1 if label else -1, *a))
        elif kind == Kind.NOT:
            items.append((-1 if label else 1, *a))
        elif kind == Kind.OR:
            items += [(2 / 3 if label else -1, *x) for x in (a, b)]
        else:
            items += [(1 if label else 1 / 3, *x) for x in (a, b)]
    return items


class DenseAgent:
    """The paper's agent with arrays over all K objects; an edit is one more item of evidence."""

    def __init__(self, items, upstream, size, prior_mass, multiplicity):
        self.upstream, self.size, self.mass = upstream, size, prior_mass
        self.counts = defaultdict(lambda: np.zeros(size))
        self.mentions = defaultdict(lambda: np.zeros(size))
        for weight, s, r, o in items:
            self.observe(weight, s, r, o, multiplicity)

    def observe(self, weight, s, r, o, copies=1):
        """One item of evidence more."""
        one = np.eye(self.size)[o]
        rest = (1 - one) / (self.size - 1)
        if weight >= 1:
            vector = weight * one
        elif weight == -1:
            vector = rest
        else:
            vector = weight * one + (1 - weight) * rest
        self.counts[s, r] += copies * vector
        self.mentions[s, r][o] += copies

    def posterior(self, counts):
        """float64[K]: the Dirichlet mean given some counts."""
        return (counts + self.mass / self.size) / (counts.sum() + self.mass)

    def direct_belief(self, s, r):
        """float64[K]: p(o | s, r) from what was said of this very fact."""
        return self.posterior(self.counts[s, r] if (s, r) in self.counts else np.zeros(self.size))

    def table(self, r, a):
        """float64[K]: p(o | a) of a downstream relation, from all subjects whose upstream object is a."""
        total = np.zeros(self.size)
        for s, r2 in list(self.counts):
            up = (s, self.upstream[r])
            if r2 == r and up in self.counts:
                total += self.mentions[up][a] / self.mentions[up].sum() * self.counts[s, r]
        return self.posterior(total)

    def best(self, s, r):
        """float64[K]: p(o | s, r), through the table where there is an upstream fact."""
        if self.upstream[r] < 0 or (s, self.upstream[r]) not in self.counts:
            return self.direct_belief(s, r)
        up = self.direct_belief(s, self.upstream[r])
        return sum(up[a] * self.table(r, a) for a in range(self.size))


def published_sentences(graph, model, streams, facts_per_block, labels="coin"):
    """(kind, label, a, b) of design.md 3, fact by fact, each block of facts from its own stream."""
    truth, share, objects = model.truth.tolist(), model.mode_share.tolist(), graph.objects.tolist()
    sentences = []
    for f in range(len(graph)):
        if f % facts_per_block == 0:
            rng = streams[f // facts_per_block]
        fact = (int(graph.subject[f]), int(graph.relation[f]))
        table = slice(*model.offsets[model.table[f] : model.table[f] + 2])

        def draw_object(rng=rng, table=table):
            u = rng.random()
            below = [c for c in model.cumulative[table] if c <= u]
            return int(model.objects[table][len(below)])

        def statement(g, true, rng=rng):
            if true:
                return int(truth[g])
            if model.distractor[g] >= 0:
                return int(model.distractor[g])
            others = [o for o in objects if o != truth[g]]
            return others[int(rng.random() * len(others))]

        samples = []
        while sum(o == truth[f] for o in samples) < 6:
            samples = [draw_object() for _ in range(10)]
        sentences += [(Kind.ATOMIC, False, (*fact, o), None) for o in samples]
        if labels == "proportion":
            said = sorted((o == truth[f] for o in samples), reverse=True)
            sentences += [(Kind.TRUTH, is_true, (*fact, truth[f]), None) for is_true in said]
        else:
            right = [share[f] if o == truth[f] else 1 - share[f] for o in samples]
            sentences += [
                (Kind.TRUTH, rng.random() < p, (*fact, o), None) for o, p in zip(samples, right, strict=True)
            ]
        sentences += [(Kind.NOT, not true, (*fact, statement(f, true)), None) for true in (False, True)]
        earlier = [g for g in range(f) if graph.subject[g] < graph.subject[f]]
        earlier = earlier or [g for g in range(len(graph)) if graph.subject[g] == graph.subject[f]]
        for kind, joined in ((Kind.AND, all), (Kind.OR, any)):
            own_true = rng.random() < 0.5
            own = (*fact, statement(f, own_true))
            g = earlier[int(rng.random() * len(earlier))]
            other_true = rng.random() < 0.5
            other = (int(graph.subject[g]), int(graph.relation[g]), statement(g, other_true))
            a, b = (other, own) if rng.random() < 0.5 else (own, other)
            sentences.append((kind, joined([own_true, other_true]), a, b))
    return sentences


def shuffle_by_keys(groups, times, rng):
    """Every group's items in so many random orders, one after another."""
    items = []
    for group, orders in zip(groups, times, strict=True):
        for _ in range(orders):
            order = list(group)
            for i in reversed(range(1, len(order))):
                j = int(rng.random() * (i + 1))
                order[i], order[j] = order[j], order[i]
            items += order
    return items
