"""The recipes of the guide for Ray and Spark give the sums, and so the bits, of a fit in one process.

They run if `ray[data]` or `pyspark` (with Java) is installed. The code is that of docs/guide/large.md.
"""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import mercer

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "large.md"
X = np.random.default_rng(0).standard_normal((2000, 4)).astype(np.float32)


def recipe(**names):
    """The names that the section about other engines defines."""
    section = GUIDE.read_text().split("## Ray, Spark, and others")[1].split("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(blocks) == 2
    defined = {**names, "np": np}
    exec(blocks[0].split("rows = mercer.open_rows")[0] + "\n" + blocks[1], defined)
    return defined


def same_bits(run, elsewhere, folder):
    mercer.write_rows(X, folder / "rows.parquet")
    rows = mercer.open_rows(folder / "rows.parquet", chunk_rows=600)
    fits = [
        mercer.KernelPCA(2, kernel="rbf", gamma=0.1, rank=50, n_jobs=1).fit(source)
        for source in (rows, elsewhere(rows, run))
    ]
    assert np.array_equal(fits[0].eigenvalues_, fits[1].eigenvalues_)
    assert np.array_equal(fits[0].transform(X[:9]), fits[1].transform(X[:9]))


def test_a_loop_drives_a_fit(tmp_path):
    found = recipe()
    same_bits(found["in_a_loop"], found["Elsewhere"], tmp_path)


@pytest.mark.timeout(300)
def test_ray_drives_a_fit(tmp_path):
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        found = recipe(ray=ray)
        same_bits(found["on_ray"], found["Elsewhere"], tmp_path)
    finally:
        ray.shutdown()


@pytest.mark.timeout(300)
def test_spark_drives_a_fit(tmp_path):
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java.")
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        found = recipe(spark=spark)
        same_bits(found["on_spark"], found["Elsewhere"], tmp_path)
    finally:
        spark.stop()
