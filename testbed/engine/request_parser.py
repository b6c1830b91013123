"""What can be said of a fact, as text: requests of every form (`bayes.interface.EditRequest`).

s r = o                                 it is so
not s r = o                             it is not so
"s r o" is true, "s r o" is false       a label; "not s r o" is true says that it is not so
s r = o with probability .8             somebody is so sure of it
s r = o or o2                           one of two
s r = o, not o2                         o2 was wrong, it is o; of a set, o joins it and o2 leaves it
according to a source of .8: s r = o    who says so is right with this probability
never s r = o                           whatever said so is withdrawn
"""

import re

from bayes.request import EditRequest, StatementForm
from corpus.errors import InputError
from corpus.text.language import Kind
from corpus.worlds.members import ANSWERS, find_members
from testbed.engine.methods import Triple
from testbed.run.world import World

BEFORE: tuple[tuple[re.Pattern, StatementForm], ...] = (
    (re.compile(r"not (?P<edit>.+)"), "denial"),
    (re.compile(r"never (?P<edit>.+)"), "retraction"),
    (re.compile(r"according to a source of (?P<p>[\d.]+): (?P<edit>.+)"), "source"),
    (re.compile(r"(?P<edit>.+) with probability (?P<p>[\d.]+)"), "probability"),
)
BEHIND: tuple[tuple[str, StatementForm], ...] = ((", not ", "replacement"), (" or ", "disjunction"))


def parse_fact(world: World, text: str) -> Triple:
    """The fact in "subject relation = object"; of a set as in "Ann speaks = French", that it has the object.

    Raises:
        InputError: no " = ", an unknown name, or an object that is the object of no fact.
    """
    prompt, equals, name = text.rpartition(" = ")
    if not equals:
        raise InputError(f"the edit {text!r} should be 'subject relation = object'")
    language = world.tokenizer.language
    who, members = find_members(world.graph, prompt)
    if name in members:
        return language.entity(who), members[name], language.entity(ANSWERS[0])
    s, r = language.parse_prompt(prompt)
    o = language.entity(name)
    if o not in world.graph.objects:
        raise InputError(f"{name!r} is not the object of any fact in this world, so no fact can name it")
    return s, r, o


def parse_request(world: World, text: str) -> EditRequest:
    """The request that a text is; how strong it is, is not said.

    Raises:
        InputError: an unknown name, or a text that is none of these forms.
    """
    text = " ".join(text.split())
    if text.startswith('"'):
        return _read_label(world, text)
    # A name may have any of these words in it.
    if _is_edit(world, text):
        return EditRequest(*parse_fact(world, text))
    for pattern, form in BEFORE:
        if match := pattern.fullmatch(text):
            edit, p = match["edit"], match.groupdict().get("p")
            return EditRequest(
                *parse_fact(world, edit), form=form, probability=1.0 if p is None else _read_p(p)
            )
    for words, form in BEHIND:
        edit, found, name = text.rpartition(words)
        if found and _is_edit(world, edit):
            s, r, o = parse_fact(world, edit)
            # Of a fact as in "Ann speaks = French", the relation of each object of the set; else none.
            members = find_members(world.graph, edit.rpartition(" = ")[0])[1]
            if members:
                if form != "replacement" or members.get(name, r) == r:
                    raise InputError(
                        f"{text!r}: a request about a set names one of its objects, and perhaps, behind "
                        "', not', another one that this replaces"
                    )
                no = world.tokenizer.language.entity(ANSWERS[1])
                return EditRequest(s, r, o, further=(EditRequest(s, members[name], no),))
            other = world.tokenizer.language.entity(name)
            if other == o or other not in world.graph.objects:
                raise InputError(f"{name!r} is no other object that a fact can have")
            return EditRequest(s, r, o, form=form, others=(other,))
    return EditRequest(*parse_fact(world, text))


def _is_edit(world: World, text: str) -> bool:
    try:
        parse_fact(world, text)
    except InputError:
        return False
    return True


def _read_label(world: World, text: str) -> EditRequest:
    kind, label, said, other, _ = world.tokenizer.language.parse(text)
    if kind == Kind.TRUTH:
        return EditRequest(*said, form="true" if label else "false")
    if kind == Kind.NOT and label:
        return EditRequest(*said, form="denial")
    if kind == Kind.OR and label and other and other[:2] == said[:2] and other != said:
        return EditRequest(*said, form="disjunction", others=(other.object,))
    raise InputError(
        f"{text!r} says nothing that one request can; say what is so of one subject and relation"
    )


def _read_p(text: str) -> float:
    try:
        p = float(text)
    except ValueError:
        p = -1.0
    if not 0 < p < 1:
        raise InputError(f"{text!r} should be a probability between 0 and 1, such as .8")
    return p
