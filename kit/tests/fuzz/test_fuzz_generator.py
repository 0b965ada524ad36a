import itertools
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import pytest
from fuzz_grammars import GRAMMARS, NSQ, NSQ_NAMES, frames

from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.case import (
    CROWD,
    GRAMMAR,
    GRANTED,
    RETURNED,
    ROLES,
    TOGETHER,
    Case,
    HalfClose,
    Hold,
)
from wireproof_kit.fuzz.generate import field_map
from wireproof_kit.fuzz.generate.conversations import CONVERSATION
from wireproof_kit.fuzz.generate.edits import FieldIndex
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.generate.mutations import choices
from wireproof_kit.fuzz.generate.seed_frames import OUT_OF_ORDER
from wireproof_kit.fuzz.generate.weights import WEIGHTS, turns
from wireproof_kit.nsq.fuzz.states import BEATING
from wireproof_spec.decoding import Schema
from wireproof_spec.iggy.bodies.command_shapes import payload_schema
from wireproof_spec.iggy.commands import COMMANDS
from wireproof_spec.iggy.frame import REQUEST
from wireproof_spec.nsq import acknowledge
from wireproof_spec.nsq.command import COMMAND_LINE
from wireproof_spec.nsq.command_reader import BODIES
from wireproof_spec.nsq.parameters import PARAMETERS
from wireproof_spec.nsq.publish import MPUB_EXT_BODY, MpubExtBody, PubExtBody

pytestmark = pytest.mark.long

SOON = 6000
COUNTED = {"nsq": "MPUB_EXT", "iggy": "send_messages"}
PROTOCOLS = pytest.mark.parametrize("protocol", GRAMMARS)


@cache
def generator(protocol: str, seed: int = 7) -> Generator:
    return Generator(GRAMMARS[protocol], seed)


@cache
def epoch(protocol: str) -> tuple[Case, ...]:
    made = generator(protocol)
    return tuple(itertools.islice(made.cases(), made.epoch))


@cache
def fields_made_wrong(protocol: str) -> frozenset[tuple[str, str]]:
    """Return the fields of some epochs: not every frame drawn has all that may be there."""
    made = generator(protocol)
    return frozenset(
        (case.frame_kind, case.field)
        for case in itertools.islice(made.cases(), 5 * made.epoch)
        if case.mutation not in (GRAMMAR, OUT_OF_ORDER)
    )


def single(protocol: str) -> list[Case]:
    made = epoch(protocol)
    left_out = (CONVERSATION, NOTHING_SENT)
    return [case for case in made if case.frame_kind not in left_out and not case.is_held]


def held(*, frames: Sequence[str] = (), states: Sequence[str] = ()) -> list[Case]:
    made = Generator(GRAMMARS["nsq"], 7, frames=frames, states=states)
    return [case for case in itertools.islice(made.cases(), made.epoch) if case.is_held]


@pytest.mark.slow
def test_some_cases_are_held_open_in_states_with_short_intervals() -> None:
    made = held()
    idle = [case for case in made if case.frame_kind == NOTHING_SENT]

    assert 0.3 < len(idle) / len(made) < 0.7
    assert {case.state for case in made} == set(BEATING.values()) >= {case.field for case in idle}
    assert all(isinstance(case.steps[-1].style, Hold) for case in made)


@pytest.mark.slow
def test_held_cases_are_of_the_chosen_frames_and_states() -> None:
    made = held(frames=["PUB_EXT"], states=["closing"])

    assert {(case.frame_kind, case.state) for case in made} == {("PUB_EXT", BEATING["closing"])}
    assert {case.state for case in held(states=["ordered"])} == {BEATING["ordered"]}
    assert not held(states=["magic-sent"])


@pytest.mark.slow
@PROTOCOLS
def test_the_same_seed_and_index_make_the_same_case(protocol: str) -> None:
    again = Generator(GRAMMARS[protocol], 7)
    somewhere = [again.epoch * 2 + 3, 0, 17, again.epoch - 1, again.epoch, 5]

    assert [again.case(index) for index in somewhere] == [
        Generator(GRAMMARS[protocol], 7).case(index) for index in somewhere
    ]
    in_order = list(itertools.islice(again.cases(10), 50))
    assert in_order == [again.case(index) for index in range(10, 60)]
    assert [case.index for case in in_order] == list(range(10, 60))


@pytest.mark.process
def test_another_process_makes_the_same_cases() -> None:
    script = (
        "import hashlib; from fuzz_grammars import NSQ;"
        "from wireproof_kit.fuzz.generate.generator import Generator;"
        "made = Generator(NSQ, 7);"
        "told = repr([made.case(index) for index in range(0, 3000, 7)]).encode();"
        "print(hashlib.sha256(told).hexdigest())"
    )
    path = [each for each in sys.path if each]
    run = f"import sys; sys.path[:] = {path!r} + sys.path; {script}"
    told = {
        subprocess.run(
            [sys.executable, "-c", run],
            env={"PYTHONHASHSEED": hashing},
            capture_output=True,
            check=True,
        ).stdout
        for hashing in ("1", "2")
    }

    assert len(told) == 1


