"""What a user sees of a run: rows, blocks, closing lines, events; never wider than 80 columns."""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from bundle_fixture import write_bundle

from wireproof.view.banner import banner
from wireproof.view.display import EventDisplay, LineDisplay, LiveDisplay
from wireproof.view.rows import SIGNS, UNCOUNTED, by_interface, case_line, counts, row
from wireproof.view.style import PLAIN, Style
from wireproof.view.summary import Result, summary, verdict
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_reports.causes import fold
from wireproof_spec.clauses.catalogue import Level
from wireproof_spec.record import VERDICTS, FooterRecord, Verdict
from wireproof_spec.step_record import StepRecord, TranscriptRecord

ESCAPE = re.compile(r"\x1b\[[\d;]*[A-Za-z]")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return read_bundle(write_bundle(tmp_path_factory.mktemp("view") / "run.jsonl"))


def result(bundle: Bundle) -> Result:
    assert bundle.footer is not None
    return Result(bundle.header, bundle.cases, bundle.footer, Path("out/run.jsonl"))


def told(
    bundle: Bundle, *, verbose: int = 0, quiet: bool = False, style: Style = PLAIN
) -> list[str]:
    return list(summary(result(bundle), verbose=verbose, quiet=quiet, style=style))


def plain(lines: Sequence[str]) -> list[str]:
    return [ESCAPE.sub("", line) for line in lines]


def test_the_summary_fits_80_columns_and_ends_with_the_exit_code(bundle: Bundle) -> None:
    lines = told(bundle)

    assert max(map(len, lines)) <= 80
    assert re.fullmatch(r"NOT CONFORMANT   \d+ new causes .* seed 7319 +exit 1", lines[-1])
    assert len(lines[-1]) == 80


def test_colour_carries_nothing_alone(bundle: Bundle) -> None:
    coloured = told(bundle, style=Style(coloured=True))

    assert coloured != told(bundle)
    assert plain(coloured) == told(bundle)


def test_a_cause_is_told_once_with_law_bytes_and_the_way_on(bundle: Bundle) -> None:
    text = "\n".join(told(bundle))
    block = text[text.index("FAIL     nsq/publish/header-name/space") :].partition("\n\n")[0]

    assert "SHOULD ext.publish.header-name" in block
    assert "5/5 repeats" in block
    assert "  expected  any error frame, connection open" in block
    assert "  actual    OK, connection open" in block
    assert "  differs   frame_type at byte 4: expected 1 (error), found 0 (response)" in block
    assert re.search(r"json_header +<-- made wrong here", block)
    assert re.search(r"frame_type = 0 \(response\) +<-- differs", block)
    assert "same cause  2 more cases: /quote, /dot" in block
    assert (
        "  replay    wireproof replay nsq/publish/header-name/space \\\n"
        "            --bundle out/run.jsonl\n" in block
    )
    assert "wireproof explain ext.publish.header-name" in block


def test_a_replay_is_named_only_where_one_is_possible(bundle: Bundle) -> None:
    cases = tuple(msgspec.structs.replace(case, hazard=True) for case in bundle.cases)
    refused = "\n".join(told(replace(bundle, cases=cases)))

    assert "wireproof replay" in "\n".join(told(bundle))
    assert "wireproof replay" not in refused
    assert "wireproof explain ext.publish.header-name" in refused


def test_verbose_shows_every_step_and_twice_every_byte(bundle: Bundle) -> None:
    brief, verbose, all_bytes = ("\n".join(told(bundle, verbose=count)) for count in range(3))

    assert "A open" not in brief
    assert "A open" in verbose
    assert len(brief) < len(verbose) < len(all_bytes)


def test_what_is_neither_pass_nor_failure_is_told_by_reason(bundle: Bundle) -> None:
    text = "\n".join(told(bundle))

    assert re.search(r"^known +2 known until 2027-03-31", text, re.MULTILINE)
    assert re.search(r'^reading +2 trace-empty: follows "deployed": only', text, re.MULTILINE)
    assert re.search(r"^n/a +4 needs upgrading a topic", text, re.MULTILINE)
    assert re.search(r"^undecided +1 ", text, re.MULTILINE)
    assert re.search(r"^unstable +1 pass in 3 of 5 repeats", text, re.MULTILINE)
    assert re.search(r"^kit error +1 ", text, re.MULTILINE)
    assert "clauses  " in text
    assert "upgrade not judged" in text


