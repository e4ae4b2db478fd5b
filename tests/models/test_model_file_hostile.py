"""Files that were altered, or made to do harm: each is refused in one line."""

import ast
import json
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.exceptions import ModelFileError
from mercer.models.model_file import save_model

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(ROOT / "scripts"))
import fuzz_models  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def altered(name, path, change):
    """A golden file after `change(header, document, arrays)`, its checksum made to fit again."""
    header, document, data = fuzz_models.unpack((GOLDEN / f"{name}.mercer").read_bytes())
    kinds = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?", "U32": "<u4"}
    arrays = {}
    for key, entry in header.items():
        start, stop = entry["data_offsets"]
        arrays[key] = np.frombuffer(data[start:stop], kinds[entry["dtype"]]).reshape(entry["shape"]).copy()
    change(header, document, arrays)
    out = bytearray(data)
    for key, array in arrays.items():
        start, stop = header[key]["data_offsets"]
        out[start:stop] = array.tobytes()
    path.write_bytes(fuzz_models.pack(header, document, bytes(out), honest=True))
    return path


def test_the_untouched_file_passes_through_the_helper(tmp_path):
    mercer.load(altered("isomap", tmp_path / "m", lambda header, document, arrays: None))


# --- files of other formats and versions -------------------------------------------------------------------


def test_newer_formats_ask_for_an_upgrade(tmp_path, refusal):
    def change(header, document, arrays):
        document["format"], document["mercer"], document["model"] = 2, "9.0", "something new"

    assert "newer Mercer (format 2, Mercer 9.0): upgrade" in refusal(altered("pca", tmp_path / "m", change))
    for version in (0, -1, "1", None, True, 1.5):
        path = altered("pca", tmp_path / "m", lambda h, document, a, v=version: document.update(format=v))
        assert "which format" in refusal(path)


def test_a_parameter_that_came_later_takes_its_default(tmp_path):
    def change(header, document, arrays):
        del document["model"]["params"]["whiten"], document["model"]["params"]["n_oversamples"]

    model = mercer.load(altered("pca", tmp_path / "m", change))
    assert (model.whiten, model.n_oversamples) == (False, 10)


def test_too_many_arrays_or_some_that_nothing_uses_are_refused(tmp_path, monkeypatch, refusal):
    def change(header, document, arrays):
        document["model"]["state"]["residuals_"] = {"array": "mean_"}
        document["model"]["state"]["mean_"] = {"array": "mean_"}

    def more(header, document, arrays):
        header["spare"] = {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}
        arrays["spare"] = np.empty(0)

    refusal(altered("pca", tmp_path / "m", change))
    assert "nothing uses its array 'spare'" in refusal(altered("pca", tmp_path / "m", more))
    monkeypatch.setattr("mercer.models.container.ARRAYS", 3)
    assert "a model has at most 3" in refusal(GOLDEN / "pca.mercer")


def test_sizes_beyond_the_file_or_the_memory_allocate_nothing(tmp_path, refusal):
    def huge(header, document, arrays):
        header["mean_"]["shape"] = [2**40]

    tracemalloc.start()
    refusal(altered("pca", tmp_path / "m", huge))
    header = json.dumps({"a": {"dtype": "F64", "shape": [2**37], "data_offsets": [0, 2**40]}}).encode()
    with (tmp_path / "holes").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 2**40)  # a terabyte of holes
    assert "of memory is free. Nothing was read" in refusal(tmp_path / "holes")
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


# --- files that are made to harm ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["os.system", "builtins.eval", "mercer.PCA", "kernel.RBF", "SecondView", "", None, 7, []]
)
def test_a_file_chooses_among_the_names_of_the_table_alone(name, tmp_path, refusal):
    path = altered("pca", tmp_path / "m", lambda h, document, a: document["model"].update(object=name))
    assert re.search("is not (a class that this Mercer knows|an estimator)", refusal(path))


