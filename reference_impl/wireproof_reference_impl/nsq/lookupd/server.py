"""A lookup server: its address, its configured wrong answers, and the cluster it reports."""

from wireproof_reference_impl.addresses import address_text
from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.cluster.coordinator import Coordinator
from wireproof_reference_impl.nsq.delivery.timers import Timers
from wireproof_reference_impl.nsq.lookupd.distortion import RIGHT, Distortion
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_reference_impl.served import Schedule


class LookupServer:
    """One lookup server of a cluster; the first one is the master, which alone changes topics."""

    def __init__(
        self, cluster: Coordinator, number: int, limits: Limits, schedule: Schedule | None = None
    ) -> None:
        self.cluster = cluster
        self.number = number
        self.limits = limits
        self.http: tuple[str, int] = ("", 0)
        self.servers: tuple[LookupServer, ...] = (self,)
        self.answering: Distortion = RIGHT
        self.schedule = Schedule() if schedule is None else schedule
        self.timers = Timers(self.schedule)
        self.changed = self.schedule.changed
        self.open = True
        self.halted = False

    @property
    def behaviour(self) -> Behaviour:
        """Return the behaviour table of the broker."""
        return self.cluster.behaviour

    @property
    def leads(self) -> bool:
        """Return True if this server is the master, which changes the cluster."""
        return self.servers[0] is self

    @property
    def address(self) -> str:
        """The HTTP address, which also names the server."""
        return address_text(*self.http)

    def run_timers(self, now_ns: int) -> None:
        """Send the delayed answers that are due."""
        self.timers.run(now_ns)
