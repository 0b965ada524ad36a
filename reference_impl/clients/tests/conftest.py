"""Where the clients run: against the reference in both dialects, or a real cluster on demand.

`WIREPROOF_CLIENTS_LOOKUPD=HOST:PORT[,HOST:PORT]` names the lookup servers of a real youzan cluster
of two nodes, which is how the scenarios themselves are checked.

What cannot run is named in one line at the end, and a run in which nothing ran is no success.
"""

import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from go_nsq_client import GoNsq
from iggy_sdk_drivers import SDKS
from ready_drivers import DRIVERS, CannotFetch
from served_cluster import Cluster, RealCluster, reference_cluster
from tool_modules import load_tool

PROGRAM = Path(__file__).resolve().parents[1] / "go_nsq"
CRATE = Path(__file__).resolve().parents[1] / "iggy_crate"
CRATE_TARGET = Path(__file__).resolve().parents[3] / "out" / "iggy_crate"
REAL = os.environ.get("WIREPROOF_CLIENTS_LOOKUPD", "")
KINDS = {**DRIVERS, **SDKS}
NOT_RUN = pytest.StashKey[dict[str, str]]()


@pytest.fixture(scope="session")
def clusters() -> Iterator[Callable[[str], Cluster]]:
    """Starts a cluster when it is first needed."""
    with ExitStack() as running:

        @cache
        def start(which: str) -> Cluster:
            if which == "real":
                return RealCluster(tuple(REAL.split(",")))
            return running.enter_context(reference_cluster(which))

        yield start


@pytest.fixture(params=["real"] if REAL else ["published", "deployed"])
def cluster(request: pytest.FixtureRequest, clusters: Callable[[str], Cluster]) -> Cluster:
    return clusters(request.param)


@pytest.fixture
def classic_cluster(clusters: Callable[[str], Cluster]) -> Cluster:
    """One that takes what names no partition, which the published text does not know."""
    return clusters("real" if REAL else "deployed")


@pytest.fixture(scope="session")
def go_nsq_program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The program with the client in it, built from what go.sum names; or why there is none."""
    reason = missing("Go")
    if not reason and (done := go("mod", "download")).returncode:
        reason = f"its modules could not be fetched: {last_line(done.stderr)}"
    if reason:
        request.config.stash.setdefault(NOT_RUN, {})["go-nsq"] = reason
        pytest.skip(reason)
    program = tmp_path_factory.mktemp("go_nsq") / "go_nsq"
    built = go("build", "-o", str(program), ".")
    assert built.returncode == 0, built.stderr
    return program


@pytest.fixture(scope="session")
def iggy_crate_program(request: pytest.FixtureRequest) -> Path:
    """The program with crate iggy in it, built from what Cargo.lock names; or why there is none.

    The first build takes minutes and is kept, for there are hundreds of crates in it.
    """
    reason = missing("Rust")
    if not reason and (done := cargo("fetch")).returncode:
        reason = f"its crates could not be fetched: {last_line(done.stderr)}"
    if reason:
        request.config.stash.setdefault(NOT_RUN, {})["crate iggy"] = reason
        pytest.skip(reason)
    built = cargo("build", "--offline")
    assert built.returncode == 0, built.stderr
    return CRATE_TARGET / "debug" / "iggy_crate"


@cache
def built(name: str) -> str:
    """Return the command of a driver; it is built once."""
    return KINDS[name].build()


@pytest.fixture
def driver(request: pytest.FixtureRequest) -> str:
    """The command of the driver that the test's parameter names; or why there is none."""
    kind = KINDS[request.param]
    reason = missing(kind.compiler) if kind.compiler else ""
    if not reason:
        try:
            return built(request.param)
        except CannotFetch as error:
            reason = f"what it needs could not be fetched: {error}"
    request.config.stash.setdefault(NOT_RUN, {})[f"judged {request.param}"] = reason
    pytest.skip(reason)


@pytest.fixture
def go_nsq(go_nsq_program: Path, cluster: Cluster, tmp_path: Path) -> GoNsq:
    return GoNsq(go_nsq_program, cluster, tmp_path)


@pytest.fixture
def name() -> str:
    """A topic name nobody has used."""
    return f"wp_{uuid.uuid4().hex[:12]}"


def go(*words: str) -> subprocess.CompletedProcess[str]:
    own = {"GOFLAGS": "-mod=readonly -buildvcs=false", "GOTOOLCHAIN": "local", "GO111MODULE": "on"}
    return subprocess.run(
        ["go", *words],
        cwd=PROGRAM,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )


def cargo(verb: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["cargo", verb, "--locked", *words],
        cwd=CRATE,
        env={**os.environ, "CARGO_TARGET_DIR": str(CRATE_TARGET)},
        capture_output=True,
        text=True,
        check=False,
    )


def missing(compiler: str) -> str:
    """Return why a compiler is missing, as the set-up script says it; empty if it is there."""
    setup = load_tool("tools/setup.py")
    return str(next(c for c in setup.COMPILERS if c.name == compiler).find_missing())


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for client, reason in terminalreporter.config.stash.get(NOT_RUN, {}).items():
        terminalreporter.write_line(f"not run: {client} scenarios ({reason})")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    assert isinstance(reporter, pytest.TerminalReporter)
    if session.exitstatus == pytest.ExitCode.OK and not reporter.stats.get("passed"):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
