"""The table of commands: dotted names, imported when used, and a line for the listing each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A subcommand: the import path of its click command (``module:name``), and its summary."""

    command: str
    promise: str


COMMANDS = {
    "run": CommandEntry("wireproof.commands.run:run", "Judge a broker, clause by clause."),
    "client": CommandEntry(
        "wireproof.commands.client:client",
        "Judge a client by what it sends to servers that the kit plays.",
    ),
    "proxy": CommandEntry(
        "wireproof.commands.proxy:proxy", "Stand between clients and a broker, and judge both."
    ),
    "adapter": CommandEntry(
        "wireproof.commands.adapter:adapter",
        "Check the adapter of a system that has no wire protocol.",
    ),
    "judge": CommandEntry(
        "wireproof.commands.bundles.judge:judge", "Judge a bundle again, without a broker."
    ),
    "list": CommandEntry(
        "wireproof.commands.list_cases:list_cases", "List the cases with clause, level and needs."
    ),
    "explain": CommandEntry(
        "wireproof.commands.explain:explain", "Explain a case, a clause or a reading."
    ),
    "probe": CommandEntry(
        "wireproof.commands.probe:probe", "Show the capabilities and readings of a broker."
    ),
    "replay": CommandEntry(
        "wireproof.commands.replay:replay", "Send one recorded exchange again."
    ),
    "decode": CommandEntry(
        "wireproof.commands.decode:decode", "Decode frames and queue files, field by field."
    ),
    "fuzz": CommandEntry(
        "wireproof.commands.fuzz:fuzz", "Search for inputs that a broker handles wrongly."
    ),
    "serve": CommandEntry("wireproof.commands.serve:serve", "Run the reference broker."),
    "report": CommandEntry(
        "wireproof.commands.bundles.report:report",
        "Write reports of bundles: HTML, JUnit, Markdown, ...",
    ),
    "diff": CommandEntry(
        "wireproof.commands.bundles.diff:diff",
        "Compare two bundles: regressed, fixed, unstable, ...",
    ),
    "schema": CommandEntry(
        "wireproof.commands.bundles.schema:schema",
        "Print the JSON Schema of a bundle or of --json.",
    ),
    "selftest": CommandEntry(
        "wireproof.commands.selftest:selftest", "Test the suites on faulty and on legal brokers."
    ),
    "baseline": CommandEntry(
        "wireproof.commands.bundles.baseline:baseline", "Maintain the file of known deviations."
    ),
    "ingest": CommandEntry(
        "wireproof.commands.history.ingest:ingest", "Add bundles to a history of runs."
    ),
    "aggregate": CommandEntry(
        "wireproof.commands.history.aggregate:aggregate",
        "Analyse a history and write a static site.",
    ),
    "ask": CommandEntry("wireproof.commands.history.ask:ask", "Ask a history a question in SQL."),
    "vacuum": CommandEntry(
        "wireproof.commands.history.vacuum:vacuum",
        "Merge the files of a history, remove unused ones.",
    ),
    "migrate": CommandEntry(
        "wireproof.commands.history.migrate:migrate",
        "Turn a history of Parquet files into Delta tables.",
    ),
    "init": CommandEntry(
        "wireproof.commands.setup.init:init",
        "Write a configuration and a CI file into this folder.",
    ),
    "doctor": CommandEntry(
        "wireproof.commands.setup.doctor:doctor", "Check this machine and a target."
    ),
    "help": CommandEntry("wireproof.commands.setup.help:show_help", "Show the help of a command."),
    "completion": CommandEntry(
        "wireproof.commands.setup.completion:completion",
        "Write the script that completes in a shell.",
    ),
}
