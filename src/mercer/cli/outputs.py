"""Writing files: checked before any work, all together or not at all, and never over an input."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.cli.errors import USAGE, Failure, unwritable

if TYPE_CHECKING:
    import numpy as np

STDOUT = "-"
_TABLES = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npy", ".npz")


def refuse_bad_outputs(outputs: list[str], inputs: list[str]) -> None:
    """Failure if a file cannot be written, or would overwrite an input or another output. Stdout is always fine."""
    seen: set[Path] = set()
    for name in outputs:
        if name == STDOUT:
            continue
        path = Path(name)
        for given in inputs:
            if given != STDOUT and path.exists() and Path(given).exists() and path.samefile(given):
                raise Failure(f"{name} is an input. Write to another file.", USAGE)
        if path.resolve() in seen:
            raise Failure(f"{name} would be written twice.", USAGE)
        seen.add(path.resolve())
        _refuse_unwritable(path)


def _refuse_unwritable(path: Path) -> None:
    if path.is_dir():
        raise Failure(f"Cannot write {path}: it is a folder.")
    if not path.parent.is_dir():
        raise Failure(f"Cannot write {path}: there is no folder {path.parent}. Make it first.")
    try:
        _try_writing(path.parent)
    except OSError as error:
        raise unwritable(f"Cannot write {path}: {path.parent}", error) from error


def _try_writing(folder: Path) -> None:
    from tempfile import TemporaryFile

    TemporaryFile(dir=folder).close()


def refuse_unwritable_table(name: str, columns: dict[str, np.ndarray] | None = None) -> None:
    """Failure if no table, or none with such columns, can have this suffix. One row is written to find out."""
    if name == STDOUT:
        return
    from tempfile import TemporaryDirectory

    import numpy as np

    from mercer.tables.table import TableError, write_table

    row = {key: values[:1] for key, values in (columns or {}).items()} | {"x": np.zeros(1)}
    with TemporaryDirectory() as folder:
        try:
            write_table(Path(folder) / f"table{ending(Path(name))}", row)
        except TableError as error:
            raise Failure(f"{name}: {str(error).partition(': ')[2] or error}", USAGE) from error


def ending(path: Path) -> str:
    """The suffix that decides how a file is written: .csv, or .csv.gz."""
    return "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:])


def refuse_other_than_model(name: str | None) -> None:
    """Failure if a model has the suffix of something else: other programs would take it for that."""
    suffix = "" if name is None else Path(name).suffix.lower()
    if suffix in (*_TABLES, ".gz", ".html", ".htm", ".json", ".txt", ".h5ad", ".pkl", ".xlsx"):
        raise Failure(
            f"{name} would hold a model, not what its suffix says. Name it {Path(str(name)).stem}.mercer.", USAGE
        )


def refuse_other_than_page(name: str | None) -> None:
    """Failure if a page has another suffix: some other program would open it, or it may be someone's table."""
    if name is not None and Path(name).suffix.lower() not in (".html", ".htm"):
        raise Failure(f"{name} would hold an HTML page, so its name must end in .html.", USAGE)


def make_folder(folder: Path) -> None:
    """Make the folder and try writing to it, before anything is computed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _try_writing(folder)
    except OSError as error:
        raise unwritable(f"Cannot write to {folder}", error) from error


def refuse_unwritable_folder(folder: Path) -> None:
    """Failure if files cannot be written into a folder, which need not exist yet and is not made here."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        _try_writing(there)
    except OSError as error:
        raise unwritable(f"Cannot write to {folder}", error) from error


class OutputFiles(ExitStack):
    """Files that appear together: each is written beside its place, and all are moved there at the end.

    >>> with OutputFiles() as files:
    ...     pass
    """

    def add(self, path: str | Path, write: Callable[[Path], Any]) -> Path:
        """Have `write` write a file, down to the disk. Returns where the file stands until the end."""
        from mercer.atomic_write import replacing, to_disk

        with ExitStack() as alone:  # so that an error while this file is written names this file
            part = alone.enter_context(replacing(path))
            write(part)
            to_disk(part)
            self.push(alone.pop_all())
        return part

    def add_record(self, at: Path | None, record: dict[str, Any], made: dict[str, tuple[str, Path]]) -> None:
        """List files in the record of their run, and write it, if it is to be written.

        made : what each file is → its path, and where it stands until the end
        """
        from mercer.cli.record import write_record
        from mercer.tables.source import digest_of

        outputs = [{"what": what, "path": path, "sha256": digest_of(part)} for what, (path, part) in made.items()]
        record["outputs"] = outputs
        if at is not None:
            self.add(at, lambda part: write_record(record, part))

    def add_folder(self, folder: Path) -> None:
        """Make a folder for files. If they do not appear, nor does it."""
        new = [place for place in (folder, *folder.parents) if not place.exists()]
        make_folder(folder)

        def unmake(kind: type[BaseException] | None, *_: object) -> None:
            for place in new if kind is not None else []:
                with suppress(OSError):  # someone else has written there
                    place.rmdir()

        self.push(unmake)
