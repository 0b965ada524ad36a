"""The commands of each generation."""

from collections.abc import Mapping
from typing import NamedTuple

from wireproof_reference_impl.iggy.core.commands import published, tagged
from wireproof_reference_impl.iggy.core.session import Handler
from wireproof_reference_impl.iggy.options import PUBLISHED, TAGGED


class CommandTable(NamedTuple):
    """The handlers of commands by code, and the codes of commands that need no login."""

    handlers: Mapping[int, Handler]
    without_login: frozenset[int]


COMMAND_TABLES: Mapping[str, CommandTable] = {
    PUBLISHED: CommandTable(published.COMMANDS, frozenset(published.COMMANDS)),
    TAGGED: CommandTable(tagged.COMMANDS, tagged.WITHOUT_LOGIN),
}
