from wireproof_spec.nsq.message import Extend, Message, message_schema

MESSAGE = Message(1, 2, 3, 2**64 - 1, None, None, None, b"")


def test_the_message_id_is_internal_id_then_trace_id() -> None:
    assert MESSAGE.message_id == bytes(7) + b"\x03" + b"\xff" * 8


def test_each_kind_of_subscription_has_one_schema() -> None:
    first = message_schema(extend=True, ordered=True)

    assert first is message_schema(extend=True, ordered=True)
    assert first.name == "message ext ordered"
    assert message_schema(extend=False, ordered=False).clause == "ext.consume.plain-topic"


def test_no_data_differs_from_empty_data() -> None:
    assert Extend(0, None) != Extend(0, b"")
