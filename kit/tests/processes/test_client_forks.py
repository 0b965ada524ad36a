"""The fork server of example clients: a launcher's streams, its exit code, and its end."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from waits import Stopwatch

from wireproof_kit.drivers.processor import measure_session
from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.processes.client_forks import ClientForkServer

pytestmark = pytest.mark.process

WITHIN_S = 20.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ClientForkServer]:
    with ClientForkServer("nsq", str(tmp_path)) as started:
        yield started


def launch(server: ClientForkServer, *options: str) -> subprocess.Popen[bytes]:
    with server.reference(options) as url:
        words = shlex.split(url.partition(":")[2])
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_a_client_speaks_on_the_launchers_streams_and_ends_with_its_input(
    server: ClientForkServer,
) -> None:
    with launch(server) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        assert json.loads(client.stdout.readline())["hello"] == "wireproof-driver"
        client.stdin.close()
        assert client.stdout.read() == b""
        assert client.wait() == 0


def test_a_bad_option_is_told_with_its_exit_code(server: ClientForkServer) -> None:
    with launch(server, "--fault", "no-such") as client:
        _, told = client.communicate()

    assert b"no-such" in told
    assert client.returncode == 2


def test_two_clients_do_not_hold_each_others_streams(server: ClientForkServer) -> None:
    with launch(server) as one, launch(server) as other:
        for client in (one, other):
            assert client.stdout is not None
            client.stdout.readline()
        one.communicate()
        assert one.returncode == 0
        other.communicate()


def test_a_client_ends_with_its_launcher(server: ClientForkServer) -> None:
    with launch(server) as client:
        assert client.stdout is not None
        assert client.stdin is not None
        client.stdout.readline()
        watch = Stopwatch()
        client.kill()
        assert client.stdout.read() == b"", "the client holds the stream until it ends"
        assert watch.seconds() < WITHIN_S


def test_a_client_is_measured_with_its_launchers_session(server: ClientForkServer) -> None:
    with launch(server) as client:
        assert client.stdout is not None
        client.stdout.readline()
        both = measure_session(client.pid).used
        launcher = int(Path(f"/proc/{client.pid}/schedstat").read_text().split()[0]) / 1e9
        client.communicate()

    assert both > launcher


def test_a_protocol_without_a_client_is_no_server(tmp_path: Path) -> None:
    with pytest.raises(TargetUnreachable, match="did not start"):
        ClientForkServer("oms", str(tmp_path))
    assert not os.listdir(tmp_path)
