"""Requests about topics that every lookup server refuses: each refusal has a text."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.lookup.servers import DELETE_PATH, TOMBSTONE_PATH, UPDATE_PATH, LookupClient
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.limits import MAX_NAME_SIZE
from wireproof_suites.nsq.steps.lookup_answers import observe_form, observe_said
from wireproof_suites.nsq.steps.lookup_requests import every_server, tell
from wireproof_suites.nsq.steps.topic_creation import ONE, create_at

NEW = "{}"
TOO_LONG = NEW + "a" * (MAX_NAME_SIZE + 1)
# Of a new topic, or of none where its name is empty.
CREATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "no-topic": ("", {**ONE}),
    "bad-topic": (TOO_LONG, {**ONE}),
    "no-partition-num": (NEW, {"replicator": "1"}),
    "partition-num-0": (NEW, {**ONE, "partition_num": "0"}),
    "partition-num-word": (NEW, {**ONE, "partition_num": "abc"}),
    "partition-num-5000-digits": (NEW, {**ONE, "partition_num": "9" * 5000}),
    "partition-num-255": (NEW, {**ONE, "partition_num": "255"}),
    "no-replicator": (NEW, {"partition_num": "1"}),
    "replicator-6": (NEW, {**ONE, "replicator": "6"}),
    "suggestload-10001": (NEW, {**ONE, "suggestload": "10001"}),
    "retention-word": (NEW, {**ONE, "retention": "abc"}),
}
OTHERS: dict[str, tuple[str, dict[str, str]]] = {
    "change-no-topic": (UPDATE_PATH, {}),
    "change-bad-topic": (UPDATE_PATH, {"topic": TOO_LONG}),
    "change-unknown": (UPDATE_PATH, {"topic": NEW, "upgradeext": "true"}),
    "change-replicator-6": (UPDATE_PATH, {"topic": NEW, "replicator": "6"}),
    "change-syncdisk-4001": (UPDATE_PATH, {"topic": NEW, "syncdisk": "4001"}),
    "change-syncdisk-word": (UPDATE_PATH, {"topic": NEW, "syncdisk": "abc"}),
    "change-retention-61": (UPDATE_PATH, {"topic": NEW, "retention": "61"}),
    "delete-no-topic": (DELETE_PATH, {"partition": "**"}),
    "delete-bad-topic": (DELETE_PATH, {"topic": TOO_LONG, "partition": "**"}),
    "delete-unknown": (DELETE_PATH, {"topic": NEW, "partition": "**"}),
    "delete-no-partition": (DELETE_PATH, {"topic": NEW}),
    "delete-single-partition": (DELETE_PATH, {"topic": NEW, "partition": "0"}),
    "hide-no-topic": (TOMBSTONE_PATH, {}),
    "hide-no-node": (TOMBSTONE_PATH, {"topic": NEW}),
}


@case("nsq/create/error-text", clause="smart.lookup.error-form")
@pytest.mark.parametrize(("pattern", "parameters"), CREATIONS.values(), ids=CREATIONS)
def test_text_of_refused_creation(
    lookup: LookupClient, new_topic_name: str, pattern: str, parameters: dict[str, str]
) -> Observation:
    """Every lookup server gives a reason when it refuses to create a topic."""
    name = pattern.format(new_topic_name)
    return every_server(
        lookup, lambda server: observe_said(create_at(server, name, **parameters)), due="said"
    )


@case("nsq/create/error-text/no-room", clause="smart.lookup.error-form")
def test_text_without_room(lookup: LookupClient, new_topic_name: str) -> Observation:
    """Every lookup server gives a reason for refusing a topic with more partitions than nodes."""
    more = {**ONE, "partition_num": str(lookup.node_count() + 1)}
    return every_server(
        lookup, lambda server: observe_said(create_at(server, new_topic_name, **more)), due="said"
    )


@case("nsq/create/error-text/exists", clause="smart.lookup.error-form")
def test_text_for_another_of_the_name(
    lookup: LookupClient, fresh_plain_topic: Topic
) -> Observation:
    """Every lookup server gives a reason when it refuses a topic name already in use."""
    name, other = fresh_plain_topic.name, {**ONE, "extend": "true"}
    return every_server(
        lookup, lambda server: observe_said(create_at(server, name, **other)), due="said"
    )


@case("nsq/create/error-text/other", clause="smart.lookup.error-form")
@pytest.mark.parametrize(("path", "query"), OTHERS.values(), ids=OTHERS)
def test_text_of_other_refusals(
    lookup: LookupClient, new_topic_name: str, path: str, query: dict[str, str]
) -> Observation:
    """Every lookup server gives a reason when it refuses an update, deletion or tombstone."""
    filled = {key: value.format(new_topic_name) for key, value in query.items()}
    return every_server(
        lookup, lambda server: observe_said(tell(server, path, **filled)), due="said"
    )


@case("nsq/create/error-form", clause="smart.lookup.error-form")
@pytest.mark.parametrize("path", [UPDATE_PATH, DELETE_PATH], ids=["change", "delete"])
def test_form_of_refusal(lookup: LookupClient, path: str) -> Observation:
    """With the version 1.0 Accept header, a refusal is an HTTP status and a bare error message."""
    return observe_form(tell(lookup, path))