def test_names_inside_are_held_to_the_table_too(tmp_path, refusal):
    def change(header, document, arrays):
        document["model"]["state"]["kernel_"]["object"] = "subprocess.Popen"

    modules = set(sys.modules)
    assert "'subprocess.Popen' is not a class" in refusal(altered("kpca_ridge", tmp_path / "m", change))
    assert set(sys.modules) == modules


def test_methods_cannot_be_covered(tmp_path, refusal):
    path = altered("pca", tmp_path / "m", lambda h, document, a: document["model"]["state"].update(transform=5))
    assert "it has 'transform', which its kind does not have" in refusal(path)


def point(array, value):
    def change(header, document, arrays):
        arrays[array].flat[-1] = value

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("isomap", point("_geodesics.graph.indices", 12)),
        ("isomap", point("_geodesics.graph.indices", -1)),
        ("isomap", point("_geodesics.graph.indices", 2**40)),
        ("isomap", point("_geodesics.graph.indptr", 10**6)),
        ("isomap", lambda h, d, a: a["_geodesics.graph.indptr"].__setitem__(3, 40)),
        ("isomap", point("_geodesics.graph.data", -1.0)),
        ("isomap", point("_geodesics.graph.data", np.nan)),
        ("isomap", lambda h, d, a: a["_geodesics.graph.data"].fill(np.inf)),
        ("isomap", point("fitted_rows_", 12)),
        ("isomap", point("fitted_rows_", 0)),
        ("isomap_landmarks", point("landmarks_", 12)),
        ("isomap_landmarks", point("landmarks_", -3)),
        ("isomap_csr", point("_X.indices", 3)),
        ("isomap_csr", point("_X.indptr", 99)),
        ("isomap_graph", point("index_.graph.indices", 12)),
        ("isomap_cells", lambda h, d, a: a["index_.cells.order"].fill(3)),
        ("isomap_cells", point("index_.cells.order", 12)),
        ("isomap_cells", point("index_.cells.starts", 13)),
        ("isomap_cells", point("index_.cells.nearest", 9)),
        ("isomap_cells", point("index_.trial", 12)),
        ("tsne", point("affinities_.P.indices", 12)),
        ("tsne", point("affinities_.P.indptr", 0)),
        ("tsne", point("affinities_.P.data", -1.0)),
        ("tsne", point("embedding_", np.nan)),
        ("tsne", point("_map.Y", 1e30)),
        ("tsne_csr", point("affinities_.index.X.indices", 3)),
        ("kpca_csr", point("X_fit_.indices", 3)),
        ("kpca_csr", point("landmarks_", 12)),
        ("kda", point("classes_", 0x110000)),
        ("kda", point("_rule.spread", 0.0)),
        ("kpca_strings", point("X_fit_.ends", 10**9)),
        ("kpca_strings", point("X_fit_.bytes", 0xFF)),
        ("kernelized_kmeans", lambda h, d, a: h["estimator_.cluster_centers_"].update(shape=[5, 2])),
        ("kernelized_classes", lambda h, d, a: h["estimator_.coef_"].update(shape=[15, 1])),
        ("kpca_ridge", lambda h, d, a: h["X_fit_"].update(shape=[3, 12])),
        ("kpca_ridge", lambda h, d, a: h["X_fit_"].update(dtype="I32")),
        ("kpca_mds", lambda h, d, a: d["model"]["state"]["preimage_"]["params"].update(q=13)),
        ("kpca_fixed_point", lambda h, d, a: d["model"]["state"]["preimage_"]["params"].update(max_iter=10**12)),
        ("isomap_landmarks", lambda h, d, a: h["index_.params.V"].update(shape=[1, 3])),
        ("pca", lambda h, d, a: d["model"]["state"].pop("mean_")),
        ("pca", lambda h, d, a: d["model"]["params"].update(whiten="yes")),
        ("pca", lambda h, d, a: d.pop("notes")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_numbers_that_point_elsewhere_are_refused_when_loading(name, change, tmp_path, refusal):
    assert "does not hold a valid model" in refusal(altered(name, tmp_path / "m", change))


def test_a_metric_as_wide_as_the_rows(tmp_path):
    """SciPy's compiled distances would read beyond a matrix that is too small."""
    X = np.random.default_rng(0).standard_normal((30, 4))
    model = mercer.ClassicalMDS(metric="mahalanobis").fit(X)
    model.kernel_pca_._with_mean.kernel.params["VI"] = np.eye(2)
    with pytest.raises(
        ModelFileError, match=r"VI of a metric on 4 columns must hold finite numbers in the shape \(4, 4\)"
    ):
        model.save(tmp_path / "m")


def test_one_array_in_a_hundred_thousand_places_takes_no_hour(tmp_path, refusal):
    """Each use of an array is looked through: a small file could ask for that without end."""
    X = np.random.default_rng(0).standard_normal((200_000, 2))
    save_model(mercer.PCA(1), tmp_path / "whole", {"all": X})
    header, document, data = fuzz_models.unpack((tmp_path / "whole").read_bytes())
    document["notes"]["all"] = [document["notes"]["all"]] * 100_000
    (tmp_path / "m").write_bytes(fuzz_models.pack(header, document, data, honest=True))
    assert "too many uses of the same arrays" in refusal(tmp_path / "m")
    with pytest.raises(ModelFileError, match="the same arrays too often"):
        save_model(mercer.PCA(1), tmp_path / "m", {"all": [X] * 1000})
    save_model(mercer.PCA(1), tmp_path / "m", {"all": [X] * 10})


def test_many_altered_files_neither_crash_nor_hang_nor_riddle():
    counts, bad = fuzz_models.run(list(range(200)), seed=20, jobs=1, seconds=120, gigabytes=4)
    assert bad == []
    assert sum(counts.values()) == 200
    assert counts["answered"] >= 10
    assert counts["refused"] >= 100


def test_the_fuzzer_sees_a_crash_and_a_hang(monkeypatch):
    """The fuzzer finds a defect that is there: a check that cannot fail proves nothing."""
    code = "import sys, os; print('ready', flush=True); sys.stdin.readline(); "
    for deed, said in (("os.abort()", "crash -6"), ("import time; time.sleep(99)", "hang")):
        turns = iter([code + deed])

        def begin(self, seed, gigabytes, turns=turns):
            rest = "import sys, json; print('ready', flush=True)\nfor line in sys.stdin: "
            rest += "print(json.dumps([int(line), 'x', 'answered']), flush=True)"
            command = [sys.executable, "-c", next(turns, rest)]
            self.process = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True)
            self.number, self.since = None, 0.0

        monkeypatch.setattr(fuzz_models.Worker, "__init__", begin)
        counts, bad = fuzz_models.run([0, 1], seed=0, jobs=1, seconds=2, gigabytes=1)
        assert len(bad) == 1
        assert said in bad[0]
        assert counts["answered"] == 1


# --- never code --------------------------------------------------------------------------------------------


def test_model_files_are_read_without_anything_that_runs_code():
    forbidden = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "code", "runpy"}
    for path in (Path(mercer.__file__).parent / "models").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not forbidden & {alias.name.partition(".")[0] for alias in node.names}, path
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] not in forbidden, path
            if isinstance(node, ast.Name):
                assert node.id not in ("eval", "exec", "compile", "__import__", "globals"), path
            if isinstance(node, ast.keyword):
                assert node.arg != "allow_pickle", path


def test_loading_imports_no_accelerator_that_is_not_needed():
    code = "import sys, mercer; [mercer.load(path).transform([[1.0, 2.0, 3.0]]) for path in sys.argv[1:]]; "
    code += "sys.exit(any(name in sys.modules for name in ('numba', 'torch', 'cupy')))"
    paths = [str(GOLDEN / f"{name}.mercer") for name in ("pca", "kpca_algebra", "kernel_map", "kcca", "mds")]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