def test_undecided_cases_that_differ_in_a_port_are_one_entry(bundle: Bundle) -> None:
    (undecided,) = (each for each in bundle.cases if each.verdict == "inconclusive")
    cases = tuple(
        msgspec.structs.replace(
            undecided, case=f"nsq/x/{port}", reason=f"nobody came to 127.0.0.1:{port} in time"
        )
        for port in (4150, 41500)
    )
    text = "\n".join(told(replace(bundle, cases=cases)))

    assert "undecided  2 nobody came to 127.0.0.1:… in time" in text


def test_an_undecided_observation_is_said_in_words(bundle: Bundle) -> None:
    (undecided,) = (each for each in bundle.cases if each.verdict == "inconclusive")
    reason = "saw incomplete, which neither keeps nor breaks the clause"
    case = msgspec.structs.replace(
        undecided, case="nsq/client-lookup/x", observation="incomplete", reason=reason
    )
    text = " ".join("\n".join(told(replace(bundle, cases=(case,)))).split())

    said = "saw incomplete (what the case waits for did not come), which neither keeps"
    assert f"undecided 1 {said} nor breaks the clause" in text


def test_quiet_is_the_last_line_alone(bundle: Bundle) -> None:
    assert told(bundle, quiet=True) == told(bundle)[-1:]


@pytest.mark.parametrize(
    ("code", "words", "cases"),
    [
        (0, "NO FAILURE up to level", "10 cases  "),
        (2, "NOT JUDGED", "JUDGED   4 of 10 cases  "),
        (3, "UNDECIDED", "UNDECIDED   3 of 10 cases  "),
        (130, "INTERRUPTED", "INTERRUPTED   10 cases  "),
    ],
)
def test_each_exit_code_has_its_words_and_the_number_of_its_cases(
    bundle: Bundle, code: int, words: str, cases: str
) -> None:
    verdicts = {"pass": 6, "inconclusive": 2, "unstable": 1, "unsupported": 1}

    (line,) = verdict(bundle.header, FooterRecord(verdicts, (), {}, code, ""), (), style=PLAIN)

    assert line.startswith(words)
    assert cases in line
    assert line.endswith(f"exit {code}")


def test_a_stale_deviations_file_is_no_failure_of_the_target(bundle: Bundle) -> None:
    footer = FooterRecord({"pass": 1}, (), {}, 1, "publish 1/1 must", stale=("nsq/x",))

    (line,) = verdict(bundle.header, footer, (), style=PLAIN)

    assert line.startswith("DEVIATIONS FILE OUT OF DATE   1 stale, 0 expired")


def test_every_verdict_has_a_sign_of_its_own() -> None:
    assert set(SIGNS) == {*VERDICTS, UNCOUNTED}
    assert len(set(SIGNS.values())) == len(VERDICTS) + 1


@pytest.mark.parametrize("number", [0, 1, 31, 32, 33, 64, 500])
def test_a_row_holds_every_letter_and_its_counts(number: int) -> None:
    passes: list[Verdict] = ["pass"] * number
    verdicts: list[Verdict] = [*passes, "fail"]

    lines = row("nsq/publish", verdicts, PLAIN)

    letters = "".join(lines).replace("nsq/publish", "")
    assert letters.count(".") == number
    assert max(map(len, lines)) <= 80
    assert lines[-1].endswith("1 FAIL")


def test_counts_name_every_verdict() -> None:
    assert counts(VERDICTS) == (
        "1 pass 1 other reading 1 FAIL 1 known 1 n/a 1 undecided 1 unstable 1 KIT ERROR"
    )


def test_a_row_with_all_verdicts_fits() -> None:
    lines = row("nsq/publish", list(VERDICTS) * 12, PLAIN)

    letters = [line for line in lines if "pass" not in line and "KIT ERROR" not in line]
    assert max(map(len, lines)) <= 80
    assert sum(line.count("F") for line in letters) == 12
    assert "12 pass" in lines[len(letters)]
    assert lines[-1].endswith("12 KIT ERROR")


