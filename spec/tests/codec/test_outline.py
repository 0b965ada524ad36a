from wireproof_spec.iggy.bodies.system import STATS
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import MESSAGE_OF_KNOWN_STATE
from wireproof_spec.nsq.acknowledge import REQUEUE
from wireproof_spec.nsq.command import COMMAND_LINE
from wireproof_spec.nsq.disk import DISK_RECORD
from wireproof_spec.nsq.message import Extend, Message
from wireproof_spec.nsq.publish import MPUB_EXT_BODY, MpubExtBody, PubExtBody
from wireproof_spec.outline import (
    Choice,
    Derived,
    Fixed,
    Flag,
    Letters,
    Mapped,
    Octets,
    Parts,
    Perhaps,
    Real,
    Tuple,
    Whole,
    outline,
)


def test_a_batch_with_headers() -> None:
    assert outline(MPUB_EXT_BODY) == Parts(
        MpubExtBody,
        (
            ("size", Derived(4, of="")),
            ("count", Derived(4, of="messages")),
            (
                "messages",
                Tuple(
                    Parts(
                        PubExtBody,
                        (
                            ("size", Derived(4, of="")),
                            ("header_length", Derived(2, of="json_header")),
                            ("json_header", Octets(None)),
                            ("body", Octets(None)),
                        ),
                    )
                ),
            ),
        ),
    )


def test_a_record_is_made_of_what_is_stored() -> None:
    drawn = outline(DISK_RECORD)

    assert isinstance(drawn, Mapped)
    assert isinstance(drawn.origin, Parts)
    (length, message) = drawn.origin.parts
    assert length == ("length", Derived(4, of=""))
    assert isinstance(message[1], Parts)
    parts = dict(message[1].parts)
    assert message[1].value_type is Message
    assert parts["attempts"] == Whole(0, 65535, 2)
    assert parts["extend"] == Perhaps(
        Parts(
            Extend,
            (
                ("version", Whole(0, 255, 1)),
                ("length", Derived(2, of="data")),
                ("data", Perhaps(Octets(None))),
            ),
        )
    )


def test_lines() -> None:
    line, requeue = outline(COMMAND_LINE), outline(REQUEUE)

    assert isinstance(line, Parts)
    assert isinstance(requeue, Parts)
    assert dict(line.parts)["carriage_return"] == Flag()
    assert dict(requeue.parts)["name"] == Fixed(b"REQ")
    assert dict(requeue.parts)["message_id"] == Octets(16)
    assert dict(requeue.parts)["timeout_ms"] == Whole(0, 10**18 - 1, None)


def test_a_message_with_headers_led_by_their_size() -> None:
    message = outline(MESSAGE_OF_KNOWN_STATE)
    assert isinstance(message, Parts)
    parts = dict(message.parts)

    assert parts["state"] == Choice((1, 10, 20, 30), 1)
    assert parts["id"] == Whole(0, 2**128 - 1, 16, "little")
    assert parts["length"] == Derived(4, of="payload", order="little")
    assert isinstance(parts["headers"], Tuple)
    assert parts["headers"].lead == ("length", Derived(4, of="", order="little"))
    assert isinstance(parts["headers"].each, Parts)
    assert parts["headers"].each.value_type is Header
    assert dict(parts["headers"].each.parts)["key"] == Letters()


def test_a_number_with_a_fraction() -> None:
    stats = outline(STATS)

    assert isinstance(stats, Parts)
    assert dict(stats.parts)["cpu_usage"] == Real(4)
