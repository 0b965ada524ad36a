from typing import get_args

import pytest

from wireproof_reports.wording import CLAIM_WORDS, VERDICT_WORDS, printable, shown_time
from wireproof_spec.clauses.spoken import spoken, spoken_patterns
from wireproof_spec.record import VERDICTS, ClaimState


def test_every_verdict_and_claim_has_words() -> None:
    assert set(VERDICT_WORDS) == set(VERDICTS)
    assert set(CLAIM_WORDS) == set(get_args(ClaimState))
    assert len({word.sign for word in VERDICT_WORDS.values()}) == len(VERDICTS)


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        ("ok", "OK"),
        ("ok,open", "OK, connection open"),
        ("error:E_BAD_BODY,closed", "error frame E_BAD_BODY, connection closed"),
        ("error:*,open", "any error frame, connection open"),
        ("trace:little-endian", "a trace response, but little endian"),
        ("delivered:as-sent", "delivered as sent"),
        ("response:binary-3,open", "response of 3 bytes that are no text, connection open"),
        ("http:400,E_INVALID", "HTTP 400, E_INVALID"),
        ("http:4*,*,http:200,ok", "HTTP 4xx, HTTP 200, OK"),
        ("same:error:*", "the same answer to both: any error frame"),
        ("to:untagged", "delivered to the untagged client"),
        (
            "trace,open,delivered:*",
            "a trace response, right in every field, connection open, delivered",
        ),
        ("ok,others-open", "OK, other connections unharmed"),
        ("something-new:of-it,whatever", "something-new of it, whatever"),
    ],
)
def test_observations(observation: str, words: str) -> None:
    assert spoken(observation, "nsq") == words


def test_a_word_may_mean_another_thing_in_some_cases() -> None:
    assert spoken("kept", "nsq/history/plain") == "every owed message was delivered"
    said = spoken("kept", "nsq/upgrade/open-subscription")
    assert said == "the open subscription kept the old layout"


@pytest.mark.parametrize(
    ("observation", "protocol", "words"),
    [
        ("error:4", "nsq", "error frame 4"),
        ("error:4", "iggy", "error status 4"),
        ("error:*", "iggy", "any error status"),
        ("error:*", "note", "any error"),
        ("missing", "iggy", "not polled though owed"),
        ("missing", "note", "missing"),
        ("absent", "oms", "it is not there"),
        (
            "none,open",
            "nsq/connection/heartbeat",
            "no heartbeat came, or too few, connection open",
        ),
        ("died", "nsq/client-end", "the target died"),
        ("ok,others-nonsense", "iggy", "OK, an answer that is no frame on another connection"),
    ],
)
def test_a_word_is_said_as_in_its_own_protocol(
    observation: str, protocol: str, words: str
) -> None:
    assert spoken(observation, protocol) == words


def test_patterns_of_one_answer_stand_together() -> None:
    assert spoken_patterns(["error:*,open", "error:*,closed", "ok"]) == (
        "any error, connection open or closed",
        "OK",
    )
    assert spoken_patterns(["trace", "trace,open"], "nsq") == (
        "a trace response, right in every field",
    )
    assert spoken_patterns(["ok,open", "ok,stuck"]) == (
        "OK, connection open",
        "OK, no answer after it",
    )


@pytest.mark.parametrize(
    ("microseconds", "text"), [(12, "12 µs"), (1500, "1.5 ms"), (2_500_000, "2.50 s")]
)
def test_times(microseconds: int, text: str) -> None:
    assert shown_time(microseconds) == text


def test_printable_has_no_control_characters() -> None:
    assert printable(b"a\n\x1b\xff\xe2\x80\xaeb") == "a\\n\\x1b\\xff\\u202eb"
