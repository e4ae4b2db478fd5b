"""Files that are complete or not there: written beside their place, and moved there once they are on the disk."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a new file, which takes the place of `path` if all goes well and is deleted if not.

    The new file has the suffixes of `path`, and in the end its permissions. If `path` is a link, the file it leads to
    is replaced. A pipe or a device takes bytes but cannot be replaced, so its own path is given. For several files
    that should appear together, enter one of these per file in a `contextlib.ExitStack`. If the system refuses to write
    the new file, the OSError names `path`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, replacing(Path(folder) / "a.csv") as part:
    ...     size = part.write_text("x,y")
    """
    given, path = path, Path(os.path.realpath(path))
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    # Writers choose a format by the suffixes; the name stays far below the limit of file systems.
    temporary = path.with_name(f".{secrets.token_hex(8)}.part{''.join(path.suffixes[-2:])[-40:]}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        mode = stat.S_IMODE((path if path.exists() else temporary).stat().st_mode)
        yield temporary
        temporary.chmod(mode)  # a writer may have replaced the temporary file by one of its own
        to_disk(temporary)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):  # the folder may be gone
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(temporary)):
            reason = os.strerror(error.errno)  # not the words of an inner `replacing`, which has said so already
            raise OSError(error.errno, f"cannot be written: {reason}", os.fspath(given)) from error
        raise


def to_disk(path: Path) -> None:
    """Have the system put a file on the disk. Some disks say only now that they are full."""
    if path.is_file():  # not a pipe or a device
        with path.open("rb+") as file:
            os.fsync(file.fileno())
