from bundle_fixture import failures, published
from wire_fixture import Exchange, ok

from wireproof_reports.exchange.annotated_text import as_text
from wireproof_reports.exchange.evidence import exchange, first_difference


def test_every_byte_stands_once_with_its_name() -> None:
    record = Exchange().send([(bytes(range(40)), "body")]).receive(ok()).record()
    text = as_text(exchange(record, protocol="nsq"))

    assert "sent on A, 40 bytes" in text
    assert "    0000  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f body" in text
    assert "    0010  10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f\n" in text
    assert "    0020  20 21 22 23 24 25 26 27\n" in text
    assert "frame_type = 0 (response)" in text


def test_what_was_made_wrong_and_what_differs_are_marked() -> None:
    case = next(case for case in failures() if "header-name" in case.case)
    difference = first_difference(case, "nsq")
    text = as_text(exchange(case.transcript, protocol="nsq", difference=difference))

    assert 'json_header = {"a b":"1"}  <-- made wrong on purpose' in text
    assert "frame_type = 0 (response)  <-- differs: expected 1 (error)" in text


def test_the_middle_of_long_bytes_is_left_out() -> None:
    record = published(body=b"x" * 5000).record()
    text = as_text(exchange(record, protocol="nsq"))

    assert "bytes left out" in text
    assert len(text) < 4000


def test_no_control_character_gets_through() -> None:
    exchange_ = Exchange().send([(b"\x1b[31m", "a\x1bb = c\x1b")])
    exchange_.close(note="n\x1b\x07")
    text = as_text(exchange(exchange_.record(), protocol="nsq"))

    assert all(sign.isprintable() or sign == "\n" for sign in text)


def test_nothing_sent_is_no_text() -> None:
    assert as_text(exchange(Exchange().record(), protocol="nsq")) == ""
