"""Both halves of the pipeline on an object store: a real server of S3's protocol, on loopback."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bundle_fixture import passes
from history_fixture import bundle, count_by_bundle, rows, tree
from late_writer import late_writer
from spark_cluster import QUICK
from spark_servers import KEYS, Store, has_s3, object_store
from waits import LONG_S, until

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.skipif(not has_s3(), reason="no S3 server: `python tools/s3.py` says why"),
]

KILLS = int(os.environ.get("WIREPROOF_STORE_KILLS", "1"))
BUNDLES = 4
MOST_WRITING_S = 1.0
"""Seconds after its first file in which a command is killed: it writes for about as long."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with object_store(tmp_path_factory.mktemp("store")) as started:
        made = tmp_path_factory.mktemp("made")
        for seed in range(1, BUNDLES + 1):
            whole = bundle(made / "bundle", seed=seed).read_bytes()
            started.put(f"landing/{seed}.jsonl", whole)
        started.put("landing/cut.jsonl", bundle(made / "cut", seed=99).read_bytes()[:-400])
        yield started


PATCHED = """
import runpy
from wireproof_reports.pipeline import tables
from wireproof_reports.pipeline.bundles import landing
{}
runpy.run_module("wireproof", run_name="__main__")
"""
KEEPING = PATCHED.format("tables.FEW = 0")
"""Runs wireproof as one does whose history is long: what an aggregate counts is kept."""


