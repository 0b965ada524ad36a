"""A bundle made by hand: one run against an invented broker, with every verdict in it."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from wire_fixture import (
    Exchange,
    error,
    message,
    ok,
    pub_ext,
    trace_response,
)

from wireproof_spec.catalogue import load_catalogue
from wireproof_spec.record import (
    BindingRecord,
    CaseRecord,
    ClaimRecord,
    DifferenceRecord,
    FooterRecord,
    GroupRecord,
    HeaderRecord,
    RepeatsRecord,
    SeenRecord,
    TargetRecord,
    TranscriptRecord,
)

URL = "nsq://127.0.0.1:4150"
TRACE_ID = 1234567
LITTLE = int.from_bytes(TRACE_ID.to_bytes(8, "little"), "big")


def hashed(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:12]


def case(
    id: str,
    clause: str,
    title: str,
    observation: str,
    verdict: str = "pass",
    **more: object,
) -> CaseRecord:
    """One record; level from the catalogue, a plausible transcript unless given."""
    law = load_catalogue("nsq").clause(clause)
    values: dict[str, object] = {
        "kind": "case",
        "case": f"nsq/{id}",
        "case_hash": hashed(id),
        "clause": clause,
        "level": law.level if law else "must",
        "title": title,
        "observation": observation,
        "verdict": verdict,
        "reason": "as the text says",
        "accepted": [observation],
        "duration_us": 1800 + 37 * len(id),
        "transcript": published().record(),
    }
    return msgspec.convert(msgspec.to_builtins(values | more), CaseRecord)


def failed(
    id: str, clause: str, title: str, observation: str, accepted: Sequence[str], **more: object
) -> CaseRecord:
    """A failure that came out the same in five of five repeats."""
    difference = more.get("difference")
    field = difference.field if isinstance(difference, DifferenceRecord) else ""
    values: dict[str, object] = {
        "accepted": accepted,
        "reason": f"expected {' | '.join(accepted)}; saw {observation}",
        "signature": hashed(clause, field, observation),
        "repeats": RepeatsRecord(runs=5, same=5),
    }
    return case(id, clause, title, observation, "fail", **(values | more))


def published(header: bytes = b'{"k":"v"}', body: bytes = b"wp-body-1") -> Exchange:
    """PUB_EXT on a right frame, answered OK."""
    return Exchange().open(extend_support=True).send(pub_ext(header, body)).receive(ok())


def trace_little(trace_id: int = TRACE_ID) -> Exchange:
    header = b'{"##trace_id":"%d"}' % trace_id
    exchange = Exchange().open(extend_support=True).send(pub_ext(header, b"wp-body-7"))
    return exchange.receive(trace_response(9, trace_id, 4096, 61, "<"))


def header_name(header: bytes) -> CaseRecord:
    names = {b'{"a b":"1"}': "space", b'{"a\\"b":"1"}': "quote", b'{"a.b":"1"}': "dot"}
    exchange = Exchange().open(extend_support=True)
    exchange.send(pub_ext(header, b"wp-body-2", wrong="json_header")).receive(ok())
    return failed(
        f"publish/header-name/{names[header]}",
        "ext.publish.header-name",
        "PUB_EXT with a header name outside the permitted characters",
        "ok,open",
        ["error:*,open", "error:*,closed"],
        difference=DifferenceRecord("frame_type", 4, "1 (error)", "0 (response)"),
        transcript=exchange.record(),
    )


def crash(length: int) -> CaseRecord:
    header = b'{"k":"' + b"a" * (length - 8) + b'"}'
    exchange = Exchange().open(extend_support=True).send(pub_ext(header, b"x"))
    return failed(
        f"parser/header-length/{length}",
        "ext.parser.header-length",
        f"PUB_EXT with a header of {length} bytes",
        "died",
        ["ok,open", "error:*,open", "error:*,closed"],
        hazard=True,
        control="dead",
        repeats=RepeatsRecord(runs=1, same=1),
        transcript=exchange.close(note="reset by peer").record(),
    )


def http_header() -> CaseRecord:
    request = (
        b"POST /pub_ext?topic=wp_9f2c_4&partition=0&ext=%7B%7D HTTP/1.1\r\n"
        b"Host: 127.0.0.1:4151\r\nX-NSQEXT-Colour: Blue\r\nContent-Length: 9\r\n\r\nwp-body-5"
    )
    exchange = Exchange().http(
        request, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nOK"
    )
    exchange.open(extend_support=True).send([(b"SUB wp_9f2c_4 ch_1\n", "command line")])
    exchange.receive(ok()).send([(b"RDY 1\n", "command line")])
    exchange.receive(message(77, b'{"Colour":"Blue"}', b"wp-body-5"))
    exchange.send(
        [(b"FIN ", "command"), (b"\0" * 7 + b"\x4d" + b"\0" * 8, "message id"), (b"\n", "end")]
    )
    return failed(
        "http/x-nsqext/lower-case",
        "ext.http.x-nsqext",
        "An X-NSQEXT- header with capitals in its name",
        "delivered:header-changed",
        ["delivered:as-sent"],
        difference=DifferenceRecord("json_header", 37, '{"colour":"Blue"}', '{"Colour":"Blue"}'),
        transcript=exchange.record(),
    )


def failures() -> Iterator[CaseRecord]:
    for name, trace_id in (("small", TRACE_ID), ("zero", 0), ("highest", 2**64 - 1)):
        yield failed(
            f"publish/trace-response/{name}",
            "ext.publish.trace-response",
            "PUB_EXT with a trace id is answered with 30 bytes in network byte order",
            "trace:little-endian",
            ["trace", "trace,open"],
            difference=DifferenceRecord("trace_id", 18, str(trace_id), str(LITTLE)),
            transcript=trace_little(trace_id).record(),
        )
    for header in (b'{"a b":"1"}', b'{"a\\"b":"1"}', b'{"a.b":"1"}'):
        yield header_name(header)
    yield http_header()
    yield crash(65534)
    yield crash(65535)


def undecided() -> Iterator[CaseRecord]:
    yield case(
        "dispatch/leave/midway",
        "ext.dispatch.leave",
        "The last client with the tag leaves with a message in flight",
        "delivered:as-sent",
        "unstable",
        reason="pass in 3 of 5 repeats: as the text says",
        repeats=RepeatsRecord(5, 3, (SeenRecord("missing", overdue=True, control="prompt"),) * 2),
    )
    yield case(
        "parser/header-length/after",
        "ext.parser.header-length",
        "The next connection after a header of 65535 bytes",
        "inconclusive",
        "inconclusive",
        reason="target died at nsq/parser/header-length/65535",
        transcript=TranscriptRecord(),
    )
    yield case(
        "http/value-exact/big-number",
        "ext.http.value-exact",
        "A 64-bit number in ext arrives as the same number",
        "kit-error",
        "error",
        reason="the case ended with KeyError: 'ext' (an error of the kit, not of the target)",
    )


def others() -> Iterator[CaseRecord]:
    trace = Exchange().open(extend_support=True)
    trace.send(pub_ext(b'{"##trace_id":""}', b"wp-body-3", wrong="json_header"))
    trace.receive(error("INVALID_TRACE_ID invalid trace id"))
    for id, clause in (("publish", "ext.publish.trace-empty"), ("http", "ext.http.trace-empty")):
        yield case(
            f"{id}/trace-empty/string",
            clause,
            "An empty string as trace id",
            "error:INVALID_TRACE_ID,open",
            "reading",
            reason="follows reading trace-empty=deployed",
            reading="trace-empty=deployed",
            transcript=trace.record(),
        )
    for name in ("duplicate", "nan"):
        yield case(
            f"publish/header-strict/{name}",
            "ext.publish.header-strict",
            "A header that only a lenient reader takes for JSON",
            "ok,open",
            "known",
            reason="known until 2027-03-31: the header reader is replaced in 4.3 (issue 812)",
            accepted=["error:*,open", "error:*,closed"],
            signature=hashed("ext.publish.header-strict", "", "ok,open"),
        )
    for clause in ("accept", "old-messages", "subscribe-rules", "open-subscription"):
        yield case(
            f"upgrade/{clause}",
            f"ext.upgrade.{clause}",
            "An old topic gets the extend feature",
            "unavailable",
            "unsupported",
            reason="needs upgrading a topic, which the target neither claims nor shows "
            "(probe: http:404,NOT_FOUND)",
            transcript=TranscriptRecord(),
        )


def passes() -> Iterator[CaseRecord]:
    """Two passing cases for every tested clause that the run could reach."""
    taken = {record.clause for record in [*failures(), *undecided(), *others()]}
    skipped = ("ext.disk.", "ext.upgrade.")
    for clause in load_catalogue("nsq").clauses():
        reached = clause.status == "tested" and not clause.id.startswith(skipped)
        if not reached or not clause.id.startswith("ext.") or clause.id == "ext.parser.empty-body":
            continue
        subject = clause.id.removeprefix("ext.").replace(".", "/")
        for name in ("plain", "long") if clause.id not in taken else ("plain",):
            exchange = published(body=b"wp-body-1" if name == "plain" else b"wp" * 2500)
            yield case(
                f"{subject}/{name}",
                clause.id,
                f"{clause.law.split(':')[0].split(',')[0].rstrip('.')} ({name} body)",
                "ok,open",
                transcript=exchange.record(),
            )


def header(**changes: object) -> HeaderRecord:
    """The run's first line."""
    probe = published().record()
    absent = Exchange().http(
        b"POST /topic/meta/update?topic=wp_9f2c_1&upgradeext=true HTTP/1.1\r\n"
        b"Host: 127.0.0.1:4151\r\nContent-Length: 0\r\n\r\n",
        b'HTTP/1.1 404 Not Found\r\nContent-Length: 23\r\n\r\n{"message":"NOT_FOUND"}',
    )
    values: dict[str, object] = {
        "kind": "header",
        "format": 1,
        "kit": "0.1.0",
        "spec": {"ext": 1},
        "seed": 7319,
        "target": TargetRecord(
            url=URL,
            protocol="nsq",
            fingerprint={"name": "harbor-mq", "version": "4.2.0-rc1"},
            given=("http",),
        ),
        "claims": {
            "ext": ClaimRecord("shown", "ok", claimed=True, transcript=probe),
            "trace": ClaimRecord("shown", "trace", transcript=trace_little().record()),
            "http": ClaimRecord("shown", "ok"),
            "upgrade": ClaimRecord("absent", "http:404,NOT_FOUND", transcript=absent.record()),
            "tls": ClaimRecord("broken", "closed", claimed=True),
        },
        "readings": {
            "trace-empty": BindingRecord("deployed", "error:INVALID_TRACE_ID,open", probe),
            "ext-error-codes": BindingRecord(
                "deployed", "error:E_INVALID_JSON_HEADER,open", probe
            ),
            "pub-bad-topic": BindingRecord("published", "error:E_BAD_TOPIC,closed", probe),
            "header-value": BindingRecord(None, "unavailable"),
        },
        "patience": {"answer": 0.3, "push": 10.0, "redelivery": 12.5},
        "selection": ["ext"],
        "not_selected": {"ext.disk": "give --data to judge it"},
        "started": "2026-11-21T09:12:44Z",
        "command": f"wireproof run {URL} ext --profile should --seed 7319 --bundle run-0142.jsonl",
        "profile": "should",
    }
    return msgspec.convert(msgspec.to_builtins(values | changes), HeaderRecord)


