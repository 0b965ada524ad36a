"""A cluster whose topics have all partitions on one node, so that faults can confuse them."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.cluster import coordinator
from wireproof_reference_impl.nsq.cluster.cluster_topic import Settings
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.overrides import Original, around


def _on_the_first(
    original: Original, members: Sequence[Member], settings: Settings, first: int
) -> object:
    return original(members[:1] if settings.replicas == 1 else members, settings, first)


TOGETHER = around(coordinator, "spread", _on_the_first)
"""The override that puts the partitions of topics without copies on the first node."""
