"""Properties of random examples: some in every run of the tests, many by --hypothesis-profile thorough."""

from hypothesis import given, settings


def holds_for(*strategies, few, many):
    """A property of a function whose arguments are all drawn: of `few` examples, thoroughly of `many`."""
    thorough = settings.default.max_examples >= settings.get_profile("thorough").max_examples

    def decorated(holds):
        return settings(max_examples=many if thorough else few)(given(*strategies)(holds))

    return decorated
