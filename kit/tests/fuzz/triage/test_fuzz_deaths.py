"""Deaths: one cause is one finding, named by what is left, and a deadly frame is sent no more."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from test_fuzz_standstill import Standing

from wireproof_kit.fuzz.campaign.blocklist import DEADLY, MOST_DEADLY, Blocklist
from wireproof_kit.fuzz.campaign.last_words import LogReader
from wireproof_kit.fuzz.case import GRAMMAR, Case, Step
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.json_members import fewest_members, find_members, smaller_members
from wireproof_kit.fuzz.oracle.client_deaths import find_reason
from wireproof_kit.fuzz.oracle.rules import CLOSED, DEAD
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.generalize import named_by_what_is_left
from wireproof_kit.fuzz.triage.named_in import named_in
from wireproof_kit.fuzz.triage.triage import Triage

FLATE = """panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x737cb3]
goroutine 126 [running]:
compress/flate.(*Writer).Write(0x4?, {0xb1e81861030?, 0x819cc101?, 0xb1e8173f8f0?})
\t/usr/local/go/src/compress/flate/deflate.go:709 +0x13
github.com/youzan/nsq/nsqdserver.(*protocolV2).IDENTIFY(0xb1e8188c140)
"""
SLICE = """panic: runtime error: slice bounds out of range [2:1]
goroutine 418 [running]:
github.com/youzan/nsq/nsqdserver.(*protocolV2).internalPubExtAndTrace(0x38af06c04ad8)
github.com/youzan/nsq/nsqdserver.(*protocolV2).PUBEXT(...)
"""
BATCH = """panic: runtime error: slice bounds out of range [2:0]

goroutine 351 [running]:
github.com/youzan/nsq/nsqdserver.readMPUBEXT({0x10bbe40, 0x28c500db8960}, 0x28c5012ef860)
\t/nsq/nsqdserver/protocol_v2.go:1914 +0x141a
github.com/youzan/nsq/nsqdserver.(*protocolV2).internalMPUBEXTAndTrace(0x28c500e048a8, 0x1, 0x0)
\t/nsq/nsqdserver/protocol_v2.go:1750 +0x4bc
github.com/youzan/nsq/nsqdserver.(*protocolV2).MPUBEXT(...)
"""
STORED = """panic: runtime error: slice bounds out of range [29:26]

goroutine 961 [running]:
github.com/youzan/nsq/nsqd.decodeMessage({0x163379c98000, 0x1001d, 0x1001d}, 0x1)
\t/nsq/nsqd/message.go:436 +0x4ae
github.com/youzan/nsq/nsqd.(*Channel).messagePump(0x163378f3b908)
\t/nsq/nsqd/channel.go:2200 +0x154c
created by github.com/youzan/nsq/nsqd.NewChannel in goroutine 967
"""
GREETED = """panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x737cb3]

