"""A file is complete or not there, whatever goes wrong while it is written."""

import errno
import os
import stat
import threading
from contextlib import ExitStack

import pytest

from mercer.atomic_write import replacing


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with replacing(path) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError, SystemExit])
def test_a_fault_leaves_the_old_file_and_nothing_else(fault, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(fault), replacing(path) as part:
        part.write_text("half")
        raise fault
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_several_files_appear_together_or_not_at_all(tmp_path):
    names = [tmp_path / name for name in ("a.csv", "b.csv.gz", "c.html")]

    def write(fail):
        with ExitStack() as stack:
            for name in names:
                part = stack.enter_context(replacing(name))
                assert part.suffixes[-len(name.suffixes) :] == name.suffixes
                part.write_text("text")
                assert not name.exists()
            if fail:
                raise ValueError("the last step fails")

    with pytest.raises(ValueError, match="last step"):
        write(fail=True)
    assert not list(tmp_path.iterdir())
    write(fail=False)
    assert sorted(tmp_path.iterdir()) == sorted(names)


def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    with replacing(pipe) as part:
        part.write_text("through")
    reader.join(timeout=30)
    assert got == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_long_names_and_folders(tmp_path):
    with replacing(tmp_path / ("n" * 240 + ".csv")) as part:
        part.write_text("x")
    with replacing(tmp_path / ("n." + "s" * 240)) as part:
        part.write_text("x")
    with pytest.raises(OSError, match="directory"), replacing(tmp_path) as part:
        part.write_text("x")
    assert len(list(tmp_path.iterdir())) == 2


def test_what_the_system_refuses_names_the_file_that_was_asked_for(tmp_path):
    """Whether the new file cannot be made or cannot be filled; errors of other files keep their names."""
    with pytest.raises(OSError, match="cannot be written: No such file") as found, replacing(tmp_path / "none" / "a"):
        pass
    assert found.value.filename == str(tmp_path / "none" / "a")
    with pytest.raises(OSError, match="cannot be written: No space") as found, replacing(tmp_path / "b") as part:
        raise OSError(errno.ENOSPC, "No space left on device", str(part))
    assert found.value.filename == str(tmp_path / "b")
    with pytest.raises(FileNotFoundError) as found, replacing(tmp_path / "c"):
        (tmp_path / "other").read_bytes()
    assert found.value.filename == str(tmp_path / "other")


def test_a_full_disk_is_told_once_however_many_writers_are_at_work(tmp_path):
    """A page or a table is written by a function that itself replaces the file that it is given."""
    path = tmp_path / "a.csv"
    with pytest.raises(OSError) as caught, replacing(path) as part, replacing(part) as inner:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(inner))
    assert caught.value.filename == str(path)
    assert caught.value.strerror == f"cannot be written: {os.strerror(errno.ENOSPC)}"
