"""The fork server: brokers start, end when told to, and never outlive who asked for them."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from waits import until

from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.processes.forked_broker import BrokerClient, BrokerForkServer, ForkedBroker
from wireproof_kit.protocols import read_target
from wireproof_kit.targets.embedded import first_line

pytestmark = pytest.mark.process

ALONE = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0")


@pytest.fixture(scope="module")
def server() -> Iterator[BrokerForkServer]:
    with BrokerForkServer("nsq") as started:
        yield started


def start(client: BrokerClient) -> ForkedBroker:
    broker = client.start(ALONE)
    assert b'"tcp"' in first_line(broker, "nsq")
    assert broker.stdout is not None
    broker.stdout.close()
    return broker


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid: int) -> None:
    until(lambda: not is_running(pid), "end of the process")


def test_a_reference_has_a_url_and_ends_with_the_block(server: BrokerForkServer) -> None:
    with server.reference(["--fault", "fallback-never"]) as url:
        assert read_target(url).protocol == "nsq"


def test_a_bad_option_ends_the_broker_only(server: BrokerForkServer) -> None:
    with pytest.raises(TargetUnreachable, match="ended"), server.reference(["--fault", "none"]):
        pass
    with server.reference():
        pass


def test_ctrl_c_at_the_terminal_reaches_neither_the_server_nor_its_brokers(
    server: BrokerForkServer,
) -> None:
    with server.connect() as client:
        assert os.getsid(start(client).pid) == server._process.pid


def test_a_broker_ends_in_order_when_told_to(server: BrokerForkServer) -> None:
    with server.connect() as client:
        broker = start(client)
        assert broker.poll() is None
        broker.terminate()
        assert broker.wait() == 0
        assert broker.poll() == 0


def test_the_exit_code_of_a_killed_broker_names_the_signal(server: BrokerForkServer) -> None:
    with server.connect() as client:
        broker = start(client)
        os.kill(broker.pid, signal.SIGKILL)
        assert broker.wait() == -signal.SIGKILL


def test_brokers_end_with_their_connection(server: BrokerForkServer) -> None:
    with server.connect() as client:
        pid = start(client).pid
        assert is_running(pid)
    wait_until_gone(pid)


def test_brokers_end_with_the_server() -> None:
    with BrokerForkServer("nsq") as server:
        client = server.connect()
        pid = start(client).pid
    assert not is_running(pid)
    with client, pytest.raises(TargetUnreachable, match="has ended"):
        client.start(ALONE)


def test_brokers_end_even_when_the_server_is_killed() -> None:
    with BrokerForkServer("nsq") as server, server.connect() as client:
        pid = start(client).pid
        server._process.kill()
        wait_until_gone(pid)
