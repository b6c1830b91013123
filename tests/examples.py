"""Properties of random examples: some in every run of the tests, many by --hypothesis-profile thorough."""

from hypothesis import given, settings
from hypothesis import strategies as st


def holds_for(*strategies, few, many):
    """A property of a function whose arguments are all drawn: of `few` examples, thoroughly of `many`."""
    thorough = settings.default.max_examples >= settings.get_profile("thorough").max_examples

    def decorated(holds):
        return settings(max_examples=many if thorough else few)(given(*strategies)(holds))

    return decorated


def replace_spans(draw, text, pieces, most, width):
    """A text, or bytes, with one to `most` spans of up to `width` replaced by a piece, doubled or cut."""
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + width)))
        text = text[:start] + draw(st.sampled_from((*pieces, text[start:end] * 2, text))) + text[end:]
    return text
