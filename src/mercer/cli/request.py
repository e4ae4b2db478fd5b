"""What a fit was asked for: by a command line, and by the run.json that it repeats."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mercer.cli.errors import unsuitable
from mercer.cli.methods import METHODS
from mercer.cli.options import table_choice, with_page_columns
from mercer.cli.outputs import STDOUT
from mercer.cli.record import read_record

CHECKPOINT = ".checkpoint"
OUTPUTS = {"output": "coordinates", "save": "model", "report": "page"}
STREAMING = ("stream", "cluster")
PAGE_OPTIONS = ("page_columns", "page_record", "inert")  # a repeated run shows no more than the first one did


@dataclass(frozen=True)
class FitRequest:
    """What a fit was asked for.

    parameters : those of the estimator that differ from the command's defaults
    choice : fields of `mercer.tables.table.Choice`
    inert : whether text that a spreadsheet would run is made harmless in a csv file
    page_columns, page_record : what goes into the page; None stands for what is fitted or kept
    resume : the model of a map to go on with, or the checkpoint of a streamed fit
    stream : whether the table is read part by part; None leaves it to its size
    cluster : where the workers are that compute the chunks of a streamed table
    expected : "table" and "second" -> the sha256 that the input of a recorded run had
    """

    table: str
    method: str
    second: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    choice: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    jobs: int | None = None
    device: str = "cpu"
    output: str | None = None
    save: str | None = None
    report: str | None = None
    page_columns: tuple[str, ...] | None = None
    page_record: bool = False
    inert: bool = True
    resume: str | None = None
    expected: dict[str, str] = field(default_factory=dict)
    strict: bool = False
    stream: bool | None = None
    cluster: str | None = None

    @property
    def inputs(self) -> list[str]:
        return [path for path in (self.table, self.second) if path is not None]

    @property
    def files(self) -> dict[str, str]:
        """What is written -> its path."""
        return {what: getattr(self, name) for name, what in OUTPUTS.items() if getattr(self, name) is not None}


def request_from(context: click.Context, options: dict[str, Any], parameters: dict[str, Any]) -> FitRequest:
    """The request of a command line. What it does not say comes from the run.json of --config, if there is one.

    parameters : those of the estimator that the command line gives
    """
    given = {
        name: options[name]
        for name in (*("table", "second", "method", "seed", "jobs", "device", "strict"), *OUTPUTS, *STREAMING)
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    }
    known = _known(context, options, given, parameters)
    if "table" not in known:
        raise click.UsageError("A table is needed: a file, or - for csv on stdin.", context)
    merged = {"method": options["method"], "seed": options["seed"]} | known
    merged["parameters"] = known.get("parameters", {}) | parameters
    if merged["method"] in METHODS:
        merged["parameters"] = METHODS[merged["method"]].consistent(merged["parameters"], parameters)
    told = [name for name in PAGE_OPTIONS if context.get_parameter_source(name) == ParameterSource.COMMANDLINE]
    page = {name: options[name] for name in PAGE_OPTIONS} | merged.pop("page", {}) | {n: options[n] for n in told}
    shown = tuple(page["page_columns"] or ())
    merged["choice"] = with_page_columns(known.get("choice", {}) | table_choice(options), shown)
    merged |= page | {"page_columns": shown or None}
    if not any(merged.get(name) for name in OUTPUTS):
        merged["output"] = STDOUT
    request = FitRequest(**merged)
    _refuse(request, options["as_json"] and not options["dry_run"], context)
    return request


def _known(
    context: click.Context, options: dict[str, Any], given: dict[str, Any], parameters: dict[str, Any]
) -> dict[str, Any]:
    """The fields of a request that are known: given on the command line, else by the run or the model that it names."""
    resume, recorded = options["resume"], dict[str, Any]()
    if resume and is_checkpoint(resume):  # a streamed fit repeats its own command
        given = given | {"resume": resume}
    elif resume:
        if options["config"] or "method" in given or "second" in given or set(parameters) - {"max_iter"}:
            raise click.UsageError(
                "--resume goes on as the fit began. Only --max-iter and the outputs can be given.", context
            )
        recorded = _resumed(resume)
    if options["config"]:
        recorded = _recorded(options["config"], given)
    if not options["recorded_outputs"] or any(name in given for name in OUTPUTS):
        recorded = {name: value for name, value in recorded.items() if name not in OUTPUTS}
    return recorded | given


def _recorded(config: str, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a request that a run.json has."""
    record = read_record(config)
    if record.get("verb", "fit") != "fit":
        raise click.UsageError(f"{config} is the record of mercer {record['verb']}, not of a fit.")
    found = {
        "method": record["method"],
        "seed": record.get("seed", 0),
        "jobs": record.get("jobs"),
        "device": record.get("device", "cpu"),
        "choice": {
            name: tuple(value) if isinstance(value, list) else value for name, value in record["choice"].items()
        },
        "table": _located(record["input"]["path"], config),
        "stream": record.get("stream"),
        "page": {name: value for name, value in record.get("page", {}).items() if name in PAGE_OPTIONS},
        "expected": {},
    }
    if given.get("method", found["method"]) == found["method"]:
        found["parameters"] = record["parameters"]
    for entry, name in ((record["input"], "table"), (record.get("second"), "second")):
        if entry:
            found[name] = _located(entry["path"], config)
            found["expected"][name] = entry["sha256"]
    places = {what: name for name, what in OUTPUTS.items()}
    found |= {places[entry["what"]]: entry["path"] for entry in record["outputs"] if entry["what"] in places}
    return found


