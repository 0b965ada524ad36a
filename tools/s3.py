"""Bring an S3-compatible server, and the jars by which Spark talks to one, for `make test-spark`.

    python tools/s3.py

The server is the Go module versitygw, built by Go into .cache/tools/bin; the jars lie beside
Delta's in the user's cache. Hadoop's own choice of the AWS SDK is one jar of 600 MB; the parts
that it uses are, with Hadoop's, 13 MB. Missing is no failure: it is said, and the tests say what
they left out.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from wireproof_reports.pipeline import jars

SERVER = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
HADOOP, SDK = "3.5.0", "2.35.4"
PARTS = ("s3", "s3-transfer-manager", "sts", "apache-client")
OWN = ("org.apache.hadoop_hadoop-aws", "org.wildfly", "software.amazon", "org.reactivestreams")
HASHES = Path(__file__).with_name("s3.sha256")
BIN = Path(__file__).resolve().parent.parent / ".cache" / "tools" / "bin"


def main() -> int:
    print(f"S3 server: {bring_server()}")
    print(f"jars for S3: {bring_jars()}")
    return 0


def bring_server() -> str:
    place = BIN / "versitygw"
    if place.exists():
        return str(place)
    if shutil.which("go") is None:
        return "MISSING (Go was not found)"
    command = ["go", "install", SERVER]
    environment = {**os.environ, "GOBIN": str(BIN), "GOFLAGS": "-mod=mod"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return str(place) if place.exists() else f"MISSING ({done.stderr.strip()[-200:]})"


def bring_jars() -> str:
    place = jars.folder().with_name("s3")
    if not any(place.glob("hadoop-aws*.jar")):
        packages = [f"org.apache.hadoop:hadoop-aws:{HADOOP}"]
        packages += [f"software.amazon.awssdk:{part}:{SDK}" for part in PARTS]
        with tempfile.TemporaryDirectory(prefix="wireproof-jars-") as scratch:
            more = {"spark.jars.excludes": "software.amazon.awssdk:bundle"}
            try:
                done = jars.resolve(",".join(packages), Path(scratch), **more)
            except jars.JarFault as error:
                return f"MISSING ({error})"
            found = [jar for jar in done if jar.name.startswith(OWN)]
            place.mkdir(parents=True, exist_ok=True)
            for jar in found:
                shutil.copyfile(jar, place / jar.name.partition("_")[2])
    there = sorted(place.glob("*.jar"))
    if wrong := jars.describe_wrong(there, HASHES, all_known=True):
        return f"MISSING ({wrong}; remove {place})"
    return f"{place} ({len(there)} jars, {jars.megabytes(there)} MB)" if there else "MISSING"


if __name__ == "__main__":
    sys.exit(main())
