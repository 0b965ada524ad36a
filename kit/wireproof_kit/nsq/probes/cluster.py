"""Probes that show what can be done to a target's cluster. Docstrings list the words."""

from collections.abc import Mapping

from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.probes.context import Probe, ProbeContext
from wireproof_kit.observation import Observation, observed


def leader_move(bench: ProbeContext) -> Observation:
    """Ask whether the cluster can move leaders: ``ok``, or ``http:STATUS,CODE``."""
    answer = bench.cluster.move_offer()
    return observed("ok") if answer is None else observe_http(answer)


def unwritable(bench: ProbeContext) -> Observation:
    """Ask the control API to make a writable partition writable: ``ok``."""
    bench.cluster.make_writable(bench.topic("plain_topic", "ext_topic"))
    return observed("ok")


def node_down(bench: ProbeContext) -> Observation:
    """GET /control/state, which lists the nodes: ``ok``, or ``http:STATUS,CODE``."""
    answer = bench.cluster.control.request("GET", "/control/state")
    return observed("ok") if answer.status == 200 else observe_http(answer)


CLUSTER_PROBES: Mapping[str, Probe] = {
    "leader-move": leader_move,
    "unwritable": unwritable,
    "node-down": node_down,
}
