"""Files that are whole or not there: written beside their place, and moved there when all is on the disk."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new file beside `path` that takes its place, with its permissions, when all went well, and is gone when not.

    Where `path` is a link, the file that it leads to is replaced.
    """
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{secrets.token_hex(8)}.part")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        mode = stat.S_IMODE((path if path.exists() else temporary).stat().st_mode)
        yield temporary
        temporary.chmod(mode)  # whoever wrote may have put a file of its own in this one's place
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