def is_checkpoint(path: str) -> bool:
    """Whether a file is the checkpoint of a streamed fit, as its name says. Failure if it does not exist."""
    if not path.endswith(CHECKPOINT):
        return False
    if not Path(path).is_file():
        raise unsuitable(f"{path}: there is no such checkpoint. Leave out --resume to begin anew.")
    return True


def resumed_method(model: str) -> str:
    """The method of a model that --resume names; a failure if it does not take steps, or was saved from Python."""
    from mercer.cli.transform import open_model

    _, notes = open_model(model)
    name = notes.get("method")
    if name not in METHODS or not isinstance(notes.get("input"), dict) or not isinstance(notes.get("choice"), dict):
        raise unsuitable(f"{model} does not say how its table was read. Go on with it in Python: model.optimize(500).")
    if not METHODS[name].resumable:
        takers = ", ".join(each for each, method in METHODS.items() if method.resumable)
        raise unsuitable(
            f"{model} is a model of {METHODS[name].title}, which has no steps to go on with ({takers} have)."
        )
    return str(name)


def _resumed(model: str) -> dict[str, Any]:
    """The fields of a request that a model has."""
    from mercer.cli.transform import open_model

    method = resumed_method(model)
    estimator, notes = open_model(model)
    path, digest = notes["input"].get("path"), notes["input"].get("sha256")
    if not isinstance(path, str) or not isinstance(digest, str):
        raise unsuitable(f"{model} does not say which table it was fitted to.")
    choice = {name: tuple(value) if isinstance(value, list) else value for name, value in notes["choice"].items()}
    return {
        "method": method,
        "choice": choice,
        "table": _located(path, model),
        "expected": {"table": digest},
        "resume": model,
        "seed": estimator.random_state if isinstance(estimator.random_state, int) else 0,
        "jobs": estimator.n_jobs,
    }


def _located(path: str, config: str) -> str:
    """A recorded path: relative to this folder, or else to the folder of the record."""
    beside = Path(config).parent / path
    return str(beside) if path != STDOUT and not Path(path).exists() and beside.exists() else path


def _refuse(request: FitRequest, prints_record: bool, context: click.Context) -> None:
    method = METHODS.get(request.method)
    if method is not None:
        if request.second is not None and not method.takes_second:
            names = ", ".join(name for name, other in METHODS.items() if other.takes_second)
            raise click.UsageError(f"--second is for --method {names}, not for {request.method}.", context)
        missing = method.missing(label=bool(request.choice.get("label")), second=request.second is not None)
        if missing:
            raise click.UsageError(missing, context)
    for name in ("save", "report"):
        if getattr(request, name) == STDOUT:
            raise click.UsageError(f"--{name} needs the name of a file; only coordinates can go to stdout.", context)
    if prints_record and request.output == STDOUT:
        raise click.UsageError("--json and coordinates cannot both go to stdout. Name a file with -o.", context)
    if request.table == STDOUT and (request.second == STDOUT or sys.stdin.isatty()):
        raise click.UsageError("- reads one csv table from stdin. Pipe it in, or name a file.", context)
