"""TLS and AUTH of the broker: negotiated by IDENTIFY, asked for before anything else."""

import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from nsq_bench import Bench, Client, identified, pub, sized, word
from test_serve import answer, running

from wireproof_reference_impl.nsq import serve, tls
from wireproof_reference_impl.nsq.core.access import Access
from wireproof_reference_impl.nsq.options import ServeOptions
from wireproof_spec.nsq import golden
from wireproof_spec.nsq.frame import FrameReader, ServerFrame

ASK = '{"feature_negotiation":true,"tls_v1":true}'
SECRET = b"the secret of the test"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(authority: trustme.CA, tmp_path: Path) -> tuple[str, ...]:
    """Return the options that name the broker's certificate and key."""
    issued = authority.issue_cert("127.0.0.1")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    issued.private_key_pem.write_to_path(key)
    for blob in issued.cert_chain_pems:
        blob.write_to_path(certificate, append=True)
    return "--tls-cert", str(certificate), "--tls-key", str(key)


@pytest.fixture
def bench(files: tuple[str, ...]) -> Bench:
    security = tls.security(Path(files[1]), Path(files[3]))
    return Bench(access=Access(security, tls_required=True, secret=SECRET))


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(context)
    return context


def frames(sock: socket.socket, count: int) -> list[bytes]:
    reader = FrameReader(limit=1 << 20)
    found: list[bytes] = []
    while len(found) < count:
        reader.feed(sock.recv(65536))
        while isinstance(frame := reader.next_frame(), ServerFrame):
            found.append(frame.data)
    return found


def secured(sock: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
    said = json.loads(answer(sock, identified(ASK)))
    assert said["tls_v1"] is True
    inside = context.wrap_socket(sock, server_hostname="127.0.0.1")
    assert answer(inside, b"") == b"OK"
    return inside


@pytest.mark.process
def test_a_whole_exchange_in_tls(files: tuple[str, ...], authority: trustme.CA) -> None:
    with running(*files) as broker:
        inside = secured(broker.connect(), trusting(authority))
        with inside:
            assert answer(inside, b"INTERNAL_CREATE_TOPIC t 0\n") == b"OK"
            assert answer(inside, b"SUB t ch 0\n") == b"OK"
            inside.sendall(b"RDY 1\n" + pub("t", b"x" * 100_000))
            assert sorted(each[-2:] for each in frames(inside, 2)) == [b"OK", b"xx"]
            assert answer(inside, b"NONSENSE\n").startswith(b"E_INVALID")
            assert inside.recv(100) == b"", "the end is said in TLS"


@pytest.mark.process
def test_clients_outside_tls_are_served_unless_it_is_required(files: tuple[str, ...]) -> None:
    with running(*files) as broker:
        sock = broker.connect()
        said = json.loads(answer(sock, identified('{"feature_negotiation":true}')))
        assert said["tls_v1"] is False
        assert answer(sock, b"INTERNAL_CREATE_TOPIC t 0\n") == b"OK"


@pytest.mark.process
def test_a_client_that_trusts_nobody_goes_and_harms_nobody(files: tuple[str, ...]) -> None:
    with running(*files) as broker:
        sock = broker.connect()
        answer(sock, identified(ASK))
        with pytest.raises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(sock, server_hostname="127.0.0.1")
        garbage = broker.connect()
        answer(garbage, identified(ASK))
        garbage.sendall(b"this is no handshake at all, and long enough to see it" * 10)
        while garbage.recv(100):
            pass
        assert answer(broker.connect(), b"INTERNAL_CREATE_TOPIC t 0\n") == b"OK"
        assert broker.process.stderr is not None


@pytest.mark.parametrize(
    "scenario",
    [s for s in golden.nsqd_tcp() if "tls_required/" in s.name],
    ids=lambda scenario: scenario.name,
)
def test_recorded_refusals_outside_tls(bench: Bench, scenario: golden.Scenario) -> None:
    client = bench.connect(magic=False)
    expected = [step for step in scenario.steps if step.direction == "recv"][-1]
    for data in scenario.list_sent("A"):
        client.send(data)
    found = []
    while (frame := client.frame(within=0.1)) is not None:
        found.append(frame)

    assert expected.data.endswith(found[-1].data)
    assert client.closed


def in_tls(bench: Bench, context: ssl.SSLContext, *, pieces: int) -> Iterator[bytes]:
    """Yield what a client reads that sends IDENTIFY and everything else in small pieces."""
    client = bench.connect()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    inside = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    reader = FrameReader(limit=1 << 20)
    client.send(identified(ASK))
    reader.feed(client.link.take_output())
    frame = reader.next_frame()
    assert isinstance(frame, ServerFrame)
    yield frame.data
    sent: list[bytes] = [b"AUTH\n" + sized(SECRET), b"INTERNAL_CREATE_TOPIC t 0\n", pub("t", b"x")]
    reader = FrameReader(limit=1 << 20)
    established = False
    for _ in range(200):
        try:
            if not established:
                inside.do_handshake()
                established = True
            elif sent:
                inside.write(sent.pop(0))
            reader.feed(inside.read(65536))
        except ssl.SSLWantReadError:
            pass
        data = outgoing.read()
        for start in range(0, len(data), pieces):
            client.send(data[start : start + pieces])
        incoming.write(client.link.take_output())
        while isinstance(frame := reader.next_frame(), ServerFrame):
            yield frame.data


@pytest.mark.parametrize("pieces", [1, 7, 100_000])
def test_tls_comes_in_any_pieces(bench: Bench, authority: trustme.CA, pieces: int) -> None:
    said = list(in_tls(bench, trusting(authority), pieces=pieces))

    assert json.loads(said[0])["tls_v1"] is True
    assert json.loads(said[0])["auth_required"] is True
    assert said[1] == b"OK"
    assert json.loads(said[2])["permission_count"] == 1
    assert said[3:] == [b"OK", b"OK"]


def asking() -> Client:
    bench = Bench(access=Access(secret=SECRET))
    bench.topic("t", extend=False)
    return bench.connect()


def auth(secret: bytes) -> bytes:
    return b"AUTH\n" + sized(secret)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (b"SUB t ch 0\n", "E_AUTH_FIRST AUTH required before SUB"),
        (b"INTERNAL_CREATE_TOPIC t 0\n", "E_AUTH_FIRST AUTH required before CREATE_TOPIC"),
        (pub("t", b"x"), "E_AUTH_FIRST AUTH required before PUB"),
        (pub("absent", b"x"), "E_TOPIC_NOT_EXIST "),
        (auth(b"wrong"), "E_AUTH_FAILED AUTH failed"),
    ],
)
def test_nothing_goes_before_the_right_secret(command: bytes, text: str) -> None:
    client = asking()
    client.send(command)
    frame = client.frame()

    assert frame is not None
    assert frame.data.decode() == text
    assert client.closed


