"""A Spark session for few rows, for all tests of a module."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the quick tests need no Spark
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    from spark_cluster import QUICK

    from wireproof_reports.pipeline.session import Wanted, session

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    with session(Wanted("local[2]", settings=QUICK), log) as started:
        yield started