@pytest.mark.slow
def test_seeds_make_different_cases() -> None:
    made = {Generator(NSQ, seed).case(40).steps for seed in range(8)}

    assert len(made) > 1


@pytest.mark.slow
@PROTOCOLS
def test_neighbouring_cases_are_of_different_frames(protocol: str) -> None:
    kinds = [case.frame_kind for case in epoch(protocol)[: len(generator(protocol).kinds)]]

    assert len(set(kinds)) == len(kinds)


@PROTOCOLS
def test_kinds_and_states_are_chosen(protocol: str) -> None:
    grammar = GRAMMARS[protocol]
    kind, states = grammar.kinds[2].name, grammar.states["tcp"]
    made = Generator(grammar, 7, frames=[kind], states=[states[1]])

    found = {(case.frame_kind, case.state) for case in itertools.islice(made.cases(), 100)}

    assert {state for _, state in found} == {states[1]}
    assert all(name.startswith(kind) for name, _ in found)
    with pytest.raises(ValueError, match="no frame"):
        Generator(grammar, 7, frames=[kind, "nothing"])
    with pytest.raises(ValueError, match="no state"):
        Generator(grammar, 7, frames=[kind], states=[states[1], "nowhere"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_few_kinds_are_made_of_many_frames(seed: int) -> None:
    made = itertools.islice(Generator(GRAMMARS["nsq"], seed, frames=["PUB_EXT"]).cases(), 400)

    lines = {case.steps[0].data.partition(b"\n")[0] for case in made}

    line = f"PUB_EXT {NSQ_NAMES.extended} {NSQ_NAMES.partition}".encode()
    assert line in lines, "all brokers owe the same for it"


@pytest.mark.slow
@PROTOCOLS
def test_most_cases_come_where_their_frame_is_in_order_but_not_all(protocol: str) -> None:
    due = {kind.name: kind.states for kind in GRAMMARS[protocol].kinds}
    met: defaultdict[str, set[str]] = defaultdict(set)
    in_order = 0
    for case in single(protocol):
        met[case.frame_kind].add(case.state)
        in_order += case.state in due[case.frame_kind]

    assert 0.7 < in_order / len(single(protocol)) <= 1
    for kind in GRAMMARS[protocol].kinds:
        assert met[kind.name] == set(GRAMMARS[protocol].states[kind.interface])


@PROTOCOLS
def test_many_cases_are_calm(protocol: str) -> None:
    """Wrong content in right form, and right frames that stay where they are: about a half."""
    calm = {
        kind.name: kind
        for kind in GRAMMARS[protocol].kinds
        if any(map(kind.is_calm, frames(kind)))
    }
    made = [case for case in epoch(protocol) if case.frame_kind in calm]
    whole = [case for case in made if case.delimited and len(case.steps) == 1]

    assert len(calm) >= 6
    assert len(whole) > len(epoch(protocol)) * 0.4
    assert sum(case.mutation == GRAMMAR for case in whole) < len(whole) * 0.2


@PROTOCOLS
def test_right_frames_out_of_order_are_named_so(protocol: str) -> None:
    due = {kind.name: kind.states for kind in GRAMMARS[protocol].kinds}
    for case in single(protocol):
        if case.mutation in (GRAMMAR, OUT_OF_ORDER):
            assert (case.mutation == GRAMMAR) == (case.state in due[case.frame_kind])


@PROTOCOLS
def test_all_steps_of_one_write_but_the_last_are_together(protocol: str) -> None:
    several = [case for case in single(protocol) if len(case.steps) > 1]

    assert {len(case.steps) for case in several} == {2, 20}
    for case in several:
        assert all(step.style is TOGETHER for step in case.steps[:-1])
        assert case.steps[-1].style is not TOGETHER
    for case in single(protocol):
        if isinstance(case.steps[-1].style, HalfClose):
            assert not case.delimited


@pytest.mark.slow
@PROTOCOLS
def test_every_field_of_every_frame_is_made_wrong(protocol: str) -> None:
    """In a few epochs, each field of each frame drawn; of HTTP headers their turn may be later."""
    due = {
        (kind.name, entry.row)
        for kind in GRAMMARS[protocol].kinds
        for entry in choices(FieldIndex(frames(kind)[0]), {})
        if not entry.row.startswith("headers.")
    }

    assert due - fields_made_wrong(protocol) == set()
    assert set(WEIGHTS) == set(ROLES)


SCHEMAS: list[tuple[str, str, Schema[Any], dict[str, str]]] = [
    *(("nsq", name.decode(), schema, dict[str, str]()) for name, schema in BODIES.items()),
    ("nsq", "FIN", acknowledge.FINISH, {}),
    ("nsq", "REQ", acknowledge.REQUEUE, {}),
    ("nsq", "TOUCH", acknowledge.TOUCH, {}),
    *(
        ("nsq", name.decode(), COMMAND_LINE, {"parameters[]": parameter.name})
        for name, parameters in PARAMETERS.items()
        for parameter in parameters
    ),
    *(
        ("iggy", name, payload_schema(code), dict[str, str]())
        for code, name in COMMANDS.items()
        if name not in ("kill", "login_user")
    ),
    ("iggy", "send_messages", REQUEST, {"payload": "messages[].payload"}),
    ("iggy", "ping", REQUEST, {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "kind", "schema", "called"),
    SCHEMAS,
    ids=[f"{kind} {schema.name} {called}" for _, kind, schema, called in SCHEMAS],
)
def test_every_leaf_of_every_schema_is_made_wrong(
    protocol: str, kind: str, schema: Schema[Any], called: dict[str, str]
) -> None:
    """A field that is added to a schema and never mutated lets this fail."""
    mutated = {field for frame, field in fields_made_wrong(protocol) if frame == kind}
    leaves = {called.get(leaf, leaf) for leaf in field_map.leaves(schema)}
    if not PARAMETERS.get(kind.encode()):
        leaves.discard("parameters[]")

    assert leaves - mutated == set()


@pytest.mark.slow
@PROTOCOLS
def test_lengths_and_counts_meet_every_number(protocol: str) -> None:
    """No row of a length's or count's column stays empty for long."""
    made = Generator(GRAMMARS[protocol], 3, frames=[COUNTED[protocol]])
    counted = Coverage()
    for case in itertools.islice(made.cases(), SOON):
        counted.add(case)
    told = counted.as_json()
    (fields,) = told.values()
    measures = [name for name in fields if name.endswith((".size", ".length", "size", "count"))]

    assert measures
    for name in measures:
        assert {"zero", "one more", "one less", "all ones (-1)", "smallest signed"} <= set(
            fields[name]
        ), name


@pytest.mark.slow
@PROTOCOLS
def test_the_rows_of_the_table_are_known_beforehand(protocol: str) -> None:
    """What is drawn is in no row's name, or the table would grow with every case."""
    made = generator(protocol)
    known = {field for _, field in fields_made_wrong(protocol)}
    made_later = map(made.case, range(20 * made.epoch, 21 * made.epoch))
    later = {case.field for case in made_later if case.frame_kind != NOTHING_SENT}

    assert later - known == set()
    assert len(known) < 250


def test_what_changes_the_state_and_says_json_gets_as_many_documents_as_what_does_not() -> None:
    """Few of a frame's turns are its JSON's, and there are scores of ways to get that wrong."""
    made = Generator(GRAMMARS["nsq"], 1)
    cases = (made.case(index) for index in range(3000))
    there = [
        case.mutation for case in cases if case.frame_kind == "IDENTIFY" and case.field == "json"
    ]
    assert len(there) > 60
    assert len({name for name in there if name.startswith("JSON: ")}) > 20


@pytest.mark.parametrize("field", ["count", "size", "messages[].size", "messages[].body"])
def test_a_batch_of_many_has_as_many_turns_for_each_kind_of_field_as_one_of_few(
    field: str,
) -> None:
    message = PubExtBody(b'{"k":"v"}', b"body")

    def share(messages: int) -> float:
        frame = field_map.frame("MPUB_EXT", MPUB_EXT_BODY, MpubExtBody((message,) * messages))
        taken = turns(FieldIndex(frame), NSQ.limits, NSQ.traps, Random(7))
        rows = [taken[at].row for at in range(4000)]
        return rows.count(field) / len(rows)

    assert share(8) > share(1) / 2
    assert share(8) < share(1) * 2


@pytest.mark.slow
def test_some_cases_are_exercises_of_bystanders_unless_frames_or_states_are_chosen() -> None:
    def asking(protocol: str, **chosen: list[str]) -> list[tuple[int, str, bytes]]:
        made = map(Generator(GRAMMARS[protocol], 7, **chosen).case, range(5000))
        return [(e.index, e.exercise, e.steps[0].data) for e in made if e.exercise]

    assert asking("nsq") == [
        (256, RETURNED, b""),
        (512, CROWD, b""),
        (768, GRANTED, b""),
        (2304, RETURNED, b""),
        (2560, CROWD, b""),
        (2816, GRANTED, b""),
        (4352, RETURNED, b""),
        (4608, CROWD, b""),
        (4864, GRANTED, b""),
    ]
    assert not asking("iggy")
    assert not asking("nsq", frames=["PUB"])
    assert not asking("nsq", states=["identified"])
