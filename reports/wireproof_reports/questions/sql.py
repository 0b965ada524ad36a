"""Answers the user's own question: SQL over the views of a history at the versions of one state.

SELECT is answered, with functions that only compute. Spark's parser makes a plan of the text,
without resolving or running anything. Every part of that plan must be in a list of this module:
kinds of plans and expressions, functions, and relations. What is in no list is refused, so that a
part of a later Spark is not taken for harmless.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from pyspark.sql import SparkSession

from wireproof_reports.pipeline.session import run_sql
from wireproof_reports.pipeline.table import State, read_table, view_of
from wireproof_spec.history import VIEWS


class NotAllowed(Exception):
    """Raised for SQL that is not answered; ``str()`` is a sentence for the user."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLANS = _names(
    """
    Aggregate Deduplicate Distinct Except Filter Generate GlobalLimit Intersect Join LocalLimit
    LocalRelation Offset OneRowRelation PipeOperator Project ResolvedInlineTable Sort
    SubqueryAlias Tail Union UnresolvedHaving UnresolvedInlineTable UnresolvedRelation
    UnresolvedSubqueryColumnAliases UnresolvedWith WithWindowDefinition LateralJoin
    UnresolvedPivot Pivot UnresolvedUnpivot Unpivot
    """
)
"""Plans of Spark that only read: no command, no table function, no script, no other version."""

EXPRESSIONS = _names(
    """
    Add AggregateExpression Alias And AnyValue AttributeReference BaseGroupingSets Between
    BinaryComparison BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Concat Cube
    CurrentDate CurrentRow$ CurrentTimestamp DescribeRelation Divide EqualNullSafe EqualTo
    Exists Extract GreaterThan GreaterThanOrEqual GroupingSets If In InSubquery IntegralDivide
    IsFalse IsNotNull IsNull IsNotUnknown IsTrue IsUnknown LambdaFunction LateralSubquery
    LessThan LessThanOrEqual Like LikeAll LikeAny ListQuery Literal Multiply MultiAlias
    NotLikeAll NotLikeAny Not NamedExpression Or RLike Remainder Rollup ScalarSubquery
    SortOrder SpecifiedWindowFrame Subtract TemporaryAlias TimestampAdd TimestampDiff
    UnaryMinus UnaryPositive UnboundedFollowing$ UnboundedPreceding$ UnresolvedAlias
    UnresolvedAttribute UnresolvedExtractValue UnresolvedFunction UnresolvedGenerator
    UnresolvedNamedLambdaVariable UnresolvedOrdinal UnresolvedRegex UnresolvedStar
    UnresolvedStarExceptOrReplace UnresolvedSubqueryColumnAliases UnresolvedWindowExpression
    UnspecifiedFrame$ WindowExpression WindowSpecDefinition CreateNamedStruct CreateStruct
    TypeOf Substring StringTrim Overlay
    """
)

