"""``wireproof completion``: the script by which a shell completes commands and options."""

import click
from click.shell_completion import get_completion_class

from wireproof.options.lazy_group import COMPLETION, Command
from wireproof.view.output import echo

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = (
    (
        'eval "$(wireproof completion bash)"',
        "complete in this shell; every one: in ~/.bashrc",
    ),
    ("wireproof completion zsh > ~/.zfunc/_wireproof", "for zsh, into a folder of its fpath"),
    (
        "wireproof completion fish > ~/.config/fish/completions/wireproof.fish",
        "for fish, in every shell",
    ),
)


@click.command("completion", cls=Command, examples=EXAMPLES)
@click.argument("shell", type=click.Choice(SHELLS), metavar="|".join(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Write the script that completes commands and options in a shell."""
    completion_class = get_completion_class(shell)
    assert completion_class is not None  # one of SHELLS
    script = completion_class(context.find_root().command, {}, "wireproof", COMPLETION)
    echo(script.source_template % script.source_vars())
