"""How the command fails: one line on stderr, and an exit status that names the kind of failure."""

from __future__ import annotations

import errno

import click

from mercer.cli.wording import in_options

EXIT_CODES = """\b
Exit status:
  0    success
  1    failed while computing or writing
  2    wrong usage: an option, a value or a name
  3    the input cannot be read, or does not suit the method
  4    not enough memory; nothing was allocated
  5    a model file is damaged, or the disk is full
  130  stopped by Ctrl-C; SNE and t-SNE keep the map so far
"""
FAILED, USAGE, INPUT, MEMORY, MODEL, STOPPED = 1, 2, 3, 4, 5, 130
DISK = MODEL  # a damaged file and a file that cannot be completed share one status
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# Classes by name, so that looking one up imports nothing.
_STATUS = {
    "ModelFileError": MODEL,
    "TableError": INPUT,
    "InvalidParameterError": USAGE,
    "LinAlgError": FAILED,
    "ValueError": INPUT,
    "TypeError": INPUT,  # such as a kernel of strings, and a table of numbers
    "MemoryError": MEMORY,
    "KeyboardInterrupt": STOPPED,
    "Abort": STOPPED,
}
# Exceptions that carry a message for the user. Any other exception is a defect of the command.
_EXPECTED = (ValueError, TypeError, OSError, MemoryError, RuntimeError, ArithmeticError)


class Failure(click.ClickException):
    """A failure and its exit status."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]


def unsuitable(message: str) -> Failure:
    """The failure of an input that cannot be used as the user asked."""
    return Failure(message, INPUT)


def unwritable(what: str, error: OSError) -> Failure:
    """The failure of a file or folder that the system refuses to write."""
    return Failure(f"{what}: {error.strerror}", DISK if error.errno in _FULL else FAILED)


def explain(error: BaseException) -> Failure:
    """Turn any exception into a failure with a message and an exit status."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, click.ClickException):
        return Failure(_usage_message(error), error.exit_code)
    if isinstance(error, BrokenPipeError):
        return Failure("", 0)  # a closed pipe is not a failure: no one is left to read a message
    names = [kind.__name__ for kind in type(error).__mro__]
    status = next((_STATUS[name] for name in names if name in _STATUS), FAILED)
    if isinstance(error, OSError) and error.errno in _FULL:
        status = DISK
    if status == STOPPED:
        return Failure("stopped", status)
    message = _os_message(error) if isinstance(error, OSError) else in_options(str(error))
    if status == MEMORY and not message:
        message = "Out of memory. Try --dtype float32 or fewer rows; --dry-run tells how much is needed."
    if isinstance(error, _EXPECTED):
        return Failure(message or type(error).__name__, status)
    return Failure(f"{type(error).__name__}: {message} (--debug shows where; please report it)", status)


def _usage_message(error: click.ClickException) -> str:
    """Click's message, and the command that lists the options, unless the message already ends with a question."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if not isinstance(error, click.UsageError) or context is None or "--help" in message or message.endswith("?"):
        return message
    method = context.meta.get("mercer.method", "auto")  # whose options --help lists
    named = "" if method == "auto" else f" --method {method}"
    return f"{message.rstrip('.')}. See {context.command_path}{named} --help."


def _os_message(error: OSError) -> str:
    if error.strerror is None:
        return str(error)
    name = "stdout" if error.filename is None and error.errno in _FULL else error.filename
    return error.strerror if name is None else f"{name}: {error.strerror}"
