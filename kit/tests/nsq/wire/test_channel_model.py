"""The model of a channel: what is owed, to whom it may go, in which order."""

from wireproof_kit.runner.rule_machine import KEPT
from wireproof_suites.nsq.history.channel_model import (
    MISDELIVERED,
    OUT_OF_ORDER,
    TAGGED_GOT_OTHER,
    ChannelModel,
)

ONE, TWO, THREE = b"one", b"two", b"three"


def with_tags() -> ChannelModel:
    """An untagged client 0 and a client 1 that desires A, known to be ready."""
    model = ChannelModel()
    model.join(0, None, 100)
    model.join(1, "A", 100)
    model.publish(ONE, "A")
    assert model.deliver(ONE, 1) == KEPT
    model.finish(ONE)
    return model


def test_what_is_held_or_finished_is_not_due() -> None:
    model = ChannelModel()
    model.publish(ONE, None)
    assert model.count_due() == 0
    model.join(0, None, 100)
    assert model.count_due() == 1
    assert model.deliver(ONE, 0) == KEPT
    assert (model.count_due(), model.held_by(0)) == (0, [ONE])
    model.finish(ONE)
    assert (model.count_due(), dict(model.owed)) == (0, {})


def test_what_is_put_back_or_left_behind_is_due_again() -> None:
    model = ChannelModel()
    model.join(0, None, 100)
    model.publish(ONE, None)
    model.deliver(ONE, 0)
    model.loosen(ONE)
    assert model.count_due() == 1
    model.deliver(ONE, 0)
    model.leave(0)
    model.join(1, None, 100)
    assert model.count_due() == 1


def test_no_more_is_due_than_clients_take() -> None:
    model = ChannelModel()
    model.join(0, None, 1)
    for body in (ONE, TWO, THREE):
        model.publish(body, None)
    assert model.count_due() == 1
    model.deliver(ONE, 0)
    assert model.count_due() == 0
    model.join(1, None, 1)
    assert model.count_due() == 1


def test_what_nobody_may_get_holds_the_others_up() -> None:
    model = ChannelModel()
    model.join(0, "A", 100)
    model.publish(ONE, "A")
    assert model.count_due() == 1
    model.publish(TWO, None)
    assert model.count_due() == 0


def test_another_tag_is_wrong_only_while_a_client_without_a_tag_is_surely_ready() -> None:
    model = with_tags()
    model.publish(THREE, "B")
    assert model.deliver(THREE, 1) == KEPT  # client 0 has not shown yet that it is ready
    model.publish(TWO, "A")
    assert model.deliver(TWO, 0) == KEPT  # the text says "try" of the client that desires the tag
    model.finish(TWO)
    model.loosen(THREE)
    assert model.deliver(THREE, 1) == MISDELIVERED
    assert model.deliver(THREE, 0) == KEPT


def test_an_untagged_message_at_a_tagged_client_is_told_apart() -> None:
    model = with_tags()
    model.publish(TWO, None)
    assert model.deliver(TWO, 1) == TAGGED_GOT_OTHER


def test_after_the_tagged_client_has_gone_anybody_without_a_tag_may_get_it() -> None:
    model = with_tags()
    model.publish(TWO, "A")
    model.leave(1)
    assert model.deliver(TWO, 0) == KEPT


def test_a_client_without_a_tag_that_is_ready_later_makes_no_earlier_delivery_wrong() -> None:
    model = with_tags()
    model.publish(ONE, "B")
    model.publish(TWO, None)
    assert model.deliver(TWO, 0) == KEPT
    assert model.deliver(ONE, 1) == KEPT
    model.loosen(ONE)
    assert model.deliver(ONE, 1) == MISDELIVERED


def test_an_ordered_channel_owes_one_at_a_time_and_in_order() -> None:
    model = ChannelModel(ordered=True)
    model.join(0, None, 1)
    model.publish(ONE, None)
    model.publish(TWO, None)
    assert model.count_due() == 1
    assert model.deliver(TWO, 0) == OUT_OF_ORDER
    model = ChannelModel(ordered=True)
    model.join(0, None, 1)
    model.publish(ONE, None)
    model.publish(TWO, None)
    assert model.deliver(ONE, 0) == KEPT
    assert model.count_due() == 0
    model.finish(ONE)
    assert model.deliver(ONE, 0) == KEPT  # once more: at least once
    assert model.deliver(TWO, 0) == KEPT
