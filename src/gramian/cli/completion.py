"""gramian completion: what a shell needs to complete sub-commands, options and file names."""

from __future__ import annotations

import json

import click

from gramian.cli._options import Grouped, common_options

SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Grouped, short_help="Completion for bash, zsh or fish.")
@click.argument("shell", type=click.Choice(SHELLS))
@common_options
@click.pass_context
def completion(context: click.Context, shell: str, as_json: bool, quiet: bool) -> None:
    """Write the lines that make a shell complete sub-commands, options, kinds of models and file names.

    \b
    gramian completion bash >> ~/.bashrc
    gramian completion zsh >> ~/.zshrc
    gramian completion fish > ~/.config/fish/completions/gramian.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    root = context.find_root().command
    script = made(root, {}, "gramian", "_GRAMIAN_COMPLETE").source()
    click.echo(json.dumps({"shell": shell, "script": script}) if as_json else script)
