"""The container: what is not a whole file is noticed, and an old file stays when writing a new one fails."""

import json
import os
import pickle
import resource
import stat
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import mercer
from mercer.exceptions import ModelFileError
from mercer.models.container import DEPTH, parse_document, write_container
from mercer.models.model_file import save_model
from mercer.models.registry import load_model

GOLDEN = Path(__file__).parent / "golden"

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("text", ["[1]", "{", '{"a":1,"a":2}', '{"a":NaN}', '{"a":-Infinity}', "5", ""])
def test_documents_that_are_none(text):
    with pytest.raises(ModelFileError):
        parse_document(text)


def test_depth_is_bounded_and_brackets_in_text_are_none():
    text = '{"a":' + "[" * (DEPTH - 1) + "]" * (DEPTH - 1) + "}"
    assert parse_document(text)
    with pytest.raises(ModelFileError, match="levels deep"):
        parse_document(text.replace("[]", "[[]]"))
    assert parse_document(json.dumps({"a": '"\\' + "[" * 1000}))
    deep = []
    for _ in range(DEPTH):
        deep = [deep]
    with pytest.raises(ModelFileError, match="levels deep"):
        mercer.KernelPCA(kernel_params={"a": deep}).save("never")


def test_any_reader_of_safetensors_reads_the_arrays(tmp_path):
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = mercer.PCA(2).fit(X)
    save_model(model, tmp_path / "m.safetensors", {"by": "hand"})
    tensors = load_file(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(tensors["mean_"], model.mean_)
    np.testing.assert_array_equal(tensors["components_"].T, model.components_)  # it lies in Fortran's order
    with safe_open(tmp_path / "m.safetensors", framework="np") as file:
        document = json.loads(file.metadata()["mercer"])
    assert document["format"] == 1
    assert document["mercer"] == mercer.__version__
    assert document["model"]["object"] == "PCA"
    assert document["model"]["params"]["n_components"] == 2
    assert document["model"]["state"]["components_"] == {"transposed": "components_"}
    assert load_model(tmp_path / "m.safetensors")[1] == {"by": "hand"}


def test_every_cut_is_noticed(tmp_path, refusal):
    raw = (GOLDEN / "pca.mercer").read_bytes()
    for length in [*range(64), *range(64, len(raw), 37), len(raw) - 1]:
        (tmp_path / "m").write_bytes(raw[:length])
        refusal(tmp_path / "m")


def test_every_flipped_bit_is_noticed(tmp_path, refusal):
    raw = (GOLDEN / "pca.mercer").read_bytes()
    for place in range(len(raw)):
        bad = bytearray(raw)
        bad[place] ^= 1 << (place % 8)
        (tmp_path / "m").write_bytes(bad)
        refusal(tmp_path / "m")


def test_what_comes_after_is_noticed(tmp_path, refusal):
    (tmp_path / "m").write_bytes((GOLDEN / "pca.mercer").read_bytes() + b"\0")
    refusal(tmp_path / "m")


def test_other_files_are_told_apart(tmp_path, refusal):
    path = tmp_path / "m"
    path.write_bytes(pickle.dumps(mercer.PCA()))
    assert "a pickle, which Mercer never loads" in refusal(path)
    path.write_text("n_components,kernel\n2,rbf\n" * 20)
    assert "not a model file" in refusal(path)
    save_file({"a": np.zeros(3)}, path)
    assert "not one of Mercer's" in refusal(path)
    save_file({"a": np.zeros(3)}, path, metadata={"mercer": "[1, 2]"})
    assert "not a JSON object" in refusal(path)
    with pytest.raises(FileNotFoundError):
        mercer.load(tmp_path / "nowhere")


def test_folders_and_pipes_are_no_files(tmp_path, refusal):
    assert "not a plain file" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "not a plain file" in refusal(tmp_path / "pipe")  # and nobody waits for what comes through it


@pytest.mark.parametrize("fault", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
def test_what_goes_wrong_while_writing_leaves_the_old_file(fault, tmp_path, monkeypatch):
    path = tmp_path / "m.mercer"
    mercer.PCA(1).save(path)
    before = path.read_bytes()

    def broken(part, tensors, metadata):
        part.write_bytes(b"half")
        raise fault

    monkeypatch.setattr("mercer.models.container.write_safetensors", broken)
    with pytest.raises(fault if isinstance(fault, type) else type(fault)):
        mercer.PCA(2).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.mercer"]


def test_a_full_disk_is_an_oserror(tmp_path):
    path = tmp_path / "m.mercer"
    model = mercer.PCA().fit(np.random.default_rng(0).standard_normal((200, 100)))
    model.save(path)
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))  # no file may grow beyond: a disk that is full
    try:
        with pytest.raises(OSError, match=r"cannot be written.*m\.mercer"):
            model.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "m.mercer", tmp_path / "link.mercer"
    mercer.PCA().save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    path.chmod(0o640)
    link.symlink_to(path)
    mercer.PCA(3).save(link)
    assert link.is_symlink()
    assert mercer.load(path).n_components == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_saving_does_not_double_a_model(tmp_path):
    X = np.random.default_rng(0).standard_normal((60_000, 20))  # 10 MB
    model = mercer.KernelPCA(2, kernel="rbf", eigen_solver="rpcholesky", rank=5).fit(X)
    tracemalloc.start()
    model.save(tmp_path / "m.mercer")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "m.mercer").stat().st_size > X.nbytes
    assert peak < 0.1 * X.nbytes


def test_the_same_contents_are_the_same_bytes_as_safetensors_reads_them(tmp_path):
    from safetensors.numpy import load_file

    tensors = {
        "b": np.arange(3.0),
        "a": np.array([[True, False]]),
        "c": np.arange(4, dtype=np.int16),
        "e": np.empty((0, 2)),
    }
    written = set()
    for i in range(8):
        path = tmp_path / f"{i}.mercer"
        write_container(path, tensors, {"format": 1, "word": "γ"})
        written.add(path.read_bytes())
    assert len(written) == 1
    found = load_file(path)
    assert set(found) == set(tensors) and all(np.array_equal(found[name], tensors[name]) for name in tensors)
    assert all(found[name].dtype == tensors[name].dtype for name in tensors)