goroutine 126 [running]:
compress/flate.(*Writer).Write(0x4?, {0xb1e81861030?, 0x819cc101?, 0xb1e8173f8f0?})
\t/usr/local/go/src/compress/flate/deflate.go:709 +0x13
bufio.(*Writer).Flush(0xb1e816d2dc0)
\t/usr/local/go/src/bufio/bufio.go:642 +0x52
github.com/youzan/nsq/nsqd.(*ClientV2).Flush(0xb1e81874a08)
github.com/youzan/nsq/nsqdserver.(*protocolV2).IDENTIFY(0xb1e8188c140, 0xb1e81874a08)
"""


def case(index: int, kind: str, *labels: str, mutation: str = "zero") -> Case:
    steps = tuple(Step(b"%d" % index, label=label) for label in labels or (f"{kind}: size zero",))
    return Case(index, "fresh", kind, "size", mutation, steps, True)


class Dying(Standing):
    """A target that says in its log why it died, and dies of some cases only."""

    def __init__(self, *, deadly: Sequence[str], log: str) -> None:
        super().__init__(lambda cases: any(each.frame_kind in deadly for each in cases))
        self.log = log

    def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        if violated != DEAD and super().probe(cases, violated) is not None:
            self.side_deaths.append(self.dies_of(*cases))
            return None
        found = super().probe(cases, violated)
        return replace(found, log=self.log) if found is not None else None

    def probe_fresh(self, cases: Sequence[Case], wait_s: float) -> Anomaly | None:
        return None

    def dies_of(self, *cases: Case, log: str = "") -> Anomaly:
        words = log or self.log
        return Anomaly(Trouble(DEAD, "it died"), cases, cases[-1], DEAD, log=words)


def test_deaths_whose_last_words_name_one_function_are_one_finding() -> None:
    target = Dying(deadly=["IDENTIFY"], log=FLATE)
    triage = Triage(cast(Any, target))
    triage.follow(target.dies_of(case(1, "IDENTIFY")))
    probes = target.probes

    again = FLATE.replace("goroutine 126", "goroutine 7").replace("0x4?", "0x8?")
    triage.follow(target.dies_of(case(2, "conversation"), log=again))

    (finding,) = target.findings.by_id.values()
    assert (finding.signature.frame_kind, finding.seen) == ("IDENTIFY", 2)
    assert target.probes == probes, "a death that is known is not looked for again"


def test_another_function_is_another_finding() -> None:
    target = Dying(deadly=["IDENTIFY", "PUB_EXT"], log=FLATE)
    triage = Triage(cast(Any, target))
    triage.follow(target.dies_of(case(1, "IDENTIFY")))
    target.log = SLICE
    triage.follow(target.dies_of(case(2, "PUB_EXT")))

    kinds = [each.signature.frame_kind for each in target.findings.by_id.values()]
    assert kinds == ["IDENTIFY", "PUB_EXT"]


def test_another_function_is_looked_for_once_although_its_frame_has_killed_before() -> None:
    target = Dying(deadly=["IDENTIFY"], log=FLATE)
    Triage(cast(Any, target)).follow(target.dies_of(case(1, "IDENTIFY")))
    dead = target.dies_of(case(2, "IDENTIFY"), log=SLICE)

    assert target.findings.meet(dead, "another function", sparing=True) is None
    assert target.findings.meet(dead, "another function", sparing=True) is not None
    assert target.findings.meet(dead, sparing=True) is not None


def test_a_frame_of_which_a_target_dies_often_is_sent_no_more() -> None:
    target = Dying(deadly=["IDENTIFY"], log=FLATE)
    triage = Triage(cast(Any, target))
    blocklist = target.batches.blocklist
    same_field = case(90, "IDENTIFY", mutation="never sent")
    same_frame = replace(same_field, field="json")
    for number in range(MOST_DEADLY):
        assert blocklist.holds(same_field, None) == (number >= DEADLY), number
        assert not blocklist.holds(same_frame, None), number
        triage.follow(target.dies_of(case(number, "IDENTIFY", mutation=f"m{number}")))

    assert blocklist.holds(same_frame, None)
    assert not blocklist.holds(case(91, "PUB"), None)


def test_two_deaths_of_one_field_in_two_functions_are_two_findings() -> None:
    target = Dying(deadly=["MPUB_EXT"], log=BATCH)
    triage = Triage(cast(Any, target))
    triage.follow(target.dies_of(case(1, "MPUB_EXT")))
    target.log = STORED
    triage.follow(target.dies_of(case(2, "MPUB_EXT")))
    triage.follow(target.dies_of(case(3, "MPUB_EXT")))

    first, second = target.findings.by_id.values()
    assert (first.signature.field, second.signature.field) == ("size", "size")
    assert "decodeMessage" in second.signature.answer
    assert (first.seen, second.seen) == (1, 2)


def test_a_death_that_comes_of_looking_for_something_else_is_looked_for_itself() -> None:
    target = Dying(deadly=["PUB_EXT"], log=SLICE)
    seen = case(3, "PUB_EXT")
    closed = Anomaly(Trouble(CLOSED, "closed"), (seen,), seen, CLOSED)

    Triage(cast(Any, target)).follow_all([closed], lambda: False)

    (finding,) = target.findings.by_id.values()
    assert finding.signature.violated == DEAD, "what it did before its death belongs to that"


@pytest.mark.parametrize(
    ("log", "function", "named"),
    [
        (SLICE, "internalPubExtAndTrace", ["PUB_EXT"]),
        (BATCH, "readMPUBEXT", ["MPUB_EXT"]),
        (STORED, "decodeMessage", []),
        (GREETED, "flate.(*Writer).Write", ["IDENTIFY"]),
    ],
    ids=["publish", "batch", "stored", "greeted"],
)
def test_recorded_deaths_of_a_real_broker_tell_function_and_frame(
    log: str, function: str, named: Sequence[str]
) -> None:
    kinds = ("PUB", "PUB_EXT", "MPUB", "MPUB_EXT", "PUB_TRACE", "SUB", "IDENTIFY", "FIN")
    cases = [case(number, kind) for number, kind in enumerate(kinds)]

    assert find_reason(log).endswith(function)
    assert [each.frame_kind for each in named_in(log, cases)] == named


def test_the_cases_that_the_last_words_name_are_tried_first() -> None:
    cases = [
        case(1, "PUB"),
        case(2, "PUB_EXT"),
        case(3, "conversation", "0: PUB_EXT"),
        case(4, "-"),
    ]

    assert named_in(SLICE, cases) == cases[1:3]
    assert named_in(FLATE, cases) == []
    assert named_in("", cases) == []
    handler = "thread 'x' panicked at server::send_messages_handler::handle"
    assert named_in(handler, [case(5, "send_messages"), *cases]) == [case(5, "send_messages")]


@pytest.mark.parametrize(
    ("kind", "labels", "named"),
    [
        ("PUB", ("magic", "PUB: size zero"), "PUB"),
        ("PUB", ("magic", "IDENTIFY"), "IDENTIFY"),
        ("conversation", ("magic", "0: IDENTIFY"), "IDENTIFY"),
        ("conversation", ("0: IDENTIFY: json a: b",), "IDENTIFY"),
        ("PUB", ("PUB: frame followed", "SUB"), "PUB"),
        ("-", ("nothing",), "-"),
    ],
)
def test_a_finding_is_named_by_the_frame_that_is_left(
    kind: str, labels: tuple[str, ...], named: str
) -> None:
    left = named_by_what_is_left(case(1, kind, *labels))

    assert left.frame_kind == named
    assert (left.mutation == GRAMMAR) == (named != kind)


def test_a_document_is_shrunk_to_the_member_that_matters() -> None:
    document = {"a": 1, "deflate": True, "b": {"c": [1, 2], "level": -8}, "d": "}"}
    data = json.dumps(document).encode()
    frame = b"IDENTIFY\n" + len(data).to_bytes(4) + data

    def still(data: bytes) -> bool:
        return b"deflate" in data and b"level" in data

    while smaller := next(filter(still, smaller_members(frame)), b""):
        frame = smaller

    head, _, rest = frame.partition(b"\n")
    assert head == b"IDENTIFY"
    assert json.loads(rest[4:]) == {"deflate": True, "b": {"level": -1}}
    assert int.from_bytes(rest[:4]) == len(rest) - 4


def test_lengths_around_a_document_stay_right_when_it_shrinks() -> None:
    header = b'{"a":1,"b":2}'
    body = len(header).to_bytes(2) + header + b"body"
    for data in smaller_members(b"PUB_EXT t\n" + len(body).to_bytes(4) + body):
        left = data.partition(b"\n")[2]
        length = int.from_bytes(left[4:6])
        assert int.from_bytes(left[:4]) == len(left) - 4
        assert left[6 + length :] == b"body"

    post = b"POST /pub HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(header), header)
    for data in smaller_members(post):
        head, _, left = data.partition(b"\r\n\r\n")
        assert int(head.rpartition(b" ")[2]) == len(left)

    wrong = b"IDENTIFY\n" + (99).to_bytes(4) + header
    assert all(data[9:13] == (99).to_bytes(4) for data in smaller_members(wrong))
    assert not list(smaller_members(b'PUB t\n{"broken": ')) + list(smaller_members(b"{}"))


@pytest.mark.parametrize(
    ("document", "is_held"),
    [
        ({"deflate": True, "deflate_level": -3}, True),
        ({"deflate": True, "deflate_level": -70, "client_id": "c"}, True),
        ({"deflate": True, "deflate_level": -2}, False),
        ({"deflate": True, "deflate_level": 3}, False),
        ({"deflate": False, "deflate_level": -3}, False),
        ({"deflate_level": -3}, False),
        ({"deflate": True, "deflate_level": "-3"}, False),
    ],
)
def test_documents_like_one_that_killed_are_sent_no_more(
    document: Mapping[str, object], *, is_held: bool
) -> None:
    known = frame_of({"deflate": True, "deflate_level": -3})
    target = Dying(deadly=["IDENTIFY"], log=FLATE)
    Triage(cast(Any, target)).follow(target.dies_of(known))

    assert (
        target.batches.blocklist.holds(replace(frame_of(document), field="json"), None) == is_held
    )


def test_members_that_kill_are_left_out_of_cases_that_try_something_else() -> None:
    blocklist = Blocklist(documents=[{"deflate": True, "deflate_level": -3}])
    members = {"sample_rate": 100, "deflate": True, "deflate_level": -7}
    deadly = replace(frame_of(members), mutation="JSON: sample_rate is 100")

    assert blocklist.holds(deadly, None)
    assert blocklist.spare(deadly).steps == frame_of({"sample_rate": 100}).steps
    tried = replace(deadly, mutation="JSON: deflate_level is -7")
    spared = {"sample_rate": 100, "deflate_level": -7}
    assert blocklist.spare(tried).steps == frame_of(spared).steps
    assert blocklist.spare(frame_of(spared)) == frame_of(spared)


@pytest.mark.parametrize("needed", [("m0",), ("m0", "m17"), ("m8", "m9", "m10")])
def test_few_tries_find_the_members_that_are_needed(needed: tuple[str, ...]) -> None:
    whole = frame_of({f"m{number}": number for number in range(18)}).steps[0].data
    tries = list[bytes]()

    def is_enough(data: bytes) -> bool:
        tries.append(data)
        return set(needed) <= find_members(data).keys()

    assert tuple(find_members(fewest_members(whole, is_enough))) == needed
    assert len(tries) < len(find_members(whole)) + len(needed)


def frame_of(document: Mapping[str, object]) -> Case:
    data = json.dumps(document, separators=(",", ":")).encode()
    steps = (Step(b"IDENTIFY\n" + len(data).to_bytes(4) + data, label="IDENTIFY"),)
    return Case(1, "fresh", "IDENTIFY", "size", "zero", steps, True)


def test_last_words_that_come_late_belong_to_the_death(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("started\n")
    reader = LogReader(log)
    with log.open("a") as file:
        file.write(FLATE)
    assert reader.read_new().startswith("panic")
    with log.open("a") as file:
        file.write(SLICE)

    assert reader.read_new().startswith("panic: runtime error: slice")


@pytest.mark.parametrize(("count", "is_told"), [(3, False), (40, True)])
def test_a_finding_of_many_cases_says_that_it_is_not_known_which(
    count: int, is_told: bool
) -> None:
    cases = tuple(case(number, f"K{number}") for number in range(count))
    target = Standing(lambda sent: len(sent) >= count)
    target.plan = replace(target.plan, shrink=False)
    seen = Anomaly(Trouble(CLOSED, "closed"), cases, None)

    Triage(cast(Any, target)).follow(seen)

    (finding,) = target.findings.by_id.values()
    assert (f"before the {count} cases were reduced" in finding.trouble.words) == is_told