def test_interfaces_keep_their_order(bundle: Bundle) -> None:
    assert list(by_interface(bundle.cases, bundle.header))[:3] == [
        "nsq/publish",
        "nsq/http",
        "nsq/parser",
    ]


def test_the_banner_names_target_claims_and_what_is_left_out(bundle: Bundle) -> None:
    text = "\n".join(banner(bundle.header, bundle=Path("b.jsonl")))

    assert "seed 7319" in text
    assert "harbor-mq 4.2.0-rc1" in text
    assert "tls claimed, BROKEN" in text
    assert "not selected: ext.disk (give --data to judge it)" in text


def test_the_banner_says_which_cases_an_option_leaves(bundle: Bundle) -> None:
    header = msgspec.structs.replace(
        bundle.header,
        narrowed=("-k trace", "--lf"),
        not_selected={"a.b": "old", "a.c": "--exclude", "a.d": "old"},
    )
    text = " ".join("\n".join(banner(header, bundle=None)).split())

    assert "narrowed by: -k trace, --lf (cases that failed last time, or in which a" in text
    assert "not selected: a.b, a.d (old) not selected: a.c (--exclude)" in text


def bundle_count(bundle: Bundle, name: str) -> int:
    return sum(record.verdict == name for record in bundle.cases)


def test_a_terminal_shows_a_long_wait_below_the_rows_and_draws_over_it(bundle: Bundle) -> None:
    out, clock = Terminal(), Clock()
    display = LiveDisplay(out, PLAIN, height=24, clock=clock)
    display.begin(bundle.header, selected=2)
    display.case(bundle.cases[0])
    drawn = len(out.getvalue().splitlines())
    display.wait("nsq/cluster/moved", 30.0)
    clock.now += 1
    display.case(bundle.cases[1])

    assert out.getvalue().splitlines()[drawn] == "waiting  [ 30 s for nsq/cluster/moved ]"
    rows_and_progress = 2
    assert f"\x1b[{rows_and_progress + 1}F" in out.getvalue()


def test_live_rows_are_redrawn_in_place_and_end_whole(bundle: Bundle) -> None:
    out, clock = Terminal(), Clock()
    display = LiveDisplay(out, PLAIN, height=6, clock=clock)

    display.begin(bundle.header, selected=len(bundle.cases))
    for record in bundle.cases:
        clock.now += 0.06
        display.case(record)
    display.end(result(bundle))

    text = out.getvalue()
    drawings = text.split("\x1b[J")
    assert len(drawings) > 10
    assert all(drawing.count("\n") <= 5 for drawing in drawings[1:-1])
    final = drawings[-1].splitlines()
    assert final[0].startswith("nsq/publish")
    count = len(bundle.cases)
    told = f"[ {count}/{count}, {0.06 * count:.1f} s, 17 cases/s ]"
    assert final[final.index("") - 1].strip() == told
    assert final[-1].endswith("exit 1")


def test_a_fault_leaves_the_rows_standing(bundle: Bundle) -> None:
    out = Terminal()
    display = LiveDisplay(out, PLAIN, height=24, clock=Clock())
    display.begin(bundle.header, selected=2)
    display.case(bundle.cases[0])

    display.fault("the kit broke")

    assert "nsq/publish           F" in out.getvalue()


def test_events_end_with_the_verdict(bundle: Bundle) -> None:
    out, human = io.StringIO(), io.StringIO()
    display = EventDisplay(out, LineDisplay(human, None, PLAIN), Path("b.jsonl"))

    display.begin(bundle.header, selected=len(bundle.cases))
    for record in bundle.cases:
        display.case(record)
    display.end(result(bundle))

    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [event["event"] for event in events] == [
        "header",
        *["case"] * len(bundle.cases),
        "verdict",
    ]
    assert events[0]["claims"]["tls"] == "broken"
    assert events[-1]["exit"] == 1
    assert sum(len(cause["cases"]) for cause in events[-1]["causes"]) == bundle_count(
        bundle, "fail"
    )
    assert human.getvalue().endswith("exit 1\n")


