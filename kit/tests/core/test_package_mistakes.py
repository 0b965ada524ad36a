"""A mistake in a package of another protocol is named by package and place, the cause first."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_process import Done
from note_package import ENTRIES, LAW, PACKAGE, SUITE, append, install, replace, start

pytestmark = pytest.mark.process
SESSION, KIT_PART = f"{PACKAGE}/session.py", f"{PACKAGE}/kit.py"
WORDS, SERVER = f"{PACKAGE}/observations.toml", f"{PACKAGE}/server.py"
REFERENCE = ("run", "--reference", "note")
LIST = ("list", "note")
Change = Callable[[Path], None]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder in which the example package is installed."""
    return install(tmp_path)


def without(name: str, first: str, last: str) -> Change:
    """Remove the text of a file from one line's beginning up to another's."""

    def change(site: Path) -> None:
        text = (site / name).read_text("utf-8")
        before, found, rest = text.partition(first)
        assert found, first
        _, found, after = rest.partition(last)
        assert found, last
        (site / name).write_text(before + last + after, "utf-8")

    return change


def both(*changes: Change) -> Change:
    def change(site: Path) -> None:
        for each in changes:
            each(site)

    return change


def flat(text: str) -> str:
    return " ".join(text.split())


NO_PATIENCE = both(
    replace(SESSION, "self.patience = options.patience or", "options.patience or"),
    replace(SESSION, "self.patience.answer", "2.0"),
    replace(SESSION, "control_round_trip(self._round_trip, self.patience)", "None"),
)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param(
            without(SESSION, "    def is_alive(", "    def _round_trip("),
            "class NoteSession of wireproof_note.session lacks is_alive(), which every session",
            id="is-alive",
        ),
        pytest.param(
            without(SESSION, "    def control(", "    def _round_trip("),
            "class NoteSession of wireproof_note.session lacks control() and is_alive(), which",
            id="control",
        ),
        pytest.param(
            NO_PATIENCE,
            "class NoteSession of wireproof_note.session lacks patience, which every session",
            id="patience",
        ),
        pytest.param(
            replace(SESSION, "class NoteSession(Session)", "class NoteSession"),
            "NoteSession of wireproof_note.session lacks begin(), bind(), close(), fingerprint(),",
            id="no-subclass",
        ),
        pytest.param(
            replace(SESSION, "return accepts(self.address)", "accepts(self.address)"),
            "NoteSession of wireproof_note.session returns None from is_alive(), which is no bool",
            id="life-without-return",
        ),
        pytest.param(
            replace(SESSION, "return control_round_trip(", "control_round_trip("),
            "NoteSession of wireproof_note.session returns None from control(), which is no Cont",
            id="control-without-return",
        ),
        pytest.param(
            replace(SESSION, "return accepts(self.address)", "return not accepts(self.address)"),
            "returns False from is_alive() of a target that has just answered control()",
            id="denied-life",
        ),
    ],
)
def test_a_session_without_what_a_run_needs_is_refused(
    change: Change, named: str, site: Path
) -> None:
    change(site)

    told = start(site, *REFERENCE).refused()

    assert told.startswith("protocol 'note' is left out: its package wireproof-note is broken: ")
    assert named in told


def test_the_fuzzer_refuses_a_session_without_time_limits(site: Path) -> None:
    NO_PATIENCE(site)

    done = start(site, "fuzz", "--reference", "note", "--cases", "1", "--drawn")

    assert done.code == 2
    assert "lacks patience, which every session needs" in flat(done.err)
    assert "please report" not in done.err


