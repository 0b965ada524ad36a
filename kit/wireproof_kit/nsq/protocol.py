"""What the kit knows of NSQ."""

from typing import TYPE_CHECKING

from wireproof_kit.protocols import KitPart
from wireproof_kit.targets.session import Session, SessionOptions
from wireproof_kit.targets.target import USUAL_KEYS, Target, TargetKey

if TYPE_CHECKING:
    from wireproof_kit.fuzz.driver import FuzzSession, FuzzSessionOptions


def _open_session(target: Target, options: SessionOptions) -> Session:
    from wireproof_kit.nsq.session import open_session

    return open_session(target, options)


def _open_fuzz_session(target: Target, options: "FuzzSessionOptions") -> "FuzzSession":
    from wireproof_kit.nsq.fuzz.fuzz_session import open_fuzz_session

    return open_fuzz_session(target, options)


KIT = KitPart(
    open_session=_open_session,
    arguments=(
        "broker",
        "ext_topic",
        "plain_topic",
        "fresh_ext_topic",
        "other_fresh_ext_topic",
        "fresh_plain_topic",
        "fresh_ordered_topic",
        "fresh_ordered_ext_topic",
        "upgradable_topic",
        "shared_partitioned_topic",
        "shared_partitioned_ext_topic",
        "shared_partitioned_ordered_topic",
        "shared_replicated_topic",
        "partitioned_topic",
        "partitioned_ext_topic",
        "partitioned_ordered_topic",
        "replicated_topic",
        "replicated_ext_topic",
        "wide_topic",
        "wide_ext_topic",
        "wide_upgraded_topic",
        "fresh_wide_ext_topic",
        "fresh_wide_upgraded_topic",
        "wide_ordered_topic",
        "wide_ordered_ext_topic",
        "movable_topic",
        "movable_ordered_topic",
        "new_topic_name",
        "lookup",
        "cluster",
    ),
    example="nsq://127.0.0.1:4150",
    target_keys={
        "http": USUAL_KEYS["http"],
        "lookupd": TargetKey("servers", "An nsqlookupd; repeatable."),
        **USUAL_KEYS,
    },
    reference=(
        *("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--control", "127.0.0.1:0"),
        *("--nodes", "2", "--lookupds", "2"),
    ),
    needs={
        "shared_partitioned_topic": "partition",
        "shared_partitioned_ext_topic": "partition",
        "shared_partitioned_ordered_topic": "partition",
        "partitioned_topic": "partition",
        "partitioned_ext_topic": "partition",
        "partitioned_ordered_topic": "partition",
        "shared_replicated_topic": "replica",
        "replicated_topic": "replica",
        "replicated_ext_topic": "replica",
        "movable_topic": "replica",
        "movable_ordered_topic": "replica",
    },
    keys={"http": "http", "data": "data", "lookupd": "lookupd_http", "control": "control"},
    open_fuzz_session=_open_fuzz_session,
)
