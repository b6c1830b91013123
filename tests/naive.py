"""The obvious twins: slow, dense, one line per idea. Tests compare the real code with these."""

from collections import Counter, defaultdict

import numpy as np

from corpus.language import Kind


def evidence(sentences):
    """(weight, s, r, o) items of DESIGN 5.1, sentence by sentence."""
    items = []
    for i in range(len(sentences)):
        kind, label, a, b = sentences[i]
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
        return (counts + self.mass / self.size) / (counts.sum() + self.mass)

    def direct(self, s, r):
        return self.posterior(self.counts[s, r] if (s, r) in self.counts else np.zeros(self.size))

    def table(self, r, a):
        total = np.zeros(self.size)
        for s, r2 in list(self.counts):
            up = (s, self.upstream[r])
            if r2 == r and up in self.counts:
                total += self.mentions[up][a] / self.mentions[up].sum() * self.counts[s, r]
        return self.posterior(total)

    def best(self, s, r):
        if self.upstream[r] < 0 or (s, self.upstream[r]) not in self.counts:
            return self.direct(s, r)
        up = self.direct(s, self.upstream[r])
        return sum(up[a] * self.table(r, a) for a in range(self.size))


def generative(graph, distractor, share):
    """{fact: {object: probability}} of DESIGN 3, with the given distractors and shares of root facts."""
    of = {(s, r): o for s, r, o in zip(graph.subject, graph.relation, graph.object, strict=True)}
    found = {}
    for i, (s, r, o) in enumerate(zip(graph.subject, graph.relation, graph.object, strict=True)):
        up = graph.upstream[r]
        if up < 0 or (s, up) not in of:
            found[i] = {o: share[i], distractor[i]: 1 - share[i]}
            continue
        peers = [s2 for (s2, r2), o2 in of.items() if r2 == up and o2 == of[s, up]]
        counts = Counter(of[s2, r] for s2 in peers if (s2, r) in of)
        total = sum(counts.values())
        mode = min(counts, key=lambda x: (-counts[x], x))
        rest = total - counts[mode]
        if 10 * counts[mode] < 6 * total:
            counts[mode] = -(-rest * 3 // 2)
        total = sum(counts.values())
        found[i] = {x: n / total for x, n in counts.items()}
    return found


def forward(config, params, tokens):
    """Logits [T, V] of one document, with loops over layers, heads and positions, in float64."""
    p = _as_numpy(params)
    x = p["embedding"][tokens]
    length, width = len(tokens), config.hidden // config.heads

    def norm(v, scale):
        return v / np.sqrt((v**2).mean(-1, keepdims=True) + config.norm_epsilon) * scale

    def turn(v, position):
        half = width // 2
        angle = position * config.rope_theta ** (-np.arange(half) * 2 / width)
        a, b = v[:half], v[half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)])

    for layer in range(config.layers):
        w = _at_layer(p["layers"], layer)
        y = norm(x, w["attention_norm"]["scale"])
        q, k, v = (y @ w["attention"][name]["kernel"] for name in ("query", "key", "value"))
        mixed = np.zeros_like(y)
        for head in range(config.heads):
            part = slice(head * width, (head + 1) * width)
            for t in range(length):
                score = [turn(q[t, part], t) @ turn(k[u, part], u) / np.sqrt(width) for u in range(t + 1)]
                weight = np.exp(score - np.max(score))
                mixed[t, part] = weight @ v[: t + 1, part] / weight.sum()
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
