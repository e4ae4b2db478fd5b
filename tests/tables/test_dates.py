"""Dates stay dates: read from text and from Arrow, to the instant, and written so that they come back."""

import numpy as np
import pyarrow as pa
import pytest

from mercer.tables.dates import as_days, date_values, dates_in_text
from mercer.tables.table import Choice, TableError, read_columns, read_table, write_table


def instants(*texts):
    found = dates_in_text(pa.array(texts))
    return None if found is None else found.astype(str).tolist()


def test_days_and_times():
    assert instants("2024-02-29", None, "9999-12-31", "0001-01-01") == ["2024-02-29", "NaT", "9999-12-31", "0001-01-01"]
    assert instants("2024-02-29 10:30", "2024-02-29T23:00:30Z") == ["2024-02-29T10:30:00", "2024-02-29T23:00:30"]
    assert instants("2024-01-01T00:30:00+02:00", "2024-01-01 00:30:00-0130") == [
        "2023-12-31T22:30:00",
        "2024-01-01T02:00:00",
    ]
    assert instants("2024-01-01T00:00:00.123456789") == ["2024-01-01T00:00:00.123456789"]


@pytest.mark.parametrize("text", ["2023-02-29", "2024-13-01", "1.2.2024", "20240101", "2024-01-01 25:00", "x"])
def test_what_is_no_date_stays_text(text):
    assert instants("2024-01-01", text) is None


def test_the_coarsest_exact_unit():
    times = date_values(pa.array([1_500_000_000_000, None], pa.timestamp("ms", tz="Europe/Berlin")))
    assert times.dtype == "datetime64[s]" and times[0] == np.datetime64("2017-07-14T02:40:00")


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "parquet", "arrow"])
@pytest.mark.parametrize("unit", ["D", "s", "ms", "ns"])
def test_dates_come_back(tmp_path, suffix, unit):
    number = np.array([19782, 19783, 0, -1]) if unit in "Ds" else np.array([1_700_000_000_001, 1, 5, -7])
    given = number.view(f"datetime64[{unit}]").copy()
    given[2] = "NaT"
    write_table(tmp_path / f"t.{suffix}", {"a": np.arange(4.0), "when": given})
    found = read_columns(tmp_path / f"t.{suffix}")["when"]
    assert found.dtype.kind == "M" and np.array_equal(found, given, equal_nan=True)


def test_dates_are_kept_and_never_fitted_in_silence(table):
    path = table("day,a,b\n2024-01-01,1,5\n2024-01-02,2,7\n2024-01-03,4,6\n")
    with pytest.raises(TableError, match=r"1 of 3 columns holds dates.*keep='day'"):
        read_table(path)
    kept = read_table(path, Choice(keep=("day",)))
    assert kept.features == ["a", "b"] and kept.columns["day"].dtype == "datetime64[D]"
    dropped = read_table(path, Choice(encode="drop"))
    assert dropped.columns["day"].dtype == "datetime64[D]"
    assert read_table(path, Choice(id="day")).ids.tolist() == ["2024-01-01", "2024-01-02", "2024-01-03"]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_a_date_in_text_is_a_date_in_every_format(tmp_path, suffix):
    days, path = ["2024-01-01", "2024-01-02", "2024-01-04"], tmp_path / f"t.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(f'{{"day": "{day}", "a": {i}}}\n' for i, day in enumerate(days)))
    else:
        write_table(path, {"day": np.array(days, object), "a": np.arange(3.0)})
    assert read_columns(path)["day"].dtype == "datetime64[D]"
    with pytest.raises(TableError, match=r"1 of 2 columns holds dates"):
        read_table(path)
    assert read_table(path, Choice(label="day")).labels.astype(str).tolist() == days
    assert read_table(path, Choice(id="day")).ids.tolist() == days


def test_times_that_are_all_midnight_are_days():
    def kind(*texts, zone=None):
        return as_days(pa.array(texts).cast(pa.timestamp("us", zone))).type

    assert kind("2024-01-01", "1850-02-28", None) == pa.date32()
    assert kind("2024-01-01", "2024-01-01T00:00:01") == pa.timestamp("us")
    assert kind(None) == pa.date32()
    assert kind("2024-01-01T00:00:00Z", zone="UTC") == pa.timestamp("us", "UTC")  # midnight in London only
