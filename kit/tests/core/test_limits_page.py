"""The page on limits states the numbers that the code has."""

from pathlib import Path

import pytest

from wireproof.commands import decode_source
from wireproof.view import captures
from wireproof_kit import text_file
from wireproof_kit.clients import limits
from wireproof_kit.nsq.lookup import reach
from wireproof_kit.nsq.wire import connection
from wireproof_kit.proxy import tap
from wireproof_kit.wire import http
from wireproof_spec import record_file, strict_json
from wireproof_spec.driver import lines

PAGE = Path(__file__).parents[3] / "docs" / "edges.md"
MIB = 1 << 20


@pytest.mark.parametrize(
    ("what", "most"),
    [
        (
            "a bundle, decompressed",
            f"{record_file.MOST_BYTES // MIB} MiB, {record_file.MOST_LINES:,} lines,"
            f" {record_file.MOST_VALUES:,} JSON values",
        ),
        (
            "a line of a bundle",
            f"{record_file.LONGEST_LINE // MIB} MiB, {record_file.MOST_VALUES_IN_LINE:,} values",
        ),
        ("steps of a bundle, inflated", f"{record_file.MOST_INFLATED // MIB} MiB"),
        ("captures of a bundle", f"{captures.MOST_BYTES // MIB} MiB"),
        (
            "a settings, deviations or corpus file",
            f"{text_file.MOST_BYTES // MIB} MiB",
        ),
        ("a text or a capture to decode", f"{decode_source.MOST_BYTES // MIB} MiB"),
        ("JSON of a target or a file", f"{strict_json.MAX_DEPTH} levels"),
        ("nodes that lookup servers name", f"{reach.MOST_NODES} addresses"),
        ("a frame of NSQ", f"{connection.FRAME_LIMIT // MIB} MiB"),
        ("an HTTP answer", f"{http.BODY_LIMIT // MIB} MiB"),
        ("a line of a driver or an adapter", f"{lines.MAX_LINE_BYTES // MIB} MiB"),
        (
            "a client under test, in one case",
            f"{limits.OF_CASE.bytes // MIB} MiB, {limits.OF_CASE.events:,} events",
        ),
        ("its standard output and error", f"{limits.MOST_WRITTEN // MIB} MiB"),
        ("bytes that wait in the proxy", f"{tap.MOST_BYTES // MIB} MiB"),
    ],
)
def test_a_limit_is_stated_as_it_is(what: str, most: str) -> None:
    assert f"\n| {what} | {most} | " in PAGE.read_text("utf-8")
