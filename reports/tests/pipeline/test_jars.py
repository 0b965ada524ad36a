"""Where Delta's jars lie; fetching them is `make setup`'s affair."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from history_fixture import bundle, rows
from spark_cluster import QUICK

from wireproof_reports.pipeline import jars, shipping

NO_NETWORK = ("unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
"""Runs a command where there is no interface but loopback."""


def may_cut_off() -> bool:
    """Return True if the system permits to run a command without network."""
    return not subprocess.run([*NO_NETWORK, "true"], capture_output=True, check=False).returncode


def test_the_environment_names_the_folder_of_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(jars.VARIABLE, str(tmp_path))
    assert jars.folder() == tmp_path

    monkeypatch.delenv(jars.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jars.folder() == tmp_path / "wireproof" / f"delta-{jars.DELTA}"


@pytest.mark.process
def test_no_module_of_the_current_folder_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("open('acted', 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jars, "_ASK", "import json")

    assert jars.resolve("none", tmp_path) == []
    assert not Path("acted").exists()


def test_a_folder_without_delta_is_none(tmp_path: Path) -> None:
    (tmp_path / "other.jar").write_bytes(b"x")
    assert jars.find_jars(tmp_path) == []

    (tmp_path / "delta-spark_4.2_2.13-4.4.0.jar").write_bytes(b"x")
    assert len(jars.find_jars(tmp_path)) == 2


def test_jars_that_are_there_are_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fetch(_where: Path) -> list[Path]:
        raise jars.JarFault("could not be fetched")

    monkeypatch.setattr(jars, "fetch", fetch)
    assert jars.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == "wireproof: could not be fetched\n"

    (tmp_path / "delta-spark_4.2_2.13-4.3.0.jar").write_bytes(b"x" * 2_000_000)
    assert jars.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"Delta for Spark: {tmp_path} (1 jars, 2 MB)\n"


def test_fetched_jars_lie_beside_what_the_folder_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "hadoop-aws.jar").write_bytes(b"x")
    fetched = [tmp_path / f"io.delta_{name}.jar" for name in ("delta-spark_4", "delta-storage")]
    for jar in fetched:
        jar.write_bytes(b"x")
    list_hashes(tmp_path, monkeypatch, *fetched)
    monkeypatch.setattr(jars, "check_java", lambda: None)
    monkeypatch.setattr(jars, "resolve", lambda *_: fetched)

    found = jars.fetch(tmp_path / "jars")

    assert [jar.name for jar in found] == ["hadoop-aws.jar", *(jar.name for jar in fetched)]
    assert len(list((tmp_path / "jars").iterdir())) == 3


def list_hashes(folder: Path, monkeypatch: pytest.MonkeyPatch, *listed: Path) -> None:
    """Let these jars be those of the release."""
    lines = [f"{sha256(jar.read_bytes()).hexdigest()}  {jar.name[9:]}\n" for jar in listed]
    (folder / "listed").write_text("".join(lines))
    monkeypatch.setattr(jars, "HASHES", folder / "listed")


@pytest.mark.parametrize("name", ["io.delta_delta-storage.jar", "io.delta_delta-unlisted.jar"])
def test_fetched_jars_that_are_not_those_of_the_release_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    right, wrong = tmp_path / "io.delta_delta-storage.jar", tmp_path / name
    right.write_bytes(b"x")
    list_hashes(tmp_path, monkeypatch, right)
    wrong.write_bytes(b"y")
    monkeypatch.setattr(jars, "check_java", lambda: None)
    monkeypatch.setattr(jars, "resolve", lambda *_: [wrong])

    with pytest.raises(jars.JarFault, match=f"{name}: expected the SHA-256 .*, found {'.' * 64};"):
        jars.fetch(tmp_path / "jars")

    assert not (tmp_path / "jars").exists()


@pytest.mark.parametrize("prefix", ["", "io.delta_"])
def test_a_stored_jar_that_was_changed_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    changed = tmp_path / f"{prefix}delta-spark_4.2_2.13-{jars.DELTA}.jar"
    changed.write_bytes(b"x")
    monkeypatch.setenv(jars.VARIABLE, str(tmp_path))

    with pytest.raises(jars.JarFault, match=f"{changed.name}: expected .* the next run downloads"):
        jars.joined(",")


@pytest.mark.spark
def test_the_jars_in_use_are_all_listed() -> None:
    there = jars.find_jars(jars.folder())

    assert there
    assert jars.describe_wrong(there, jars.HASHES, all_known=True) == ""


def test_a_fetch_that_hangs_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hang(command: list[str], **options: object) -> None:
        raise subprocess.TimeoutExpired(command, jars.FETCH_S)

    monkeypatch.setattr(jars, "check_java", lambda: None)
    monkeypatch.setattr(subprocess, "run", hang)

    assert jars.main([str(tmp_path / "jars")]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(
        f"wireproof: {jars.PACKAGE} could not be fetched within {jars.FETCH_S} s; on a machine"
    )


IVY = """:: loading settings :: url = jar:file:/x/ivysettings.xml
Exception in thread "main" java.lang.RuntimeException: [unresolved: io.delta#x]
\tat org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:557)
Traceback (most recent call last):
pyspark.errors.PySparkRuntimeError: [JAVA_GATEWAY_EXITED] Java gateway process exited.
"""


@pytest.mark.parametrize(
    ("errors", "why"),
    [
        (IVY, "java.lang.RuntimeException: [unresolved: io.delta#x]"),
        ("a\nModuleNotFoundError: No module named 'pyspark'\n\n", "No module named 'pyspark'"),
        ("", "Spark printed no reason"),
    ],
    ids=["java", "python", "silent"],
)
def test_a_failed_fetch_is_told_with_its_reason(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    errors: str,
    why: str,
) -> None:
    def fail(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", errors)

    monkeypatch.setattr(jars, "check_java", lambda: None)
    monkeypatch.setattr(subprocess, "run", fail)

    assert jars.main([str(tmp_path / "jars")]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert f"{why}); on a machine without network" in told


@pytest.mark.parametrize("main", [jars.main, shipping.main], ids=["jars", "shipping"])
def test_without_java_the_network_is_not_blamed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    main: Callable[[list[str]], int],
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv(jars.VARIABLE, str(tmp_path / "jars"))

    assert main([str(tmp_path / "new")]) == 2

    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(
        f"wireproof: Spark needs Java, and there is none on JAVA_HOME ({tmp_path})"
    )
    assert "could not be fetched" not in told


def test_without_an_archive_of_classes_the_jars_suffice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> Path:
        raise jars.JarFault("Java wrote no archive of classes")

    (tmp_path / "delta-spark_4.2_2.13-4.3.0.jar").write_bytes(b"jar")
    monkeypatch.setenv(jars.VARIABLE, str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "archive_classes", fail)

    assert jars.main([]) == 0

    told = capsys.readouterr()
    assert told.out == f"Delta for Spark: {tmp_path} (1 jars, 0 MB)\n"
    assert told.err == "Spark will start more slowly: Java wrote no archive of classes\n"


MAPPED = """
import json, sys
from pathlib import Path
from wireproof_reports.pipeline.session import Wanted, session
with session(Wanted("local[1]", settings=json.loads(sys.argv[1])), Path(sys.argv[2])) as spark:
    java = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    print(spark.range(3).count(), sys.argv[3] in Path(f"/proc/{java}/maps").read_text())
