"""`mercer --install-completion`: the shell completes verbs and options after the Tab key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from mercer.cli.errors import USAGE, Failure

# Shell → where it looks for scripts of a user, below the home folder.
PLACES = {
    "bash": ".local/share/bash-completion/completions/mercer",
    "zsh": ".zfunc/_mercer",
    "fish": ".config/fish/completions/mercer.fish",
}
_HINTS = {
    "bash": "Open a new shell; bash-completion finds it.",
    "zsh": "Put `fpath+=~/.zfunc; autoload -Uz compinit; compinit` into ~/.zshrc, and open a new shell.",
    "fish": "Open a new shell.",
}


def install_completion(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Write the script of the shell that $SHELL names, and say where it is."""
    if not wanted or context.resilient_parsing:
        return
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in PLACES:
        known = ", ".join(PLACES)
        raise Failure(
            f"--install-completion supports {known}, but SHELL is {shell or 'not set'}. Set it: SHELL=bash mercer …",
            USAGE,
        )
    target = Path.home() / PLACES[shell]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(script(context.command, shell), encoding="utf-8")
    click.echo(f"Wrote {target}. {_HINTS[shell]}")
    context.exit()


def script(command: Any, shell: str) -> str:
    """The script that makes a shell ask the command how a word goes on."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    return kind.source_template % kind(command, {}, "mercer", "_MERCER_COMPLETE").source_vars()
