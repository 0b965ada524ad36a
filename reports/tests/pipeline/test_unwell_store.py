"""An object store that fails: one sentence within a bound, and the history as it was before."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from history_fixture import bundle, rows
from ports import NOBODY
from pyspark.sql import SparkSession
from spark_cluster import QUICK
from spark_servers import KEYS, S3_JARS, Store, has_s3, java_anew, object_store
from unwell_stores import Between, between, busy_store, silent_store

from wireproof_reports.pipeline.ingest import How, ingest
from wireproof_reports.pipeline.jars import SparkFault
from wireproof_reports.pipeline.session import Wanted, in_words, session
from wireproof_reports.pipeline.watch import watch
from wireproof_reports.site.analysis import state_of

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.skipif(
        not any(S3_JARS.glob("hadoop-aws*.jar")), reason="no jars for S3: `python tools/s3.py`"
    ),
]
SENTENCES = {
    "busy": "the object store of s3a://busy/there answered 503; see that",
    "silent": "the object store of s3a://silent/there did not answer in time; see that",
    "gone": "the object store of s3a://gone/there cannot be reached; see that",
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Between] | None]:
    """A store that can be turned busy; None without a server."""
    if not has_s3():
        yield None
        return
    with ExitStack() as stack:
        store = stack.enter_context(object_store(tmp_path_factory.mktemp("store")))
        yield store, stack.enter_context(between(int(store.endpoint.rpartition(":")[2])))


@pytest.fixture(scope="module")
def spark(
    tmp_path_factory: pytest.TempPathFactory, real: tuple[Store, Between] | None
) -> Iterator[SparkSession]:
    """A session for which each bucket is a store at another port."""
    folder = tmp_path_factory.mktemp("spark")
    with ExitStack() as stack:
        stack.enter_context(java_anew())
        ports = {
            "busy": stack.enter_context(busy_store()),
            "silent": stack.enter_context(silent_store()),
            "gone": NOBODY[1],
            "runs": real[1].port if real else NOBODY[1],
        }
        conf = {**QUICK, **Store("", folder).conf}
        for bucket, port in ports.items():
            conf[f"spark.hadoop.fs.s3a.bucket.{bucket}.endpoint"] = f"http://127.0.0.1:{port}"
        patched = stack.enter_context(pytest.MonkeyPatch.context())
        for name, key in KEYS.items():
            patched.setenv(name, key)
        wanted = Wanted("local[2]", settings=conf)
        yield stack.enter_context(session(wanted, folder / "log"))


ASKED: dict[str, Callable[[SparkSession, str, Path], object]] = {
    "ingest from": lambda spark, url, folder: ingest(spark, [url], str(folder / "h")),
    "ingest to": lambda spark, url, folder: ingest(spark, [str(bundle(folder / "1.jsonl"))], url),
    "watch": lambda spark, url, folder: watch(
        spark, url, str(folder / "h"), how=How(), told=print
    ),
    "aggregate": lambda spark, url, _folder: state_of(spark, url, ""),
}


@pytest.mark.parametrize(
    ("store", "asked"),
    [
        *(("gone", asked) for asked in ASKED),
        *(
            (store, asked)
            for store in ("busy", "silent")
            for asked in ("ingest from", "aggregate")
        ),
    ],
)
def test_a_store_that_fails_from_the_first_request_is_one_sentence(
    spark: SparkSession, tmp_path: Path, store: str, asked: str
) -> None:
    """Hadoop's own limits keep a command waiting for hours: the watchdog ends such a test."""
    with pytest.raises(SparkFault) as fault, in_words(tmp_path / "log"):
        ASKED[asked](spark, f"s3a://{store}/there", tmp_path)

    assert str(fault.value).startswith(f"Spark reported an error: {SENTENCES[store]}")
    assert "\n" not in str(fault.value)
    assert not (tmp_path / "h").exists()


def is_commit(piece: bytes) -> bool:
    return re.match(rb"PUT /\S*/_delta_log/\d+\.json", piece) is not None


@pytest.mark.parametrize("before", [0, 1])
def test_a_store_that_fails_at_the_commit_leaves_the_history_as_it_was(
    spark: SparkSession, real: tuple[Store, Between] | None, tmp_path: Path, before: int
) -> None:
    """The next ingest adds the batch, once."""
    if real is None:
        pytest.skip("no S3 server: `python tools/s3.py` says why")
    store, state = real
    history = f"s3a://runs/history-{before}"
    log = store.bucket / f"history-{before}" / "_delta_log"
    paths = [str(bundle(tmp_path / f"{seed}.jsonl", seed=seed)) for seed in (1, 2)]
    for path in paths[:before]:
        ingest(spark, [path], history)
    commits = sorted(log.glob("*.json"))
    state.turn_at(is_commit)

    with pytest.raises(SparkFault) as fault, in_words(tmp_path / "log"):
        ingest(spark, paths, history)

    assert state.has_turned
    state.mend()
    assert "answered 503; see that" in str(fault.value)
    assert "\n" not in str(fault.value)
    assert sorted(log.glob("*.json")) == commits
    taken = ingest(spark, paths, history)
    assert (taken.bundles, taken.already) == (len(paths) - before, before)
    runs = rows(log.parent, "runs")
    assert sorted(int(str(row["seed"])) for row in runs) == [1, 2]
