"""The cluster's topics as JSON records, one for each topic, kept across restarts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypedDict, cast

from wireproof_reference_impl.nsq.cluster.cluster_topic import (
    ClusterTopic,
    PartitionReplicas,
    Settings,
)
from wireproof_reference_impl.nsq.cluster.member import Member

Rows = Mapping[str, object]
"""Rows by the name of the topic; None for one that is no more."""

Keep = Callable[[Rows], None]
"""Keeps rows instead of those kept of the same topics; it returns when that is done."""

_SETTINGS = Settings.__struct_fields__


class BadTopicRows(ValueError):
    """Raised for the stored list of a cluster's topics, that is invalid; says why."""


class _PlaceRow(TypedDict):
    replicas: list[int]
    in_sync: list[int]
    writable: bool


class _TopicRow(TypedDict):
    settings: dict[str, object]
    channels: list[str]
    places: list[_PlaceRow]


def keep_nothing(rows: Rows) -> None:
    """Store nothing of the cluster's topics: the cluster is kept in memory."""


def make_rows(topics: Iterable[ClusterTopic]) -> Rows:
    """Return topics as rows to store; nodes are identified by their numbers."""
    return {topic.name: _topic_row(topic) for topic in topics}


def read(rows: Rows, members: Sequence[Member]) -> list[ClusterTopic]:
    """Return the topics in stored rows.

    Raises:
        BadTopicRows: the rows are invalid, or name nodes that do not exist.
    """
    known = {member.number: member for member in members}
    try:
        return [
            _topic(name, cast(_TopicRow, row), known)
            for name, row in rows.items()
            if row is not None
        ]
    except KeyError as error:
        reason = f"it needs node {error}" if isinstance(error.args[0], int) else f"no {error}"
        raise BadTopicRows(reason) from error
    except (AttributeError, TypeError) as error:
        raise BadTopicRows(str(error)) from error


def _topic_row(topic: ClusterTopic) -> _TopicRow:
    return {
        "settings": {name: getattr(topic.settings, name) for name in _SETTINGS},
        "channels": list(topic.registered),
        "places": [
            {
                "replicas": [replica.number for replica in place.replicas],
                "in_sync": [
                    replica.number for replica in place.replicas if replica in place.in_sync
                ],
                "writable": place.writable,
            }
            for place in topic.places.values()
        ],
    }


def _topic(name: str, row: _TopicRow, known: Mapping[int, Member]) -> ClusterTopic:
    kept = {each: row["settings"][each] for each in _SETTINGS}
    places: list[PartitionReplicas] = []
    for number, place_row in enumerate(row["places"]):
        place = PartitionReplicas(number, [known[each] for each in place_row["replicas"]])
        place.in_sync = {known[each] for each in place_row["in_sync"]}
        place.writable = place_row["writable"]
        places.append(place)
    topic = ClusterTopic(name, Settings(**kept), places)  # type: ignore[arg-type]  # as written
    topic.registered = list(row["channels"])
    return topic
