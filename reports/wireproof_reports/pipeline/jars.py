"""What Spark needs beside Python: Java, Delta's jars, and an archive of the classes it loads.

    python -m wireproof_reports.pipeline.jars [FOLDER]

Spark's own resolver fetches the jars. What they depend on, Spark has already: fetched without
that, they are seven files and 13 MB instead of 33 and 87 MB. Java's archive of loaded classes
(class data sharing) makes each start of Spark shorter: one bundle into a new history took 9.7 s
instead of 14.2 s. It is optional, and takes 200 MB.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

DELTA = "4.4.0"
PACKAGE = f"io.delta:delta-spark_4.2_2.13:{DELTA}"
GROUPS = ("io.delta", "io.unitycatalog")
"""Maven's groups of the jars that are kept."""
_GROUP = re.compile("|".join(rf"^{re.escape(group)}_" for group in GROUPS))
VARIABLE = "WIREPROOF_JARS"
_ADVICE = (
    "on a machine without network copy Delta's jars into a folder "
    f"and set {VARIABLE} to its path (see docs/history-cluster.md)"
)
MEGABYTES, FETCHED_S = 13, 30
"""How large the jars are, and how long a download of them took."""
HASHES = Path(__file__).with_name("jars.sha256")
"""The SHA-256 of each of these jars, as ``sha256sum`` lists them."""
FETCH_S = 900
ARCHIVE_S = 300
OLDEST_JAVA = 17
_WHY = re.compile(r'^(?:Exception in thread "main"|Caused by:) (.+)', re.MULTILINE)

_SAFE = {"PYTHONSAFEPATH": "1"}
"""Neither this Python nor Spark's workers import from the current folder."""
_ASK = """
import json, sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]")
for name, value in json.loads(sys.argv[1]).items():
    builder.config(name, value)
builder.getOrCreate().stop()
"""

_LOAD_CLASSES = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
rows = spark.range(100).selectExpr("id", "id % 2 as half", "string(id) as text", "now() as time")
rows = rows.mapInArrow(lambda batches: batches, rows.schema)
rows.write.format("delta").partitionBy("half").save(sys.argv[1])
spark.read.format("delta").load(sys.argv[1]).createOrReplaceTempView("rows")
spark.sql("select half, max(text) from rows group by half order by half").toArrow()
"""
"""A job that has Java load most of the classes that an ingest or an aggregate needs."""


class SparkFault(Exception):
    """Raised if Spark cannot be started or fails; ``str()`` is one sentence for the user."""


class JarFault(SparkFault):
    """Raised if Java or Delta's jars cannot be found."""


def folder() -> Path:
    """Return the folder of Delta's jars: from the environment, or in the user's cache."""
    named = os.environ.get(VARIABLE, "")
    if named:
        return Path(named)
    return _cache() / f"delta-{DELTA}"


def _cache() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME", "") or Path.home() / ".cache"
    return Path(cache) / "wireproof"


def class_archive() -> Path:
    """Return where the archive of classes is for this Java and this Spark, if there is one.

    Java ignores an archive of another Java or of other jars.
    """
    java = _java()
    home = java.resolve().parents[1] if java is not None else Path()
    parts = [home / "lib" / "modules", _spark_home() / "jars", *find_jars(folder())]
    names = [(str(part), part.stat().st_mtime_ns if part.exists() else 0) for part in parts]
    return _cache() / f"classes-{hashlib.sha256(repr(names).encode()).hexdigest()[:16]}.jsa"