@pytest.mark.parametrize(
    ("change", "arguments", "lines"),
    [
        pytest.param(
            replace(ENTRIES, "decode:decoder", "decode:decoderr"),
            ("decode", "--protocol", "note", "0003016869"),
            ["the package wireproof-note is broken: wireproof_note.decode:decoderr, the entry"],
            id="decoder",
        ),
        pytest.param(
            replace(ENTRIES, "decode:decoder", "decode:Note"),
            ("decode", "--protocol", "note", "0003016869"),
            ["the package wireproof-note is broken: wireproof_note.decode:Note, the entry point"],
            id="attribute-of-a-decoder",
        ),
        pytest.param(
            append(WORDS, "pong = 1"),
            LIST,
            [
                f"{WORDS}, line 5: Expected `str`, got `int` - at `$.words[...]`",
                "'note' selects no case",
            ],
            id="sentence",
        ),
        pytest.param(
            replace(WORDS, "[words]", "[word]"),
            LIST,
            [
                f"{WORDS}, line 1: Object contains unknown field `word`; expected words or in",
                "'note' selects no case",
            ],
            id="table-of-words",
        ),
        pytest.param(
            replace(LAW, '["stored"]', '["sotred"]'),
            LIST,
            [
                f"{LAW}, line 22: case note/store/text accepts 'sotred', which observations.toml "
                "does not list; did you mean 'stored'?",
                "'note' selects no case",
            ],
            id="word-of-a-law",
        ),
        pytest.param(
            replace(SUITE, '@case("note/store/kind"', '@case("note/store/empty"'),
            LIST,
            [
                "two cases have the id note/store/empty: wireproof_note/suite/test_store.py, line "
                "18 and wireproof_note/suite/test_store.py, line 24; rename one of them",
                "'note' selects no case",
            ],
            id="twins",
        ),
        pytest.param(
            replace(SUITE, '@case("note/store/kind"', '@case("note/store/empty"'),
            REFERENCE,
            ["two cases have the id note/store/empty: wireproof_note/suite/test_store.py, line"],
            id="twins-of-a-run",
        ),
        pytest.param(
            replace(KIT_PART, '("notebook",)', '("notebok",)'),
            LIST,
            [
                "takes 'notebook', which is no argument of its protocol's KitPart; it has notebok",
                "'note' selects no case",
            ],
            id="argument",
        ),
        pytest.param(
            replace(KIT_PART, '("notebook",)', '("notebook")'),
            LIST,
            [
                "KitPart.arguments is the text 'notebook'; write ('notebook',)",
                "'note' selects no case",
            ],
            id="text-for-a-tuple",
        ),
        pytest.param(
            replace(ENTRIES, "note.server:main", "note.server:mian"),
            ("serve", "note"),
            ["the package wireproof-note is broken: wireproof_note.server:mian, the entry point"],
            id="server",
        ),
        pytest.param(
            replace(
                SESSION, "        self._round_trip(seconds)  #", "        open('/no/file')  #"
            ),
            REFERENCE,
            [
                f"error in the package wireproof-note, not in wireproof: SITE/{SESSION}, line 82: "
                "FileNotFoundError: [Errno 2] No such file or directory: '/no/file'; details in"
            ],
            id="error-of-a-session",
        ),
        pytest.param(
            replace(SESSION, 'connect_socket(address, "note")', 'connect_socket(7, "note")'),
            REFERENCE,
            [f"called by the package wireproof-note (SITE/{SESSION}, line"],
            id="wrong-call",
        ),
        pytest.param(
            replace(ENTRIES, "[wireproof.protocols]", "[wireproof.protocol]"),
            LIST,
            [
                "the package wireproof-note registers 'note' in the group wireproof.protocol, "
                "which is unknown; did you mean wireproof.protocols?",
                "'note' selects no case",
            ],
            id="group",
        ),
        pytest.param(
            replace(ENTRIES, "[wireproof.kit]\nnote =", "[wireproof.kit]\nnotes ="),
            LIST,
            [
                "the package wireproof-note registers 'notes' in wireproof.kit, but no protocol "
                "of that name in wireproof.protocols; did you mean 'note'?",
                "'note' selects no case",
            ],
            id="name",
        ),
        pytest.param(
            replace(f"{PACKAGE}/__init__.py", 'Protocol("note"', 'Protocol("notes"'),
            LIST,
            [
                "the entry point note of wireproof.protocols is a Protocol with the name 'notes'; "
                "both must be the same",
                "'note' selects no case",
            ],
            id="name-of-the-protocol",
        ),
    ],
)
def test_the_cause_is_told_first_and_names_the_package(
    change: Change, arguments: tuple[str, ...], lines: list[str], site: Path
) -> None:
    change(site)

    done = start(site, *arguments)

    told = [line for line in done.err.splitlines() if not line.startswith("waiting ")]
    assert done.code == 2, done
    assert len(told) == len(lines), done.err
    for line, due in zip(told, lines, strict=True):
        assert due.replace("SITE", str(site)) in line
    assert "please report" not in done.err.replace("if the call is right, please report", "")


