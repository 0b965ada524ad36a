"""Which SQL is answered: nothing that writes, runs, or reads anything but the views."""

from pathlib import Path

import pytest
from history_fixture import tree, write_history
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.table import read_state
from wireproof_reports.questions.sql import NotAllowed, ask_sql, name_views

# ruff: noqa: E501  # a statement is a line

pytestmark = [pytest.mark.process, pytest.mark.spark]

REFUSED = """
EXPLAIN SELECT 1
EXPLAIN EXTENDED EXECUTE IMMEDIATE 'create table t (n int)'
EXPLAIN EXECUTE IMMEDIATE 'insert into delta.`{h}` select * from delta.`{h}`'
EXPLAIN CODEGEN SELECT reflect('java.lang.System', 'getProperty', 'user.home')
EXPLAIN FORMATTED DROP VIEW runs
EXECUTE IMMEDIATE 'select 1'
EXECUTE IMMEDIATE 'create table t (n int)'
EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ''drop view runs'''
WITH a AS (SELECT 1) EXECUTE IMMEDIATE 'select 1'
SELECT * FROM (EXECUTE IMMEDIATE 'select 1')
BEGIN SELECT 1; END
BEGIN EXECUTE IMMEDIATE 'drop view runs'; END
SELECT reflect('java.lang.System', 'exit', 3)
SELECT java_method('java.util.UUID', 'randomUUID')
SELECT try_reflect('java.lang.System', 'getenv', 'HOME')
SELECT count(*) FROM runs WHERE reflect('java.lang.Runtime', 'getRuntime') IS NOT NULL
SELECT max(seed) FROM runs GROUP BY ALL HAVING java_method('java.lang.Math', 'random') > 0
SELECT seed FROM runs ORDER BY reflect('java.lang.Math', 'random')
SELECT transform(array(1), x -> reflect('java.lang.Math', 'abs', x))
SELECT (SELECT reflect('java.lang.Math', 'random'))
SELECT CASE WHEN true THEN reflect('java.lang.Math', 'random') END
SELECT system.builtin.reflect('java.lang.Math', 'random')
SELECT `reflect`('java.lang.Math', 'random')
SELECT sum(n) OVER (PARTITION BY reflect('java.lang.Math', 'random')) FROM (SELECT 1 AS n)
WITH w AS (SELECT reflect('java.lang.Math', 'random') AS n) SELECT * FROM w
VALUES (reflect('java.lang.Math', 'random'))
SELECT TRANSFORM (seed) USING 'cat' AS (seed) FROM runs
SELECT TRANSFORM (seed) USING 'sh -c "touch {h}/x"' FROM runs
FROM runs MAP seed USING 'cat' AS seed
FROM (FROM runs SELECT seed) t REDUCE seed USING 'cat' AS seed
SELECT * FROM delta.`{h}`
SELECT * FROM delta.`/etc`
SELECT * FROM parquet.`{h}/kind=run`
SELECT * FROM text.`/etc/passwd`
SELECT * FROM csv.`/etc/passwd`
SELECT * FROM json.`/etc/passwd`
SELECT * FROM binaryFile.`/etc/passwd`
SELECT * FROM `text`.`/etc/passwd`
SELECT * FROM runs JOIN text.`/etc/passwd` ON true
SELECT * FROM runs WHERE seed IN (SELECT value FROM text.`/etc/passwd`)
SELECT * FROM runs WHERE EXISTS (SELECT * FROM text.`/etc/passwd`)
SELECT (SELECT max(value) FROM text.`/etc/passwd`)
SELECT * FROM runs UNION ALL SELECT * FROM text.`/etc/passwd`
SELECT * FROM runs, LATERAL (SELECT value FROM text.`/etc/passwd`)
WITH runs AS (SELECT * FROM text.`/etc/passwd`) SELECT * FROM runs
WITH a AS (WITH b AS (SELECT * FROM text.`/etc/passwd`) SELECT * FROM b) SELECT * FROM a
SELECT * FROM spark_catalog.default.runs
SELECT * FROM default.runs
SELECT * FROM global_temp.runs
SELECT * FROM system.information_schema.tables
SELECT * FROM runs VERSION AS OF 0
SELECT * FROM runs TIMESTAMP AS OF '2026-01-01'
SELECT * FROM delta.`{h}@v0`
SELECT * FROM IDENTIFIER('text.`/etc/passwd`')
SELECT IDENTIFIER('reflect')('java.lang.Math', 'random')
SELECT * FROM range(10)
SELECT * FROM explode(array(1))
SELECT * FROM read_files('/etc')
SELECT * FROM sql_keywords()
SELECT * FROM table_changes('runs', 0)
SELECT * FROM python_worker_logs()
SELECT * FROM STREAM runs
SELECT * FROM STREAM text.`/etc`
SELECT * FROM RANGE(3) JOIN runs
SELECT input_file_name() FROM runs
SELECT current_user()
SELECT session_user(), current_database(), current_catalog()
SELECT version()
SELECT aes_decrypt(unhex('00'), 'k')
SELECT monotonically_increasing_id() FROM runs
SELECT raise_error('x')
SELECT xpath_string('<a/>', 'a')
SELECT from_avro(x'00', '{{}}')
SELECT schema_of_json('{{}}')
SELECT never_heard_of(1)
SET
SET spark.sql.ansi.enabled=false
SET -v
RESET
SET VAR x = 1
SET TIME ZONE 'UTC'
DECLARE VARIABLE x INT DEFAULT 1
ADD JAR '/nowhere.jar'
ADD FILE '/etc/passwd'
ADD ARCHIVE '/nowhere.zip'
LIST JARS
CACHE TABLE runs
CACHE LAZY TABLE kept AS SELECT * FROM runs
UNCACHE TABLE runs
CLEAR CACHE
REFRESH TABLE runs
REFRESH '/etc'
CREATE TABLE kept (n INT)
CREATE TABLE kept USING delta LOCATION '{h}/kept' AS SELECT * FROM runs
CREATE OR REPLACE TEMP VIEW runs AS SELECT 1
CREATE VIEW kept AS SELECT 1
CREATE TEMPORARY FUNCTION f AS 'java.lang.Math'
CREATE FUNCTION f() RETURNS INT RETURN 1
CREATE DATABASE kept LOCATION '{h}/kept'
DROP VIEW runs
DROP TABLE IF EXISTS kept
ALTER VIEW runs AS SELECT 1
ALTER TABLE delta.`{h}` SET TBLPROPERTIES ('a' = 'b')
INSERT INTO runs SELECT * FROM runs
INSERT OVERWRITE DIRECTORY '{h}/kept' USING csv SELECT 1
INSERT INTO delta.`{h}` SELECT * FROM delta.`{h}`
WITH some AS (SELECT 1) INSERT INTO runs SELECT * FROM some
FROM runs INSERT INTO runs SELECT * INSERT INTO results SELECT *
UPDATE delta.`{h}` SET seed = '1'
DELETE FROM delta.`{h}`
MERGE INTO delta.`{h}` t USING runs s ON false WHEN NOT MATCHED THEN INSERT *
TRUNCATE TABLE kept
LOAD DATA INPATH '/etc/passwd' INTO TABLE kept
OPTIMIZE delta.`{h}`
VACUUM delta.`{h}` RETAIN 0 HOURS
RESTORE TABLE delta.`{h}` TO VERSION AS OF 0
DESCRIBE HISTORY delta.`{h}`
DESCRIBE DETAIL delta.`{h}`
DESCRIBE runs
DESCRIBE QUERY SELECT 1
DESCRIBE FUNCTION reflect
CONVERT TO DELTA parquet.`{h}`
GENERATE symlink_format_manifest FOR TABLE delta.`{h}`
CREATE TABLE kept SHALLOW CLONE delta.`{h}`
ANALYZE TABLE runs COMPUTE STATISTICS
MSCK REPAIR TABLE kept
SHOW TABLES
SHOW FUNCTIONS
SHOW TBLPROPERTIES delta.`{h}`
USE default
COMMENT ON DATABASE default IS 'x'
CALL system.anything()
TABLE delta.`{h}`
FROM runs |> EXTEND reflect('java.lang.Math', 'random') AS n
FROM text.`/etc/passwd` |> SELECT value
SELECT * FROM runs TABLESAMPLE (10 PERCENT)
SELECT /*+ BROADCAST(runs) */ * FROM runs
SELECT :parameter
SELECT * FROM VALUES (1) AS t(n) LATERAL VIEW reflect('java.lang.Math', 'random') x AS y
"""

