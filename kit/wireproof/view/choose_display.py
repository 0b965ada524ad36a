"""Chooses the display: for a terminal, a log, or a machine."""

import os
import sys
from pathlib import Path

from wireproof.options.global_options import OutputStyle
from wireproof.view.display import Display, EventDisplay, LineDisplay, LiveDisplay
from wireproof.view.style import Style
from wireproof.view.terminal import is_dumb


def choose_display(
    manner: OutputStyle,
    *,
    bundle: Path | None,
    recorded: bool = False,
    failures_only: bool = False,
) -> Display:
    """Return the display of a run that fits the kind of stdout and the user's options.

    Cases that are only read (`recorded`) come all at once: nothing is redrawn for them.
    """
    out = sys.stderr if manner.json else sys.stdout
    style = Style(manner.is_coloured(out))
    human: Display
    live = out.isatty() and not (recorded or failures_only or manner.quiet or manner.json)
    if live and not is_dumb():
        height = os.get_terminal_size(out.fileno()).lines or 24
        human = LiveDisplay(out, style, height, manner.verbose, bundle)
    else:
        progress = None if manner.quiet or manner.json else sys.stderr
        human = LineDisplay(
            out,
            progress,
            style,
            manner.verbose,
            manner.quiet,
            recorded=recorded,
            failures_only=failures_only,
            bundle=bundle,
        )
    return EventDisplay(sys.stdout, human, bundle) if manner.json else human
