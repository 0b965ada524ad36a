"""Batches on disk."""

from wireproof_kit.case import case
from wireproof_kit.iggy.apache.disk import wait_for_log
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation, observed
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.apache.batch import BATCH
from wireproof_suites.iggy.apache import steps

BATCHES = (3, 1)


@case("iggy/apache/disk/layout", clause="iggy.apache.disk.layout")
def test_layout(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A stored record has the bytes of the polled one."""
    sent = steps.store(apache, apache_topic, BATCHES)
    polled = apache.poll_all(apache_topic)
    records = b"".join(encode(BATCH, each) for each in polled.batches)
    log = wait_for_log(apache, apache_topic, sent[-1].payload)
    if sent[-1].payload not in log:
        return observed("missing", note=f"{len(log)} bytes are stored")
    if len(polled.batches) != len(BATCHES):
        return observed("stored:unlike-polls").on(
            polled
        )  # no text says in which records a poll returns
    return observed("stored:as-polled" if records in log else "stored:other").on(polled)