@pytest.mark.parametrize(
    "arguments",
    [REFERENCE, ("run", "--reference", "note.store"), ("serve", "note")],
    ids=" ".join,
)
def test_a_protocol_without_an_example_server_is_refused(
    arguments: tuple[str, ...], site: Path
) -> None:
    replace(ENTRIES, "[wireproof.servers]\nnote = wireproof_note.server:main\n", "")(site)

    assert start(site, *arguments).refused() == (
        "protocol note has no example server (entry point group wireproof.servers)"
    )


def test_a_connection_that_a_session_makes_by_itself_is_refused(site: Path) -> None:
    connect = "__import__('socket').create_connection(self.address)"
    replace(SESSION, "self._round_trip(seconds)  #", f"{connect}  #")(site)

    told = start(site, "run", "note://127.0.0.1:1").refused()

    assert told.startswith("cannot reach note://127.0.0.1:1 (connection refused). Is the broker")


def test_without_names_for_bytes_a_failure_is_reported(site: Path) -> None:
    replace(ENTRIES, "report:REPORTS", "report:REPORT")(site)
    replace(LAW, 'accept = ["stored"]', 'accept = ["refused"]')(site)

    done = start(site, *REFERENCE)

    assert (done.code, "NOT CONFORMANT" in done.out) == (1, True)
    assert "the package wireproof-note is broken: wireproof_note.report:REPORT, the en" in done.err
    assert "the parts of its frames have no names" in done.err


def test_a_key_of_a_protocol_that_has_none_is_refused(site: Path) -> None:
    told = start(site, "run", "note://127.0.0.1:1?http=127.0.0.1:2").refused()

    assert told == "target key 'http' is unknown to note; it has no target keys"


def test_the_same_error_of_several_cases_is_told_once(site: Path) -> None:
    replace(SESSION, "{name: self.notebook(transcript) for", "{name: nothing for")(site)

    done = start(site, *REFERENCE)

    assert done.code == 2
    told = flat(done.out).partition("kit error")[2].partition("clauses")[0]
    assert told.count("NameError: name 'nothing' is not defined") == 1
    assert told.startswith(" 5 package wireproof-note: wireproof_note/session.py, line ")


def test_a_case_that_hangs_is_named_with_its_line(site: Path) -> None:
    wait = "__import__('threading').Event().wait()"
    replace(SUITE, 'notebook.store(b"t" * size)', f"notebook.store(b't') if {wait} else 0")(site)

    done = start(site, *REFERENCE, "note/store/text/1", "--case-timeout", "1")

    assert done.code == 2
    told = flat(done.out)
    assert (
        "did not end within 1 s; it waits at wireproof_note/suite/test_store.py, line 15" in told
    )
    assert "this is an error in the package wireproof-note; the reason has the line" in told


def test_bytes_that_are_cut_off_are_shown_from_where_they_begin(site: Path) -> None:
    done: Done = start(site, "decode", "--protocol", "note", "00030168")

    assert done.code == 2
    assert done.out.split()[:2] == ["0", "00"]
    assert "text at byte 3" in done.err
