from wireproof_spec.nsq.acknowledge import REQUEUE
from wireproof_spec.nsq.command import COMMAND_LINE
from wireproof_spec.nsq.disk import DISK_RECORD
from wireproof_spec.nsq.message import Extend, Message
from wireproof_spec.nsq.publish import MPUB_EXT_BODY, MpubExtBody, PubExtBody
from wireproof_spec.outline import (
    Derived,
    Fixed,
    Flag,
    Made,
    Octets,
    Parts,
    Perhaps,
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

    assert isinstance(drawn, Made)
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
