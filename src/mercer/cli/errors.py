"""How the command fails: one line, and an exit status that says what kind of failure it was."""

from __future__ import annotations

import click

EXIT_CODES = """\b
Exit status:
  0    done
  1    failed while computing or writing
  2    wrong usage: an option, a value, a name
  3    the input cannot be read, or does not suit the method
  4    not enough memory; nothing was allocated
  5    a model file is broken
  130  stopped by Ctrl-C; of SNE and t-SNE the map so far was kept
"""
FAILED, USAGE, INPUT, MEMORY, MODEL, STOPPED = 1, 2, 3, 4, 5, 130

# By name, so that asking costs no import.
_STATUS = {
    "ModelFileError": MODEL,
    "TableError": INPUT,
    "InvalidParameterError": USAGE,
    "LinAlgError": FAILED,
    "ValueError": INPUT,
    "MemoryError": MEMORY,
    "KeyboardInterrupt": STOPPED,
    "Abort": STOPPED,
}
_OURS = (ValueError, TypeError, OSError, MemoryError, RuntimeError, ArithmeticError)


class Failure(click.ClickException):
    """A failure with its exit status. That nobody reads on is none: there is nobody to be told."""

    def __init__(self, message: str, exit_code: int = FAILED, *, reader_left: bool = False) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]
        self.reader_left = reader_left


def unsuitable(message: str) -> Failure:
    """The input does not suit what is asked of it."""
    return Failure(message, INPUT)


def explain(error: BaseException) -> Failure:
    """The failure that an exception is."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, click.ClickException):
        return Failure(_usage(error), error.exit_code)
    names = [kind.__name__ for kind in type(error).__mro__]
    status = next((_STATUS[name] for name in names if name in _STATUS), FAILED)
    if isinstance(error, BrokenPipeError):
        return Failure("", 0, reader_left=True)
    if status == STOPPED:
        return Failure("stopped", status)
    message = _os_message(error) if isinstance(error, OSError) else str(error)
    if status == MEMORY and not message:
        message = "out of memory; try --dtype float32, fewer rows, or --dry-run to see what is needed"
    if isinstance(error, _OURS):
        return Failure(message or type(error).__name__, status)
    return Failure(f"{type(error).__name__}: {message} (--debug shows where; please report it)", status)


def _usage(error: click.ClickException) -> str:
    """click's own message, and where the options are listed."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if (
        isinstance(error, click.UsageError)
        and context is not None
        and "--help" not in message
        and not message.endswith("?")
    ):
        message = f"{message.rstrip('.')}; see {context.command_path} --help"
    return message


def _os_message(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return error.strerror or str(error)
    return f"{error.filename}: {error.strerror}"