FUNCTIONS = _names(
    """
    abs acos acosh add_months aggregate any any_value approx_count_distinct approx_percentile
    array array_agg array_append array_compact array_contains array_distinct array_except
    array_insert array_intersect array_join array_max array_min array_position array_prepend
    array_remove array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii
    asin asinh atan atan2 atanh avg base64 between bigint bin binary bit_and bit_count
    bit_length bit_or bit_xor bool_and bool_or boolean bround btrim cardinality cast cbrt ceil
    ceiling char char_length character_length chr coalesce collect_list collect_set concat
    concat_ws contains conv corr cos cosh cot count count_if count_min_sketch covar_pop
    covar_samp crc32 csc cume_dist curdate current_date current_timestamp current_timezone date
    date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc dateadd
    datediff datepart day dayname dayofmonth dayofweek dayofyear decimal decode degrees
    dense_rank double e element_at elt encode endswith equal_null every exists exp explode
    explode_outer expm1 extract factorial filter find_in_set first first_value flatten float
    floor forall format_number format_string from_json from_unixtime from_utc_timestamp get
    get_json_object getbit greatest grouping grouping_id hash hex histogram_numeric hour hypot
    if ifnull ilike in initcap inline inline_outer instr int isnan isnotnull isnull
    json_array_length json_object_keys kurtosis lag last last_day last_value lcase lead least
    left len length levenshtein like listagg ln locate log log10 log1p log2 lower lpad ltrim
    luhn_check make_date make_dt_interval make_interval make_timestamp make_ym_interval map
    map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries
    map_keys map_values map_zip_with mask max max_by md5 mean median min min_by minute mod mode
    month monthname months_between named_struct nanvl negative next_day not now nth_value ntile
    nullif nullifzero nvl nvl2 octet_length or overlay percent_rank percentile
    percentile_approx percentile_cont percentile_disc pi pmod posexplode posexplode_outer
    position positive pow power printf quarter radians rand randn rank reduce regexp
    regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace
    regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy repeat replace reverse right rint rlike round row_number rpad rtrim sec
    second sequence sha sha1 sha2 shiftleft shiftright shuffle sign signum sin sinh size
    skewness slice smallint some sort_array soundex space split split_part sqrt stack
    startswith std stddev stddev_pop stddev_samp str_to_map string string_agg struct substr
    substring substring_index sum tan tanh timestamp timestamp_micros timestamp_millis
    timestamp_seconds tinyint to_base64 to_binary to_char to_date to_json to_number
    to_timestamp to_unix_timestamp to_utc_timestamp to_varchar transform transform_keys
    transform_values translate trim trunc try_add try_avg try_cast try_divide try_element_at
    try_multiply try_subtract try_sum try_to_binary try_to_date try_to_number try_to_timestamp
    typeof ucase unbase64 unhex unix_date unix_micros unix_millis unix_seconds unix_timestamp
    upper url_decode url_encode var_pop var_samp variance weekday weekofyear width_bucket
    xxhash64 year zeroifnull zip_with
    """
)
"""Functions that compute from their arguments: none reads a file, calls Java, or waits."""

_NODE = "org.apache.spark.sql.catalyst.trees.TreeNode"
_INERT = (
    "java.lang.",
    "java.math.",
    "java.time.",
    "java.util.UUID",
    "org.apache.spark.sql.types.",
    "org.apache.spark.sql.catalyst.AliasIdentifier",
    "org.apache.spark.sql.catalyst.FunctionIdentifier",
    "org.apache.spark.sql.catalyst.expressions.Ascending$",
    "org.apache.spark.sql.catalyst.expressions.Descending$",
    "org.apache.spark.sql.catalyst.expressions.ExprId",
    "org.apache.spark.sql.catalyst.expressions.GenericInternalRow",
    "org.apache.spark.sql.catalyst.expressions.Nulls",
    "org.apache.spark.sql.catalyst.expressions.NumericEvalContext",
    "org.apache.spark.sql.catalyst.expressions.RangeFrame$",
    "org.apache.spark.sql.catalyst.expressions.RowFrame$",
    "org.apache.spark.sql.catalyst.expressions.WindowSpecReference",
    "org.apache.spark.sql.catalyst.expressions.aggregate.Complete$",
    "org.apache.spark.sql.catalyst.plans.",
    "org.apache.spark.sql.catalyst.trees.Origin",
    "org.apache.spark.sql.catalyst.util.",
    "org.apache.spark.sql.util.CaseInsensitiveStringMap",
    "org.apache.spark.unsafe.types.",
    "scala.Enumeration$Val",
    "scala.math.",
    "scala.runtime.Boxed",
)
"""Classes of values in a plan that do nothing: types, names, directions, kinds of joins."""