def footer(cases: Sequence[CaseRecord], exit: int = 1) -> FooterRecord:
    """The run's last line, counted from its cases; its hash is still to be set."""
    groups = []
    for group in load_catalogue("nsq").groups:
        own = [record for record in cases if record.clause.startswith(group.group + ".")]
        if not own:
            continue
        counts: dict[str, tuple[int, int]] = {}
        for record in own:
            asserted = record.verdict in ("pass", "reading", "fail", "known")
            good, all_ = counts.get(record.level, (0, 0))
            conforms = record.verdict in ("pass", "reading")
            counts[record.level] = (good + conforms, all_ + asserted)
        judged = any(all_ for _, all_ in counts.values())
        why = "" if judged else "core clauses not asserted: ext.upgrade.accept"
        groups.append(
            GroupRecord(group.group, group.title, judged, whole=True, why=why, counts=counts)
        )
    return FooterRecord(
        verdicts=dict(Counter(record.verdict for record in cases)),
        groups=tuple(groups),
        coverage={"asserted": 43, "touched": 4, "not_testable": 0, "untested": 14},
        exit=exit,
        statement="; ".join(spoken(group) for group in groups),
    )


def spoken(group: GroupRecord) -> str:
    """`publish 18/18 must, 0/4 should`."""
    name = group.group.partition(".")[2]
    if not group.judged:
        return f"{name} not judged"
    return f"{name} " + ", ".join(f"{a}/{b} {level}" for level, (a, b) in group.counts.items())


def write_bundle(
    path: Path,
    cases: Sequence[CaseRecord] | None = None,
    *,
    first: HeaderRecord | None = None,
    exit: int = 1,
) -> Path:
    """Write a whole bundle, hash included, and return its path."""
    records = [*failures(), *undecided(), *others(), *passes()] if cases is None else cases
    lines = [msgspec.json.encode(record) + b"\n" for record in (first or header(), *records)]
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    last = msgspec.structs.replace(footer(records, exit), sha256=digest)
    path.write_bytes(b"".join(lines) + msgspec.json.encode(last) + b"\n")
    return path


if __name__ == "__main__":
    write_bundle(Path("run-0142.jsonl"))