ANSWERED = """
SELECT 7
VALUES (7), (8)
-- a remark
WITH some AS (SELECT 7 AS n) SELECT n FROM some ORDER BY n
WITH a AS (SELECT 1 AS n), b AS (SELECT n + 1 AS n FROM a) SELECT a.n, b.n FROM a CROSS JOIN b
SELECT DISTINCT vendor FROM runs WHERE day BETWEEN '2026-01-01' AND current_date() LIMIT 5 OFFSET 1
SELECT r.vendor FROM results r JOIN runs u ON r.bundle = u.bundle LEFT JOIN findings USING (bundle)
SELECT vendor, count(*) FILTER (WHERE verdict = 'fail') AS n FROM results GROUP BY ALL HAVING n > 0
SELECT vendor, sum(runs) OVER (PARTITION BY vendor ORDER BY started ROWS UNBOUNDED PRECEDING) FROM results
SELECT lag(verdict) OVER w FROM results WINDOW w AS (PARTITION BY case ORDER BY started)
SELECT * FROM runs WHERE bundle IN (SELECT bundle FROM results) AND NOT EXISTS (SELECT 1 FROM findings)
SELECT (SELECT max(seed) FROM runs) AS most, CAST('7' AS INT), `group` FROM results
SELECT CASE vendor WHEN 'a' THEN 1 ELSE 2 END, vendor LIKE 'a%', vendor RLIKE 'a', -1, 7 DIV 2 FROM runs
SELECT each FROM runs LATERAL VIEW explode(claims) AS each
SELECT explode(claims), size(claims), claims[0], transform(claims, x -> upper(x)) FROM runs
SELECT vendor FROM runs UNION ALL SELECT vendor FROM results EXCEPT SELECT '' INTERSECT SELECT 'a'
SELECT vendor, version, count(*) FROM runs GROUP BY CUBE (vendor, version)
SELECT vendor, grouping(vendor) FROM runs GROUP BY GROUPING SETS ((vendor), ())
SELECT extract(year FROM day), day + INTERVAL 1 DAY, date '2026-01-01', trim(vendor) FROM runs
SELECT struct(vendor, version).vendor, named_struct('a', 1).a, array(1, 2)[0], map('a', 1)['a'] FROM runs
SELECT * FROM (SELECT vendor, verdict FROM results) PIVOT (count(*) FOR verdict IN ('pass', 'fail'))
SELECT max_by(bundle, struct(started, bundle)), every(cases > 0), any_value(vendor) FROM runs
SELECT * EXCEPT (record) FROM quarantine
SELECT t.* FROM runs t, LATERAL (SELECT count(*) AS n FROM results r WHERE r.bundle = t.bundle)
FROM runs |> WHERE cases > 0 |> SELECT vendor
SELECT vendor || '-' || version, vendor IS NOT NULL, vendor <=> 'a', substring(vendor, 1, 2) FROM runs
SELECT regexp_replace(substr(reason, if(line = 0, instr(reason, file), 1)), '[0-9]+', 'N') FROM quarantine
SELECT percentile(duration_us, 0.5), listagg(DISTINCT vendor, ',') WITHIN GROUP (ORDER BY vendor) FROM results
TABLE runs
"""


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def history(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "h"
    write_history(folder, {"runs": [{"bundle": "b", "seed": "7", "protocol": "nsq"}]})
    name_views(spark, str(folder), read_state(spark, str(folder)))
    return folder


def test_nothing_but_queries_over_the_views_is_answered(
    spark: SparkSession, history: Path
) -> None:
    before = tree(history)
    answered: list[str] = []
    for line in lines(REFUSED):
        try:
            ask_sql(spark, line.format(h=history), 1)
        except (NotAllowed, PySparkException):
            continue
        else:
            answered.append(line)

    assert answered == []
    assert len(lines(REFUSED)) > 120
    assert tree(history) == before
    assert ask_sql(spark, "select seed from runs", 1).rows == [["7"]]
    assert not spark.catalog.listTables("default")[6:]


def test_statements_are_refused_before_spark_resolves_them(
    spark: SparkSession, history: Path
) -> None:
    """Spark runs commands, and looks into files, while it resolves a statement."""
    unparsed: list[str] = []
    for line in lines(REFUSED):
        try:
            ask_sql(spark, line.format(h=history), 1)
        except NotAllowed:
            continue
        except PySparkException:
            unparsed.append(line)

    assert len(unparsed) < 15, unparsed


@pytest.mark.parametrize("sql", lines(ANSWERED))
def test_a_query_over_the_views_is_answered(spark: SparkSession, history: Path, sql: str) -> None:
    assert history.exists()
    ask_sql(spark, sql if not sql.startswith("--") else f"{sql}\nselect 7", 10)
