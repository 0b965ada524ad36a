"""The table of commands: dotted names, imported when used, and a line for the listing each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command lives (``module:name`` of a click command) and what it does."""

    command: str
    promise: str


COMMANDS = {
    "run": Entry("wireproof.commands.run:run", "Judge a broker, clause by clause."),
    "judge": Entry("wireproof.commands.judge:judge", "Judge a bundle again, without a broker."),
    "list": Entry(
        "wireproof.commands.list_cases:listing", "List the cases with clause, level and needs."
    ),
    "explain": Entry(
        "wireproof.commands.explain:explain", "Explain a case, a clause or a reading."
    ),
    "probe": Entry(
        "wireproof.commands.probe:probe", "Show the capabilities and readings of a broker."
    ),
    "replay": Entry("wireproof.commands.replay:replay", "Send one recorded exchange again."),
    "decode": Entry(
        "wireproof.commands.decode:decode", "Decode frames and queue files, field by field."
    ),
    "fuzz": Entry(
        "wireproof.commands.fuzz:fuzz", "Search for inputs that a broker handles wrongly."
    ),
    "serve": Entry("wireproof.commands.serve:serve", "Run the reference broker."),
    "report": Entry(
        "wireproof.commands.report:report", "Write reports of bundles: HTML, JUnit, Markdown, ..."
    ),
    "diff": Entry(
        "wireproof.commands.diff:diff", "Compare two bundles: regressed, fixed, unstable, ..."
    ),
    "selftest": Entry(
        "wireproof.commands.selftest:selftest", "Test the suites on faulty and on legal brokers."
    ),
    "baseline": Entry(
        "wireproof.commands.baseline:baseline", "Maintain the file of known deviations."
    ),
    "ingest": Entry("wireproof.commands.ingest:ingest", "Add bundles to a history of runs."),
    "aggregate": Entry(
        "wireproof.commands.aggregate:aggregate", "Analyse a history and write a static site."
    ),
    "ask": Entry("wireproof.commands.ask:ask", "Ask a history a question in SQL."),
    "vacuum": Entry(
        "wireproof.commands.vacuum:vacuum", "Merge the files of a history, remove unused ones."
    ),
    "migrate": Entry(
        "wireproof.commands.migrate:migrate", "Turn a history of Parquet files into Delta tables."
    ),
    "doctor": Entry("wireproof.commands.doctor:doctor", "Check this machine and a target."),
}
