"""Sizes in bytes, read, printed and asked of the machine."""

from pathlib import Path

import numpy as np
import pytest

from mercer.memory import UNLIMITED, available_bytes, cgroup_bytes, forget_pages, format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4 * 10**9),
        ("4 gb", 4 * 10**9),
        ("4G", 4 * 10**9),
        ("1.5 MB", 1_500_000),
        (".5k", 500),
        ("512MiB", 512 * 2**20),
        ("1KiB", 1024),
        ("2TiB", 2**41),
        ("100", 100),
        ("100B", 100),
        (100, 100),
        (1e6, 10**6),
    ],
)
def test_parse(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "bad", ["", "GB", "4XB", "4 G B", "-4GB", "1e9", "4IB", 0, -1, float("nan"), float("inf"), "0"]
)
def test_what_is_no_size(bad):
    with pytest.raises(ValueError, match="memory_limit"):
        parse_bytes(bad)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (2_500_000, "2.5 MB"), (3.2e12, "3.2 TB")]
)
def test_format(size, text):
    assert format_bytes(size) == text


def test_available():
    assert 10**6 < available_bytes() < 2**62


def _resident_file_pages():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssFile:"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux")
def test_pages_of_a_file_are_given_back_and_nothing_is_lost(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(8_000_000.0).reshape(-1, 10))  # 64 MB
    rows = np.asarray(np.load(path, mmap_mode="r"))
    total = rows.sum()
    before = _resident_file_pages()
    forget_pages(rows)
    assert before - _resident_file_pages() > 50e6
    assert rows.sum() == total

    changed = np.load(path, mmap_mode="c")
    changed[0] = -1.0
    forget_pages(changed[:5])
    assert (changed[0] == -1.0).all()

    written = np.load(path, mmap_mode="r+")
    written[1] = -2.0
    forget_pages(written[:5])
    assert (written[1] == -2.0).all() and (np.load(path)[1] == -2.0).all()
    forget_pages(np.ones(3))  # no map at all


# --- limits of containers, jobs and processes ----------------------------------------------------------


def group(folder, most, used, cached=0):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {cached}\n")


def test_the_tightest_of_the_groups_around_a_job_counts(tmp_path):
    mine, root = tmp_path / "cgroup", tmp_path / "fs"
    mine.write_text("0::/slurm/job_7/step_0\n")
    group(root / "slurm" / "job_7" / "step_0", "max", 100)
    group(root / "slurm" / "job_7", 4000, 3000, cached=500)
    group(root / "slurm", 10**6, 5000)
    assert cgroup_bytes(mine, root) == 1500


def test_groups_of_the_first_version(tmp_path):
    mine, folder = tmp_path / "cgroup", tmp_path / "fs" / "memory" / "job"
    mine.write_text("5:cpu,cpuacct:/job\n4:memory:/job\n")
    folder.mkdir(parents=True)
    (folder / "memory.limit_in_bytes").write_text("900")
    (folder / "memory.usage_in_bytes").write_text("200")
    (folder / "memory.stat").write_text("inactive_file 50")
    assert cgroup_bytes(mine, tmp_path / "fs") == 750


def test_without_groups_nothing_is_limited(tmp_path):
    assert cgroup_bytes(tmp_path / "none", tmp_path) == UNLIMITED
    (tmp_path / "cgroup").write_text("0::/\nnonsense\n")
    assert cgroup_bytes(tmp_path / "cgroup", tmp_path) == UNLIMITED
