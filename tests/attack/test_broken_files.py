"""What is handed in and broken is refused, by file and line: files drawn from the schemas.

`python -m tests.attack.broken FOLDER` draws thousands.
"""

import pytest

from tests.attack.broken import break_answers, check_answers, make_answers, try_broken
from tests.runs import copied


@pytest.fixture(scope="module")
def answered(trained, tmp_path_factory):
    return make_answers(copied(trained, tmp_path_factory.mktemp("answered")))


def test_no_broken_file_of_answers_is_taken(answered):
    folder, choices, read = answered
    read(folder)
    refused = try_broken(break_answers(folder, choices), check_answers(folder, read), 150)
    assert refused.total() == 150
    assert {name for name, _ in refused} == {"about.json", "before.jsonl", "after.jsonl"}
