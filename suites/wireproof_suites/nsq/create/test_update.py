"""Changing and deleting topics over a lookup server."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.servers import DELETE_PATH, UPDATE_PATH, LookupClient
from wireproof_kit.nsq.observe.observations import observe, observe_http
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import pub
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq.error_codes import E_TOPIC_NOT_EXIST
from wireproof_suites.nsq.steps.lookup_answers import observe_extend, observe_meta, observe_places
from wireproof_suites.nsq.steps.lookup_requests import eventually, look, tell
from wireproof_suites.nsq.steps.topic_creation import ONE, create, observe_word

# The end alone would come after it, too.
GONE = [f"error:{E_TOPIC_NOT_EXIST}", "closed"]
CHANGES: dict[str, dict[str, str]] = {
    "replicator-word": {"replicator": "abc"},
    "syncdisk-word": {"syncdisk": "abc"},
    "syncdisk-4001": {"syncdisk": "4001"},
    "retention-61": {"retention": "61"},
    "retention-word": {"retention": "abc"},
}


@case("nsq/create/upgrade-false", clause="ext.create.update")
def test_no_way_back(lookup: LookupClient, fresh_ext_topic: Topic) -> Observation:
    """An update with upgradeext=false leaves an ext topic an ext topic."""
    lookup.update_meta(fresh_ext_topic.name, upgradeext="false")

    return observe_extend(look(lookup, fresh_ext_topic, access="r", metainfo="true"))


@case("nsq/create/again-updated", clause="ext.create.again")
def test_same_creation_after_an_update(lookup: LookupClient, new_topic_name: str) -> Observation:
    """After a topic update that changes nothing, the same creation request still succeeds."""
    wanted = {**ONE, "syncdisk": "5", "retention": "3"}
    first = observe_word(create(lookup, new_topic_name, **wanted))
    if first.value != "done":
        return first
    lookup.update_meta(new_topic_name, upgradeext="false")

    return observe_word(create(lookup, new_topic_name, **wanted))


@case("nsq/create/upgrade-other", clause="ext.create.update")
@pytest.mark.parametrize("value", ["false", "1", "TRUE", ""], ids=["false", "1", "TRUE", "empty"])
def test_upgrade_by_other_values(
    lookup: LookupClient, fresh_plain_topic: Topic, value: str
) -> Observation:
    """Only the value upgradeext=true upgrades a topic."""
    lookup.update_meta(fresh_plain_topic.name, upgradeext=value)

    return observe_extend(look(lookup, fresh_plain_topic, access="r", metainfo="true"))


@case("nsq/create/upgrade-get", clause="ext.create.update-refused")
def test_upgrade_by_get(lookup: LookupClient, fresh_plain_topic: Topic) -> Observation:
    """Upgrading a topic with GET is refused."""
    query = {"topic": fresh_plain_topic.name, "upgradeext": "true"}
    return observe_http(lookup.servers[0].request("GET", UPDATE_PATH, query=query, v1=True))


@case("nsq/create/upgrade-topic", clause="ext.create.update-refused")
@pytest.mark.parametrize(
    "query",
    [{"upgradeext": "true"}, {"topic": "bad name", "upgradeext": "true"}],
    ids=["missing", "bad-name"],
)
def test_upgrade_of_bad_topic(lookup: LookupClient, query: dict[str, str]) -> Observation:
    """Upgrading a topic with a missing or illegal name is refused."""
    return observe_http(tell(lookup, UPDATE_PATH, **query))


@case("nsq/create/upgrade-unknown", clause="ext.create.update-refused")
def test_upgrade_of_unknown_topic(lookup: LookupClient, new_topic_name: str) -> Observation:
    """Upgrading a topic that does not exist is refused."""
    return observe_http(lookup.update_meta(new_topic_name, upgradeext="true"))


@case("nsq/create/change", clause="ext.create.update-refused")
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_bad_change(
    lookup: LookupClient, fresh_plain_topic: Topic, changes: dict[str, str]
) -> Observation:
    """An update that sets a topic parameter to a non-numeric or out-of-range value is refused."""
    return observe_http(lookup.update_meta(fresh_plain_topic.name, **changes))


@case("nsq/create/change-nothing", clause="ext.create.update")
def test_change_of_nothing(lookup: LookupClient, fresh_plain_topic: Topic) -> Observation:
    """An update that changes nothing leaves the topic unchanged."""
    lookup.update_meta(fresh_plain_topic.name)

    return observe_extend(look(lookup, fresh_plain_topic, access="r", metainfo="true"))


@case("nsq/create/deleted", clause="ext.create.delete-odd")
def test_deletion(lookup: LookupClient, fresh_plain_topic: Topic) -> Observation:
    """A topic can be deleted once; a second deletion is refused."""
    done = observe_word(lookup.delete(fresh_plain_topic.name))
    if done.value != "done":
        return done
    again = lookup.delete(fresh_plain_topic.name)
    if again.failure is not None:
        return observe_http(again)
    return observed("once" if again.status >= 400 else "twice").on(again)


@case("nsq/create/deleted-publish", clause="ext.create.delete-odd")
def test_publish_to_deleted_topic(
    broker: Broker, lookup: LookupClient, fresh_plain_topic: Topic
) -> Observation:
    """A producer that publishes to a deleted topic gets an error."""
    topic = fresh_plain_topic
    with broker.connect(topic=topic) as client:
        first = observe(client.ask(pub(topic, broker.unique_body())))
        if first.value != "ok":
            return first
        lookup.delete(topic.name)

        def again() -> Observation:
            return observe(client.ask(pub(topic, broker.unique_body())))

        return eventually(broker, again, due=GONE)


@case("nsq/create/upgrade-copies", clause="ext.create.update", needs=("replica",))
def test_upgrade_of_copied_topic(
    broker: Broker, lookup: LookupClient, new_topic_name: str
) -> Observation:
    """Upgrading a topic does not change its number of replicas."""
    answer = create(lookup, new_topic_name, partition_num="1", replicator="2")
    if answer.status != 200:
        return observe_http(answer)
    lookup.update_meta(new_topic_name, upgradeext="true")

    def meta() -> Observation:
        found = look(lookup, new_topic_name, access="r", metainfo="true")
        return observe_meta(found, partitions=1, replicas=2)

    return eventually(broker, meta, due=["true"])


@case("nsq/create/delete-unknown", clause="ext.create.delete-odd")
def test_deletion_of_unknown_topic(lookup: LookupClient, new_topic_name: str) -> Observation:
    """Deleting a topic that does not exist is refused."""
    return observe_http(lookup.delete(new_topic_name))


@case("nsq/create/delete-forced", clause="ext.create.delete-odd")
def test_forced_deletion(lookup: LookupClient, new_topic_name: str) -> Observation:
    """A forced deletion of a topic that does not exist succeeds."""
    answers = [
        tell(server, DELETE_PATH, topic=new_topic_name, partition="**", force="true")
        for server in lookup.servers
    ]
    if any(answer.status == 200 for answer in answers):
        return observed("done")
    late = [answer for answer in answers if answer.failure == "silence"]
    return observe_http(late[0]) if late else observed("refused")


@case("nsq/create/deleted-meta", clause="ext.create.delete")
def test_meta_of_deleted_topic(
    broker: Broker, lookup: LookupClient, fresh_plain_topic: Topic
) -> Observation:
    """The lookup meta of a deleted topic has no partitions."""
    deletion = lookup.delete(fresh_plain_topic.name)
    if deletion.status >= 400:  # a server that does not know the path may answer with any error
        return observed("unsupported", note=f"POST {DELETE_PATH}: status {deletion.status}")

    def meta() -> Observation:
        answer = look(lookup, fresh_plain_topic, access="r", metainfo="true")
        return observe_meta(answer, partitions=0, replicas=0)

    return eventually(broker, meta, due=["true", "no-meta", "http:404,*"])


@case("nsq/create/delete-refused", clause="ext.create.delete-odd")
@pytest.mark.parametrize(
    "query",
    [{"partition": "**"}, {"topic": "{}", "partition": "0"}, {"topic": "{}"}],
    ids=["no-topic", "single-partition", "no-partition"],
)
def test_delete_refused(
    lookup: LookupClient, fresh_plain_topic: Topic, query: dict[str, str]
) -> Observation:
    """A deletion without a topic, of one partition, or without partitions deletes nothing."""
    topic = fresh_plain_topic
    tell(lookup, DELETE_PATH, **{key: value.format(topic.name) for key, value in query.items()})

    return observe_places(look(lookup, topic), topic)
