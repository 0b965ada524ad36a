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
    "list": Entry("wireproof.commands.list_cases:listing", "List the cases."),
    "explain": Entry(
        "wireproof.commands.explain:explain", "Explain a case, a clause or a reading."
    ),
    "probe": Entry(
        "wireproof.commands.probe:probe", "Show what a broker offers, and its readings."
    ),
    "replay": Entry("wireproof.commands.replay:replay", "Repeat one recorded exchange."),
    "decode": Entry("wireproof.commands.decode:decode", "Show bytes with their meaning."),
    "fuzz": Entry("wireproof.commands.fuzz:fuzz", "Look for what a parser does not survive."),
    "serve": Entry("wireproof.commands.serve:serve", "Run the reference broker."),
    "report": Entry(
        "wireproof.commands.report:report", "Make reports of bundles: HTML, JUnit, Markdown."
    ),
    "diff": Entry(
        "wireproof.commands.diff:diff", "Compare two bundles: regressed, fixed, unstable, ..."
    ),
    "selftest": Entry(
        "wireproof.commands.selftest:selftest", "Prove the judge on faults and variants."
    ),
    "baseline": Entry(
        "wireproof.commands.baseline:baseline", "Keep the file of known deviations."
    ),
    "ingest": Entry("wireproof.commands.ingest:ingest", "Take bundles into a history."),
    "aggregate": Entry("wireproof.commands.aggregate:aggregate", "Ask a history all questions."),
    "doctor": Entry("wireproof.commands.doctor:doctor", "Check this machine and a target."),
}
