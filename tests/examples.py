"""Properties of random examples: some in every run of the tests, many more in the slow one."""

import pytest
from hypothesis import given, settings


def holds_for(*strategies, few, many):
    """A property of a function, of `few` examples, and once more of `many` among the slow tests.

    The arguments of the function are drawn, all of them. --hypothesis-seed counts as it does elsewhere.
    """

    def decorated(holds):
        @pytest.mark.hypothesis
        @pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.slow)])
        def test(examples):
            settings(max_examples=examples)(given(*strategies)(holds))()

        test.__name__, test.__doc__ = holds.__name__, holds.__doc__
        return test

    return decorated