def test_with_the_secret_everything_goes() -> None:
    client = asking()
    client.send(auth(SECRET))
    frame = client.frame()
    assert frame is not None
    assert frame.data == b'{"identity":"","identity_url":"","permission_count":1}'
    assert client.ask(pub("t", b"x")) == "OK"
    assert client.ask(b"SUB t ch 0\n") == "OK"


def test_auth_is_said_once() -> None:
    client = asking()
    assert word_of(client, auth(SECRET)).startswith("{")
    assert word_of(client, auth(SECRET)) == "E_INVALID"


def word_of(client: Client, data: bytes) -> str:
    client.send(data)
    return word(client.frame())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--tls-cert", "a.pem"], "without --tls-key"),
        (["--tls-required"], "needs --tls-cert"),
        (["--tls-cert", "absent.pem", "--tls-key", "absent.pem"], "no such file"),
        (["--auth-secret-env", "NO_SUCH_VARIABLE"], "not set"),
    ],
)
def test_bad_options_are_one_sentence(
    options: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert serve.main(["--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", *options]) == 2
    said = capsys.readouterr().err
    assert text in said
    assert said.count("\n") == 1


def test_a_key_that_does_not_fit_is_one_sentence(
    files: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().issue_cert("127.0.0.1").private_key_pem.write_to_path(other)
    assert serve.main(["--tls-cert", files[1], "--tls-key", str(other)]) == 2
    assert "no usable certificate" in capsys.readouterr().err


def test_the_secret_is_not_shown() -> None:
    assert SECRET.decode() not in repr(ServeOptions(secret=SECRET))
