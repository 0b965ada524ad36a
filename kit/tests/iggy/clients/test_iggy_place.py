"""The stream and the topic that an Iggy client names: what is held against it, and what is not."""

import pytest

from wireproof_kit.clients.events import Event, Greeted
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.clients.client import IGGY_CLIENTS
from wireproof_spec.driver.lines import Hello
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_suites.iggy.client.seen import InTopic, observe_place

GREETED = Greeted(0.0, "driver", Hello((1,), "toy", "1", ("poll",), ()))


def stored(stream: int, topic: int = 1) -> StoreConsumerOffset:
    return StoreConsumerOffset(Consumer(1, 1), numeric(stream), numeric(topic), 1, 0)


@pytest.mark.parametrize(
    ("before", "requests", "value"),
    [
        ([GREETED], [stored(1), stored(1)], "as-given"),
        ([GREETED], [stored(2), stored(2)], "other"),
        ([GREETED], [stored(1, topic=2)], "other"),
        ([], [stored(1), stored(2)], "other"),
        ([], [stored(2), stored(2)], "unsupported"),  # its own, whatever it is given
        ([], [stored(2), stored(3)], "unsupported"),
        ([GREETED], [], "incomplete"),
    ],
)
def test_only_a_program_without_driver_may_have_names_of_its_own(
    before: list[Event], requests: list[InTopic], value: str
) -> None:
    story = Story(IGGY_CLIENTS.decode())
    story.events = before

    assert observe_place(story, requests).value == value