def archive_classes() -> Path:
    """Write the archive of classes in place of those of other installations; return its path.

    Raises:
        JarFault: Java or Delta's jars are missing, or Java wrote no archive.
    """
    check_java()
    where = class_archive()
    where.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=where.parent) as scratch:
        new = Path(scratch) / "classes.jsa"
        script = Path(scratch) / "load_classes.py"
        script.write_text(_LOAD_CLASSES)
        settings = {
            "spark.driver.extraJavaOptions": f'"-XX:ArchiveClassesAtExit={new}"',
            "spark.driver.extraClassPath": joined(":"),  # as a local session has it
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.warehouse.dir": f"{scratch}/warehouse",
            "spark.databricks.delta.snapshotPartitions": "2",
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
        conf = [word for item in settings.items() for word in ("--conf", "=".join(item))]
        submit = str(_spark_home() / "bin" / "spark-submit")
        command = [submit, "--master", "local[2]", *conf, str(script), f"{scratch}/table"]
        try:
            done = subprocess.run(
                command,
                env={**os.environ, **_SAFE, "PYSPARK_PYTHON": sys.executable},
                capture_output=True,
                text=True,
                timeout=ARCHIVE_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise JarFault(f"Java wrote no archive of classes within {ARCHIVE_S} s") from error
        if done.returncode or not new.exists():
            raise JarFault(f"Java wrote no archive of classes ({_reason(done.stderr)})")
        for old in where.parent.glob("classes-*.jsa"):  # 200 MB each
            old.unlink(missing_ok=True)
        new.replace(where)
    return where


def _spark_home() -> Path:
    spec = importlib.util.find_spec("pyspark")
    package = spec.submodule_search_locations if spec is not None else None
    return Path(os.environ.get("SPARK_HOME", "") or (package[0] if package else ""))


def _java() -> Path | None:
    """Return the program that Spark starts Java with; None if there is none."""
    home = os.environ.get("JAVA_HOME", "")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    return Path(java) if java is not None and os.access(java, os.X_OK) else None


def find_jars(where: Path) -> list[Path]:
    """Return the jars in a folder; an empty list if Delta itself is not among them."""
    jars = sorted(where.glob("*.jar"))
    return jars if any(map(_is_delta, jars)) else []


def _is_delta(jar: Path) -> bool:
    return jar.name.startswith(("io.delta_delta-spark", "delta-spark"))


def joined(separator: str, others: str = "") -> str:
    """Return Delta's jars and other ones as a setting of Spark; missing jars are fetched.

    Raises:
        JarFault: the folder's path has the separator in it, the jars cannot be fetched, or one is
            not that of this release.
    """
    where = folder()
    if separator in str(where):
        raise JarFault(
            f"Delta's jars: expected a folder without {separator!r} in its path, since Spark "
            f"separates jars by it, found {where}; set {VARIABLE} to another folder"
        )
    there = found_or_fetched(where)
    return separator.join([*map(str, there), *([others] if others else [])])


def found_or_fetched(where: Path) -> list[Path]:
    """Return the jars in a folder, into which Delta's are downloaded unless they are there.

    Raises:
        JarFault: the jars cannot be fetched, or one is not that of this release.
    """
    there = find_jars(where) or fetch(where)
    if wrong := describe_wrong(there, HASHES):
        advice = f"delete Delta's jars in {where}: the next run downloads them again"
        raise JarFault(f"{wrong}; {advice}")
    return there


def describe_wrong(jars: Sequence[Path], listed: Path, *, all_known: bool = False) -> str:
    """Return in which way a jar differs from a list of SHA-256 hashes; empty if none does.

    A jar that the list does not name is wrong only if `all_known`: a user's folder has others.
    """
    lines = (line.split() for line in listed.read_text("ascii").splitlines())
    expected = {name: digest for digest, name in lines}
    for jar in jars:
        name = _GROUP.sub("", jar.name)
        if name not in expected and not all_known:
            continue
        with jar.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != expected.get(name):
            wanted = expected.get(name, "no file of this name")
            return f"{jar.name}: expected the SHA-256 {wanted}, found {digest}"
    return ""


def fetch(where: Path) -> list[Path]:
    """Download Delta's jars into a folder and return them; what else it has stays.

    Raises:
        JarFault: the jars could not be fetched, are not those of this release, or there is no Java
            to fetch them.
    """
    check_java()
    with tempfile.TemporaryDirectory(prefix="wireproof-jars-") as scratch:
        wanted = tuple(f"{group}_" for group in GROUPS)
        try:
            found = resolve(PACKAGE, Path(scratch))
        except JarFault as error:
            raise JarFault(f"{error}; {_ADVICE}") from error
        kept = [jar for jar in found if jar.name.startswith(wanted)]
        if not kept:
            raise JarFault(f"{PACKAGE} could not be fetched; {_ADVICE}")
        if wrong := describe_wrong(kept, HASHES, all_known=True):
            raise JarFault(f"{wrong}; the downloaded jars were deleted; run again, or {_ADVICE}")
        _place(kept, where)
    return find_jars(where)


def resolve(packages: str, scratch: Path, **settings: str) -> list[Path]:
    """Let Spark download packages into a folder; return their jars.

    Raises:
        JarFault: the download failed, or did not end in time.
    """
    told = {
        "spark.jars.packages": packages,
        "spark.jars.ivy": str(scratch),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        **settings,
    }
    command = [sys.executable, "-c", _ASK, json.dumps(told)]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **_SAFE},
            capture_output=True,
            text=True,
            timeout=FETCH_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise JarFault(f"{packages} could not be fetched within {FETCH_S} s") from error
    if done.returncode:
        why = _reason(done.stderr)
        raise JarFault(f"{packages} could not be fetched ({why})")
    return sorted((scratch / "jars").glob("*.jar"))


def _reason(errors: str) -> str:
    """Return the line of Java's that says why a download failed, or else the last one."""
    found = _WHY.findall(errors)
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return found[-1].strip() if found else lines[-1] if lines else "Spark printed no reason"


def check_java() -> None:
    """Check that a Java is installed that Spark can use.

    Raises:
        JarFault: Java is missing or too old.
    """
    home = os.environ.get("JAVA_HOME", "")
    java = _java()
    where = f"JAVA_HOME ({home})" if home else "the PATH"
    advice = f"install Java {OLDEST_JAVA} or newer, for example with: make setup"
    if java is None:
        raise JarFault(f"Spark needs Java, and there is none on {where}; {advice}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is None or int(found[1]) < OLDEST_JAVA:
        told = f"Java {found[1]}" if found else "a Java whose version cannot be read"
        raise JarFault(
            f"Spark needs Java {OLDEST_JAVA} or newer, found {told} on {where}; {advice}"
        )


def _place(jars: Sequence[Path], where: Path) -> None:
    """Copy jars beside what the folder has; Delta's own last, since it says that all are there."""
    where.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=where) as new:
        for jar in sorted(jars, key=_is_delta):
            shutil.copyfile(jar, Path(new) / jar.name)
            (Path(new) / jar.name).replace(where / jar.name)


def megabytes(jars: Sequence[Path]) -> int:
    """Return the total size of jar files in megabytes."""
    return round(sum(jar.stat().st_size for jar in jars) / 1e6)


def main(arguments: Sequence[str]) -> int:
    """Download missing Delta jars and print their folder; return 0, or 2 after a sentence.

    Without a folder the archive of classes is written, too, unless it is there.
    """
    where = Path(arguments[0]) if arguments else folder()
    try:
        jars = found_or_fetched(where)
    except (JarFault, OSError) as error:
        print(f"wireproof: {error}", file=sys.stderr)
        return 2
    print(f"Delta for Spark: {where} ({len(jars)} jars, {megabytes(jars)} MB)")
    if arguments:
        return 0
    try:
        archive = class_archive()
        archive = archive if archive.exists() else archive_classes()
        print(f"Java's archive of Spark's classes: {archive} ({megabytes([archive])} MB)")
    except (JarFault, OSError) as error:
        print(f"Spark will start more slowly: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
