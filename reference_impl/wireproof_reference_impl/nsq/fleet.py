"""The servers of one process: one node, or nodes with lookup servers and a control API."""

from collections.abc import Mapping
from pathlib import Path

from wireproof_reference_impl.addresses import address_text
from wireproof_reference_impl.control_access import IDLE_SECONDS
from wireproof_reference_impl.nsq import control
from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.cluster.cluster_file import ClusterFile
from wireproof_reference_impl.nsq.cluster.coordinator import Coordinator
from wireproof_reference_impl.nsq.cluster.member import Member
from wireproof_reference_impl.nsq.control import Control
from wireproof_reference_impl.nsq.core import broker
from wireproof_reference_impl.nsq.core.access import Access
from wireproof_reference_impl.nsq.core.log import MemoryStorage, Storage
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.http import http_api
from wireproof_reference_impl.nsq.lookupd import api
from wireproof_reference_impl.nsq.lookupd.server import LookupServer
from wireproof_reference_impl.nsq.options import Fsync, ServeOptions
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_reference_impl.served import Schedule
from wireproof_reference_impl.shell import Shell


class Fleet:
    """The nodes, lookup servers and control API that run in one process, with their sockets."""

    def __init__(self, options: ServeOptions, behaviour: Behaviour, now_ns: int) -> None:
        self._options = options
        self._limits = Limits(
            options.max_msg_size, options.max_body_size, options.max_bytes_per_file
        )
        access = _access(options)
        self._schedule = Schedule()
        numbers = range(1, options.nodes + 1)
        self._folders = [_folder(options, number) for number in numbers]
        self._members = [
            Member(
                Node(
                    _storage(folder, options),
                    behaviour=behaviour,
                    limits=self._limits,
                    now_ns=now_ns,
                    access=access,
                    schedule=self._schedule,
                ),
                number,
            )
            for number, folder in zip(numbers, self._folders, strict=True)
        ]
        self._gathering = [member.node for member in self._members if member.node.gathers]
        self._servers: tuple[LookupServer, ...] = ()
        self._control: Control | None = None
        self._control_address: str | None = None
        if options.lookupds:
            self._gather(self._coordinator(behaviour, now_ns))

    @property
    def halted(self) -> bool:
        """Return True if a fault halted a node."""
        return any(member.node.halted for member in self._members)

    @property
    def gathers(self) -> bool:
        """Return True if answering all received input at once is cheaper."""
        return bool(self._gathering)

    def commit(self) -> None:
        """Make stored messages durable, on followers too, before they are acknowledged.

        Raises:
            OSError: the messages are not durable.
        """
        for node in self._gathering:
            node.commit()

    async def listen(self, shell: Shell) -> Mapping[str, object]:
        """Open all sockets, and return the fields that announce their addresses."""
        host = self._options.tcp[0]
        for member in self._members:
            first = member.number == 1
            member.tcp = await shell.listen(
                member.node,
                self._options.tcp if first else (host, 0),
                broker.connector(member.node),
            )
            if self._options.http is not None:
                member.http = await shell.listen(
                    member.node,
                    self._options.http if first else (host, 0),
                    http_api.connector(member.node),
                )
        for server in self._servers:
            server.http = await shell.listen(server, (host, 0), api.connector(server))
        if self._control is not None and self._options.control is not None:
            connect = control.connector(self._control)
            address = await shell.listen(
                self._control, self._options.control, connect, idle_s=IDLE_SECONDS
            )
            self._control_address = self._control.access.announce(address_text(*address))
        return self._fields()

    def close(self) -> None:
        """Close all nodes; each stores what it must keep."""
        for member in self._members:
            member.node.close()

    def _coordinator(self, behaviour: Behaviour, now_ns: int) -> Coordinator:
        if self._options.data is None:
            return Coordinator(self._members, behaviour)
        file = ClusterFile(self._options.data, synced=self._options.fsync is not Fsync.NEVER)
        cluster = Coordinator(self._members, behaviour, keep=file.save)
        cluster.restore(file.load(self._members), now_ns)
        return cluster

    def _gather(self, cluster: Coordinator) -> None:
        numbers = range(1, self._options.lookupds + 1)
        self._servers = tuple(
            LookupServer(cluster, number, self._limits, self._schedule) for number in numbers
        )
        for server in self._servers:
            server.servers = self._servers
        self._control = Control(cluster, self._servers, self._schedule)

    def _fields(self) -> Mapping[str, object]:
        nodes = [
            {
                "tcp": member.address,
                "http": member.http_address,
                "data": None if folder is None else str(folder),
            }
            for member, folder in zip(self._members, self._folders, strict=True)
        ]
        fields: dict[str, object] = {"protocol": "nsq", **nodes[0]}
        if self._servers:
            fields["nodes"] = nodes
            fields["lookupd_http"] = [server.address for server in self._servers]
            fields["control"] = self._control_address
        return fields


def _access(options: ServeOptions) -> Access:
    """Return the TLS and AUTH rules of the nodes.

    Raises:
        BadOption: the certificate or key cannot be used.
    """
    security = None
    if options.tls_certificate is not None and options.tls_key is not None:
        from wireproof_reference_impl.nsq import tls

        security = tls.security(options.tls_certificate, options.tls_key)
    return Access(security, options.tls_required, options.secret)


def _folder(options: ServeOptions, number: int) -> Path | None:
    if options.data is None or not options.lookupds:
        return options.data
    return options.data / f"node-{number}"


def _storage(folder: Path | None, options: ServeOptions) -> Storage:
    if folder is None:
        return MemoryStorage()
    from wireproof_reference_impl.nsq.storage.disk_storage import DiskStorage

    return DiskStorage(folder, max_bytes_per_file=options.max_bytes_per_file, fsync=options.fsync)