@dataclass(frozen=True, slots=True)
class Found:
    """The first rows of a SQL statement's result; ``is_cut`` if there are more."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    is_cut: bool


def name_views(spark: SparkSession, history: str, state: State) -> None:
    """Make the views of a state available to SQL, as temporary views of the session."""
    table = read_table(spark, history, state)
    for view in VIEWS:
        view_of(table, view).createOrReplaceTempView(view)


def ask_sql(spark: SparkSession, sql: str, most: int) -> Found:
    """Return at most `most` rows of the answer to a query over the views.

    Raises:
        NotAllowed: the text is no query, or reads anything but the views.
    """
    statement = sql.strip().rstrip(";")
    check(spark, statement, VIEWS)
    answer = run_sql(spark, statement)
    rows = answer.limit(most + 1).collect()
    shown = [[_plain(value) for value in cast(Sequence[object], row)] for row in rows[:most]]
    return Found(answer.columns, shown, len(rows) > most)


def check(spark: SparkSession, sql: str, views: Collection[str]) -> None:
    """Check that a text is one query over these views with the listed functions.

    Raises:
        NotAllowed: it is something else, or has something else in it.
        PySparkException: it is no SQL.
    """
    session: Any = spark._jsparkSession  # pyright: ignore  # pyspark has no public parser
    jvm: Any = spark.sparkContext._jvm  # pyright: ignore
    plan = session.sessionState().sqlParser().parsePlan(sql)
    _Walk(jvm, {view.lower() for view in views}).check(plan)


class _Walk:
    """A walk through all that a plan is made of."""

    def __init__(self, jvm: Any, relations: set[str]) -> None:
        self._relations = relations
        self._is_node = jvm.java.lang.Class.forName(_NODE).isInstance
        self._is_product = jvm.java.lang.Class.forName("scala.Product").isInstance
        self._is_many = jvm.java.lang.Class.forName("scala.collection.Iterable").isInstance
        self._is_plan = jvm.java.lang.Class.forName(
            "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
        ).isInstance

    def check(self, value: Any) -> None:
        """Check a value of a plan, and all in it.

        Raises:
            NotAllowed: it is in no list.
        """
        if value is None or isinstance(value, str | int | float | bytes):
            return
        java = value
        if self._is_node(java):
            self._check_node(java)
        elif self._is_many(java):
            for part in _parts(java.iterator()):
                self.check(part)
        else:
            self._check_other(java, java.getClass().getName())

    def _check_other(self, java: Any, name: str) -> None:
        if name.startswith("[") or name.startswith(_INERT):
            return
        if self._is_product(java) and name.startswith(("scala.Some", "scala.None", "scala.Tuple")):
            for part in _parts(java.productIterator()):
                self.check(part)
            return
        raise NotAllowed(f"--sql: {name.rpartition('.')[2]} is not answered")

    def _check_node(self, node: Any) -> None:
        name = node.getClass().getSimpleName()
        if name not in (PLANS if self._is_plan(node) else EXPRESSIONS):
            raise NotAllowed(
                f"--sql answers SELECT over {', '.join(sorted(self._relations))} only; "
                f"this statement has {_words(name)}, which is not answered"
            )
        if name == "UnresolvedWith":
            # The relations that a query names itself stand for nothing outside of it.
            for named in _parts(node.cteRelations().iterator()):
                self._relations = self._relations | {str(named._1()).lower()}
        elif name == "UnresolvedRelation":
            parts = _parts(node.multipartIdentifier().iterator())
            self._check_relation([str(part) for part in parts])
        elif name in ("UnresolvedFunction", "UnresolvedGenerator"):
            parts = node.nameParts() if name == "UnresolvedFunction" else node.name()
            self._check_function(name, parts)
        for part in _parts(node.productIterator()):
            self.check(part)

    def _check_relation(self, parts: list[str]) -> None:
        if len(parts) != 1 or parts[0].lower() not in self._relations:
            raise NotAllowed(
                f"--sql: there is no view {'.'.join(parts)}; "
                f"expected {', '.join(sorted(self._relations))}"
            )

    def _check_function(self, name: str, parts: Any) -> None:
        if name == "UnresolvedGenerator":
            words = [parts.funcName()]
            words += [each for each in (_value(parts.database()), _value(parts.catalog())) if each]
        else:
            words = [str(part) for part in _parts(parts.iterator())]
        if len(words) != 1 or str(words[0]).lower() not in FUNCTIONS:
            raise NotAllowed(
                f"--sql: the function {'.'.join(map(str, words))} is not answered; "
                "functions that only compute from their arguments are"
            )


def _value(option: Any) -> Any:
    return option.get() if option.isDefined() else None


def _parts(iterator: Any) -> Iterator[Any]:
    while iterator.hasNext():
        yield iterator.next()


def _words(name: str) -> str:
    """Return the name of a class of Spark in words."""
    return "".join(f" {sign.lower()}" if sign.isupper() else sign for sign in name).strip()


def _plain(value: object) -> object:
    """Return a value for JSON: times in UTC, bytes as hexadecimal digits."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast(Sequence[object], value)]
    return str(value)