def started(store: Store, *arguments: str, code: str = "") -> "subprocess.Popen[str]":
    conf = {**QUICK, **store.conf}
    settings = [word for item in conf.items() for word in ("--conf", "=".join(item))]
    words = [*arguments, "--master", "local[2]", *settings]
    return subprocess.Popen(
        [sys.executable, *(["-c", code] if code else ["-m", "wireproof"]), *words],
        env={**os.environ, **KEYS},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(store: Store, *arguments: str, code: str = "") -> tuple[int, str, str]:
    process = started(store, *arguments, code=code)
    out, err = process.communicate()
    return process.returncode, out, err


def kill_while_writing(
    store: Store, writes: str, chance: random.Random, *arguments: str, code: str = ""
) -> None:
    """Kill a command and its Java at a random moment after it has written a new file.

    ``writes`` is the pattern of such files below the bucket.
    """
    before = len(list(store.bucket.glob(writes)))
    process = started(store, *arguments, code=code)

    def has_written() -> bool:
        assert process.poll() is None, process.communicate()
        return len(list(store.bucket.glob(writes))) > before

    until(has_written, "file", LONG_S)
    kill_at = time.monotonic() + chance.uniform(0, MOST_WRITING_S)
    while time.monotonic() < kill_at and process.poll() is None:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL  # otherwise it had ended by itself


def test_bundles_of_a_store_become_a_history_and_a_site(store: Store, tmp_path: Path) -> None:
    """Kill the ingest while it writes first: nothing is lost, nothing is there twice."""
    chance = random.Random(29)
    ingest = ("ingest", "s3a://runs/landing", "--history", "s3a://runs/history")
    for number in range(KILLS):
        arrive(store, f"landing/more-{number}", BUNDLES + 1 + number, tmp_path)
        kill_while_writing(store, "history/kind=*/*/*/*.parquet", chance, *ingest)

    code, _, err = ended(store, *ingest)
    again, out, _ = ended(store, *ingest)
    asked = ended(store, "aggregate", "s3a://runs/history", "--out", str(tmp_path / "site"))

    assert (code, again) == (2, 2), err
    assert "refused  s3a://runs/landing/cut.jsonl is cut off in line" in err
    told = f"0 bundles added, {BUNDLES + KILLS} already there; 0 results"
    assert out == f"history  s3a://runs/history   {told}\n"
    history = store.bucket / "history"
    seeds = sorted(int(str(row["seed"])) for row in rows(history, "runs"))
    assert seeds == [*range(1, BUNDLES + KILLS + 1)]
    assert {table: of.total() for table, of in count_by_bundle(history).items()} == {
        "results": 3 * len(seeds),
        "grammar": 9 * len(seeds),
        "runs": len(seeds),
        "quarantine": 1,
    }
    assert asked[0] == 0, asked[2]
    assert (tmp_path / "site" / "matrix.html").exists()


def test_an_aggregate_that_is_killed_leaves_nothing_half(store: Store, tmp_path: Path) -> None:
    """It is killed while it keeps its counts in the store; the next one goes on with them."""
    chance = random.Random(31)
    history, lies, site = "s3a://runs/asked", store.bucket / "asked", tmp_path / "site"
    ingest = ("ingest", "s3a://runs/landing", "s3a://runs/asking", "--history", history)
    ask = ("aggregate", history, "--out", str(site))
    for number in range(KILLS):
        arrive(store, f"asking/{number}", 100 + number, tmp_path)
        taken = ended(store, *ingest)
        assert taken[0] == 2, taken[2]
        log = "asked/_partials/counts/_delta_log/*.json"
        kill_while_writing(store, log, chance, *ask, code=KEEPING)
        assert (site / "data" / "index.json").exists() == (site / "data").exists()

    code, _, err = ended(store, *ask, code=KEEPING)
    other = ended(store, "aggregate", str(lies), "--out", str(tmp_path / "other"))

    assert (code, other[0]) == (0, 0), (err, other[2])
    assert "cannot use the counts" not in err
    assert len(answers(site)) > 10
    assert answers(site) == answers(tmp_path / "other")


def arrive(store: Store, name: str, seed: int, made: Path) -> None:
    store.put(f"{name}.jsonl", bundle(made / "arriving", seed=seed).read_bytes())


def test_at_a_url_only_bundles_are_taken_and_too_large_ones_refused(
    store: Store, tmp_path: Path
) -> None:
    """As from a folder; watching remembers what it has seen, so it must refuse them as well."""
    small = bundle(tmp_path / "small.jsonl", seed=1)
    large = bundle(tmp_path / "large.jsonl", list(passes()), seed=2)
    for path in (small, large):
        store.put(f"sizes/{path.name}", path.read_bytes())
    store.put("sizes/next.jsonl.tmp", small.read_bytes()[:-400])
    store.put("empty/notes.txt", b"none")
    shrunk = PATCHED.format(f"landing.MOST_BYTES = {small.stat().st_size}")

    for watch in ([], ["--watch", "--once"]):
        words = ("ingest", "s3a://runs/sizes", "--history", f"s3a://runs/sizes-{len(watch)}")
        code, out, err = ended(store, *words, *watch, code=shrunk)

        assert code == 2, err
        assert out == f"history  {words[-1]}   1 bundle added; 3 results\n"
        refused = [line for line in err.splitlines() if line.startswith("refused")]
        assert len(refused) == 1
        assert refused[0].startswith(
            "refused  s3a://runs/sizes/large.jsonl is larger than 0 MiB; expected the bundle of"
        )

    code, out, err = ended(store, "ingest", "s3a://runs/empty", "--history", "s3a://runs/none")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("wireproof: s3a://runs/empty has no bundle in it")


def answers(site: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(site / "data").items() if name != "index.json"}


IMPATIENT = """
import json, sys
from pathlib import Path
from wireproof_reports.pipeline.ingest import How, HistoryFault, ingest
from wireproof_reports.pipeline.session import Wanted, session
bundle, history, log, settings = sys.argv[1:]
with session(Wanted("local[2]", settings=json.loads(settings)), Path(log)) as spark:
    try:
        print(ingest(spark, [bundle], history, how=How(wait_s=0.0)))
    except HistoryFault as error:
        print(error)
"""


def test_java_that_outlives_a_killed_ingest_is_waited_for(store: Store, tmp_path: Path) -> None:
    path, history = str(bundle(tmp_path / "1.jsonl")), "s3a://runs/late"
    conf, lies = {**QUICK, **store.conf}, store.bucket / "late"
    impatient = [sys.executable, "-c", IMPATIENT, path, history, str(tmp_path / "log")]
    with late_writer(tmp_path, history, path, conf, lies=lies, **KEYS) as go_on:
        done = subprocess.run(
            [*impatient, json.dumps(conf)],
            env={**os.environ, **KEYS},
            capture_output=True,
            text=True,
            check=True,
        )
        go_on()

    code, out, err = ended(store, "ingest", path, "--history", history)

    assert "s3a://runs/late is in use by another ingest" in done.stdout
    assert code == 0, err
    assert out.endswith("   0 bundles added, 1 already there; 0 results\n")
    assert (len(rows(lies, "runs")), len(rows(lies, "results"))) == (1, 3)


def test_with_a_wrong_key_nothing_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEYS, "AWS_SECRET_ACCESS_KEY", "another")

    code, out, err = ended(store, "ingest", "s3a://runs/landing", "--history", "s3a://runs/other")

    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("wireproof: Spark reported an error: ")
    assert not (store.bucket / "other").exists()