"""
"""Starts Spark, and prints whether its Java has mapped a file."""


@pytest.mark.process
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc: files mapped unknown")
def test_spark_uses_the_archive_of_classes_unless_it_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(jars.VARIABLE, str(jars.folder()))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    others = tmp_path / "wireproof" / "classes-0.jsa"
    others.parent.mkdir()
    others.write_bytes(b"of another installation")

    archive = jars.archive_classes()
    used = mapped(tmp_path, archive)
    written = archive.read_bytes()
    other = written.replace(b" 64-Bit ", b" 65-Bit ")  # in the name of the Java that wrote it
    assert other != written
    archive.unlink()
    archive.write_bytes(other)

    assert used == "3 True\n"
    assert mapped(tmp_path, archive) == "3 False\n"
    assert list(others.parent.iterdir()) == [archive]


def mapped(folder: Path, archive: Path) -> str:
    """Return what a session of Spark counts, and whether its Java uses an archive."""
    words = [json.dumps(QUICK), str(folder / "spark.log"), str(archive)]
    done = subprocess.run(
        [sys.executable, "-c", MAPPED, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.process
@pytest.mark.spark
@pytest.mark.parametrize("by", ["variable", "setting"])
def test_without_network_jars_of_a_folder_serve(tmp_path: Path, by: str) -> None:
    """The caches are empty, too: a jar that was fetched would be seen there."""
    folder, home = tmp_path / "jars", tmp_path / "home"
    shutil.copytree(jars.folder(), folder)
    home.mkdir()
    settings = dict(QUICK)
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    environment.pop(jars.VARIABLE, None)
    if by == "setting":
        settings["spark.jars"] = ",".join(map(str, jars.find_jars(folder)))
    else:
        environment[jars.VARIABLE] = str(folder)
    conf = [word for item in settings.items() for word in ("--conf", "=".join(item))]
    history, site = str(tmp_path / "h"), tmp_path / "site"
    is_cut_off = may_cut_off()

    for words in (
        ["ingest", str(bundle(tmp_path / "b.jsonl")), "--history", history],
        ["aggregate", history, "--out", str(site)],
    ):
        command = [sys.executable, "-m", "wireproof", *words, "--master", "local[2]", *conf]
        done = subprocess.run(
            [*NO_NETWORK, *command] if is_cut_off else command,
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "fetching" not in done.stderr
        assert "starting Spark" in done.stderr

    assert len(rows(tmp_path / "h", "runs")) == 1
    assert (site / "matrix.html").exists()
    assert list(home.rglob("*.jar")) == []
    if not is_cut_off:
        pytest.skip("the jars serve, but `unshare -rn` is not permitted: with network")
