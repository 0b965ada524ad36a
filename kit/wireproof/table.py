"""The table of commands: dotted names, imported when used, and a line for the listing each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command lives (``module:name`` of a click command) and what it does."""

    command: str
    promise: str


COMMANDS = {
    "run": Entry("wireproof.run:run", "Judge a broker, clause by clause."),
    "judge": Entry("wireproof.judge:judge", "Judge a bundle again, without a broker."),
    "list": Entry("wireproof.listing:listing", "List the cases."),
    "explain": Entry("wireproof.explain:explain", "Explain a case, a clause or a reading."),
    "probe": Entry("wireproof.probe:probe", "Show what a broker offers, and its readings."),
    "replay": Entry("wireproof.replay:replay", "Repeat one recorded exchange."),
    "decode": Entry("wireproof.decode:decode", "Show bytes with their meaning."),
    "fuzz": Entry("wireproof.fuzz:fuzz", "Look for what a parser does not survive."),
    "serve": Entry("wireproof.serve:serve", "Run the reference broker."),
    "report": Entry("wireproof.report:report", "Make reports of bundles: HTML, JUnit, Markdown."),
    "diff": Entry("wireproof.diff:diff", "Compare two bundles: regressed, fixed, unstable, ..."),
    "selftest": Entry("wireproof.selftest:selftest", "Prove the judge on faults and variants."),
    "baseline": Entry("wireproof.baseline:baseline", "Keep the file of known deviations."),
    "ingest": Entry("wireproof.ingest:ingest", "Take bundles into a history."),
    "aggregate": Entry("wireproof.aggregate:aggregate", "Ask a history all questions."),
    "doctor": Entry("wireproof.doctor:doctor", "Check this machine and a target."),
}
