"""A table that is read in parts gives the output and the models of one that is read as a whole."""

import numpy as np
import pytest

import mercer
from mercer.cli import streamed
from mercer.streams import table_rows
from mercer.tables.table import write_table

RNG = np.random.default_rng(0)
N = 400
WORDS = ["big.parquet", "--id", "name", "--label", "kind", "-q"]


@pytest.fixture
def big(shell, monkeypatch):
    """A table of 400 rows in parts of 90."""
    X = RNG.standard_normal((N, 3))
    kinds = np.where(X[:, 0] * X[:, 1] > 0, "same", "other").astype(object)
    names = np.array([f"r{i}" for i in range(N)], object)
    write_table("big.parquet", {"name": names, "kind": kinds, **{f"m{i}": X[:, i] for i in range(3)}})
    small = lambda row_bytes, chunk_rows=None, **_: 90  # noqa: E731
    monkeypatch.setattr(table_rows, "bounded_rows", small)
    monkeypatch.setattr(streamed, "bounded_rows", small)
    return shell


METHODS = {
    "pca": [],
    "kpca": ["--rank", "40"],
    "kda": ["--rank", "40", "--gamma", "0.3", "--reg", "0.001"],
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("prepared", [[], ["--scale", "standard", "--dtype", "float64"]], ids=["plain", "scaled"])
def test_streamed_fits_write_what_fits_of_the_whole_write(big, method, prepared):
    words = [*WORDS, "-m", method, *METHODS[method], *prepared]
    # All rows are in the sample, so both have the same landmarks, to rounding amplified by the root of their matrix.
    solver = ["--eigen-solver", "rpcholesky"] if method == "kpca" else []
    big("fit", *words, *solver, "-o", "whole.csv", "--save", "whole.mercer")
    big("fit", *words, "--stream", "-o", "parts.csv", "--save", "parts.mercer")
    whole, parts = big.columns("whole.csv"), big.columns("parts.csv")
    assert list(whole) == list(parts) and whole["name"].tolist() == parts["name"].tolist()
    assert whole["kind"].tolist() == parts["kind"].tolist()
    a, b = big.coordinates("whole.csv"), big.coordinates("parts.csv")
    signs = np.sign((a * b).sum(axis=0))
    assert np.abs(a - signs * b).max() <= 1e-6 * np.abs(a).max()
    record, model = big.record("parts.run.json"), mercer.load("parts.mercer")
    assert record["stream"] and record["parts"] == 5 and record["input"]["rows"] == N
    assert record["input"] == big.record("whole.run.json")["input"] and record["id"] == "name"
    assert model.transform(np.zeros((2, 3))).shape[0] == 2
    assert not (big.folder / "parts.checkpoint").exists()


def test_a_table_of_many_rows_has_parts_for_workers_to_share(shell):
    """In bytes it would be one part. In the first part all codes differ, and yet they are no ids."""
    n = 40_000
    code = np.concatenate([np.arange(20_000), np.arange(20_000)])
    write_table("long.parquet", {"code": code, "a": RNG.standard_normal(n), "b": RNG.standard_normal(n)})
    shell("fit", "long.parquet", "-m", "pca", "--stream", "-o", "parts.csv", "-q")
    shell("fit", "long.parquet", "-m", "pca", "-o", "whole.csv", "-q")
    record, whole = shell.record("parts.run.json"), shell.record("whole.run.json")
    assert record["parts"] == 3 and record["input"] == whole["input"] and record["id"] == whole["id"]


def test_models_of_both_place_rows_in_parts(big):
    big(
        "fit",
        *WORDS,
        "-m",
        "kpca",
        "--rank",
        "40",
        "--scale",
        "standard",
        "--stream",
        "-o",
        "a.csv",
        "--save",
        "m.mercer",
    )
    big("transform", "m.mercer", "big.parquet", "-o", "b.csv", "-q")
    assert (big.folder / "a.csv").read_bytes() == (big.folder / "b.csv").read_bytes()
    whole = mercer.load("m.mercer")
    assert big.record("b.run.json")["input"]["rows"] == N
    # A csv is read from its start to its end, and placed alike.
    write_table("big.csv", big.columns("big.parquet"))
    big("transform", "m.mercer", "big.csv", "-o", "c.csv", "-q")
    room = 1e-12 * np.abs(whole.expansion_.coefs).sum(axis=0).max()
    assert np.abs(big.coordinates("c.csv") - big.coordinates("b.csv")).max() <= room
    assert big.columns("c.csv")["name"].tolist() == big.columns("b.csv")["name"].tolist()
    assert big.record("c.run.json")["input"]["rows"] == N
    out = big("transform", "m.mercer", "big.parquet", "-q").stdout
    assert out.splitlines()[0] == "name,kind,kpca1,kpca2" and len(out.splitlines()) == N + 1


def test_maps_place_new_rows_in_parts(big):
    big("fit", *WORDS, "-m", "mds", "--max-iter", "20", "-o", "a.csv", "--save", "m.mercer")
    big("transform", "m.mercer", "big.parquet", "-o", "b.csv", "-q")
    placed = mercer.load("m.mercer").transform(np.column_stack([big.columns("big.parquet")[f"m{i}"] for i in range(3)]))
    assert np.allclose(big.coordinates("b.csv"), placed, rtol=1e-6, atol=1e-6)


def test_a_map_of_landmarks_streams(big):
    big("fit", *WORDS, "-m", "tsne", "--landmarks", "120", "--max-iter", "60", "--stream", "-o", "t.csv")
    assert big.coordinates("t.csv").shape == (N, 2)


def test_a_table_beyond_the_memory_allowed_streams_and_says_so(big, monkeypatch):
    words = [*[w for w in WORDS if w != "-q"], "-m", "kpca", "--rank", "20"]
    assert "streamed" not in big("fit", *words, "-o", "a.csv").stderr
    monkeypatch.setattr(streamed, "available_bytes", lambda: 5000)
    said = big("fit", *words, "-o", "b.csv").stderr
    assert "big.parquet is streamed in 5 parts" in said and "allowed" in said
    said = big("fit", *words, "--dry-run").stdout
    assert "streamed" in said and "5 chunks" in said
    assert big("fit", *words, "--dry-run", "--json").stdout.find('"streamed"') > 0
    # The method cannot stream, and the table does not fit.
    said = big("fit", *WORDS, "-m", "tsne", status=3).stderr
    assert "has to be read part by part" in said and "--landmarks" in said
    assert "streamed" not in big("fit", *words, "--no-stream", "-o", "c.csv").stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["flowers.csv", "-m", "pca", "--stream"], "save it as parquet first"),
        (["big.parquet", "-m", "pca", "--drop", "name", "--label", "kind", "--stream", "--report", "p.html"], "A page"),
        (["big.parquet", "-m", "pca", "--cluster", "local:1", "--rows", "1:50"], "--rows"),
        (
            ["big.parquet", "-m", "mds", "--id", "name", "--label", "kind", "--stream"],
            "--rows, or take one of pca, kpca",
        ),
        (["big.parquet", "-m", "kpca", "--id", "name", "--label", "kind", "--stream"], "--rank"),
        (["big.parquet", "-m", "pca", "--scale", "robust", "--stream"], "quartiles"),
        (["big.parquet", "-m", "pca", "--resume", "no.checkpoint"], "no such checkpoint"),
    ],
)
def test_what_cannot_stream_is_refused_with_what_to_do(big, words, said):
    assert said in big("fit", *words, status=3).stderr


