"""What drivers in Java share (`examples/clients/java`), compiled without any library."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from cli_process import wireproof

SHARED = Path(__file__).resolve().parents[2] / "clients" / "java" / "src" / "wireproof"
ECHO = """
package wireproof;
import java.util.List;
import java.util.Map;
final class Echo {
    public static void main(String[] arguments) throws Exception {
        Driver.serve("echo", "1", List.of("a claim"), Map.of(
                "open", request -> Map.of(),
                "echo", request -> {
                    System.out.println("a library prints");
                    return request.members();
                },
                "close", request -> Map.of()));
    }
}
"""
VALUES = [
    *(None, True, False, 0, -7, 2**53, 1.5, 2e-7, [], {}, [[1], {"a": {}}], ""),
    *('"\\/\b\f\n\r\t\0\x1f', "é漢\U0001f600", "{[,:]}", {"": [None, "a b"]}),
]
pytestmark = [pytest.mark.process]


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command of a driver that answers with the request."""
    folder = tmp_path_factory.mktemp("echo")
    source = folder / "Echo.java"
    source.write_text(ECHO)
    words = ["javac", "--release", "17", "-d", str(folder)]
    subprocess.run([*words, source, SHARED / "Driver.java", SHARED / "Json.java"], check=True)
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", str(folder), "wireproof.Echo"]


def test_the_shared_lines_keep_to_the_protocol(echo: list[str]) -> None:
    done = wireproof("client", "--check-driver", shlex.join(echo))
    # The rules behind these need an operation of NSQ.
    first = done.out.splitlines()[:3]
    assert [line.split()[0] for line in first] == ["ok"] * 3, done.out + done.err


@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_value_comes_back_as_it_was_sent(echo: list[str], *, ascii_only: bool) -> None:
    sent = {"id": 1, "op": "echo", "messages": VALUES}
    line = json.dumps(sent, ensure_ascii=ascii_only)
    done = subprocess.run(echo, input=f"{line}\n".encode(), capture_output=True, check=True)
    assert json.loads(done.stdout.splitlines()[1]) == {"id": 1, "ok": sent}