@pytest.mark.parametrize("profile", ["must", "should"])
def test_only_a_failure_that_counts_is_called_one(bundle: Bundle, profile: Level) -> None:
    header = msgspec.structs.replace(bundle.header, profile=profile)
    failed = [record for record in bundle.cases if record.verdict == "fail"]
    counted = [record for record in failed if header.counts(record.level, record.origin)]
    lines = [case_line(record, header, PLAIN) for record in failed]
    marks = [each for row in by_interface(failed, header).values() for each in row]
    blocks = told(replace(bundle, header=header))

    assert (len(counted) < len(failed)) == (profile == "must")
    assert sum(line.startswith("FAIL ") for line in lines) == len(counted)
    assert sum(line.startswith("NOT COUNTED (should) ") for line in lines) == len(failed) - len(
        counted
    )
    assert marks.count("fail") == len(counted)
    assert marks.count(UNCOUNTED) == len(failed) - len(counted)
    causes = [cause for cause in fold(failed, header) if cause.count_cases(header)]
    assert sum(line.startswith("FAIL ") for line in blocks) == len(causes)


def test_a_fault_is_an_event_too() -> None:
    out = io.StringIO()
    display = EventDisplay(out, LineDisplay(io.StringIO(), None, PLAIN))

    display.fault("cannot reach it")

    told = json.loads(out.getvalue())
    assert (told["event"], told["exit"], told["fault"]) == ("verdict", 2, "cannot reach it")
    assert not told["verdicts"]


DOCUMENT = b'{"producers": %s}' % (b'["a", 7, true], ' * 20)


def test_what_a_client_was_sent_is_shown_in_part_and_whole(bundle: Bundle) -> None:
    failed = next(record for record in bundle.cases if record.verdict == "fail")
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(DOCUMENT) + DOCUMENT
    asked = b"GET /lookup?topic=t HTTP/1.1\r\nHost: a\r\n\r\n"
    frame = b"\x00\x00\x00\x0a\x00\x00\x00\x09\xff\x00\x81\x02\xf0\xf1"
    steps = (
        StepRecord(1, "lookupd1.1", "open"),
        StepRecord(2, "lookupd1.1", "send", asked.hex()),
        StepRecord(3, "lookupd1.1", "receive", answer.hex()),
        StepRecord(4, "nsqd1.1", "open"),
        StepRecord(5, "nsqd1.1", "receive", frame.hex()),
    )
    ended = msgspec.structs.replace(failed, transcript=TranscriptRecord(steps))
    target = msgspec.structs.replace(bundle.header.target, role="client")
    header = msgspec.structs.replace(bundle.header, target=target)
    one = replace(bundle, header=header, cases=(ended,))
    brief, verbose, whole = ("\n".join(told(one, verbose=count)) for count in range(3))

    assert f"200, {len(DOCUMENT)} bytes" in brief
    assert "producers" not in brief
    assert 'bytes\n              {"producers": ["a", 7, true],' in verbose
    assert len(verbose) < len(whole)
    shown = "".join(line.strip() for line in whole.splitlines()).replace(" ", "")
    assert DOCUMENT.decode().replace(" ", "") in shown
    assert "ff 00 81 02 f0 f1" in verbose


def test_the_end_of_a_clients_stderr_is_shown(bundle: Bundle) -> None:
    failed = next(record for record in bundle.cases if record.verdict == "fail")
    lines = [f"line {number}\n" for number in range(30)] + ["KeyError: 'id' \x1b[31m\n"]
    data = "".join(lines).encode()
    step = StepRecord(1, "stderr", "receive", data.hex(), length=len(data))
    ended = msgspec.structs.replace(failed, transcript=TranscriptRecord((step,)))
    target = msgspec.structs.replace(bundle.header.target, role="client")
    header = msgspec.structs.replace(bundle.header, target=target)
    text = "\n".join(told(replace(bundle, header=header, cases=(ended,))))

    assert "  stderr    line 25\n" in text
    assert "            KeyError: 'id' \\x1b[31m\n" in text
    assert "line 24" not in text