def test_an_interrupted_fit_resumes_to_the_same_bits(big, monkeypatch):
    words = [*WORDS, "-m", "kpca", "--rank", "40"]
    big("fit", *words, "--stream", "-o", "a.csv")
    monkeypatch.setattr(streamed, "CHECKPOINT_SECONDS", 0.0)
    original, reads = table_rows.TableRows.chunk, []

    def fails(self, i):
        reads.append(i)
        if len(reads) > 8:  # within the pass that is checkpointed: a sample reads five parts first
            raise OSError(5, "the disk went away")
        return original(self, i)

    monkeypatch.setattr(table_rows.TableRows, "chunk", fails)
    said = big("fit", *[w for w in words if w != "-q"], "--stream", "-o", "b.csv", status=1).stderr
    assert "--resume b.checkpoint" in said and (big.folder / "b.checkpoint").exists()
    assert not (big.folder / "b.csv").exists()
    assert "left from a fit" in big("fit", *words, "--stream", "-o", "b.csv", status=2).stderr
    reads.clear()
    again = []
    monkeypatch.setattr(table_rows.TableRows, "chunk", lambda self, i: again.append(i) or original(self, i))
    big("fit", *words, "-o", "b.csv", "--resume", "b.checkpoint")
    assert (big.folder / "a.csv").read_bytes() == (big.folder / "b.csv").read_bytes()
    assert len(again) < 15 and not (big.folder / "b.checkpoint").exists()


def test_workers_of_dask_give_the_same_bytes(big):
    pytest.importorskip("distributed")
    words = [*WORDS, "-m", "pca"]
    big("fit", *words, "--stream", "-o", "a.csv")
    big("fit", *words, "--cluster", "local:1", "-o", "b.csv")
    assert (big.folder / "a.csv").read_bytes() == (big.folder / "b.csv").read_bytes()
    assert "--cluster" in big("fit", *words, "--cluster", "nowhere", "-o", "c.csv", status=1).stderr


def test_a_record_of_a_streamed_fit_replays_to_the_same_bytes(big):
    big("fit", *WORDS, "-m", "pca", "--stream", "-o", "a.csv")
    said = big("fit", "--config", "a.run.json", "-o", "b.csv").stderr
    assert "streamed" in said
    assert (big.folder / "a.csv").read_bytes() == (big.folder / "b.csv").read_bytes()
