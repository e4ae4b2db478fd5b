"""What a fit was asked for: the options, and what a run.json says where they say nothing."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mercer.cli.outputs import STDOUT
from mercer.cli.record import read_record

OUTPUTS = {"output": "coordinates", "save": "model", "report": "page"}


@dataclass(frozen=True)
class Request:
    """parameters : of the estimator, where they differ from the command's defaults
    choice : fields of `mercer.tables.table.Choice`
    expected : path -> sha256 that a recorded run had
    """

    table: str
    method: str
    second: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    choice: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    jobs: int | None = None
    output: str | None = None
    save: str | None = None
    report: str | None = None
    expected: dict[str, str] = field(default_factory=dict)
    strict: bool = False

    @classmethod
    def of(
        cls, context: click.Context, parameters: dict[str, Any], choice: dict[str, Any], options: dict[str, Any]
    ) -> Request:
        given = {
            name: options[name]
            for name in ("table", "second", "method", "seed", "jobs", "output", "save", "report", "strict")
            if context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        }
        then = _recorded(options["config"], given) if options["config"] else {}
        if "table" not in given and "table" not in then:
            raise click.UsageError("a table is needed, a file or - for csv on stdin", context)
        if any(name in given for name in OUTPUTS):
            then = {name: value for name, value in then.items() if name not in OUTPUTS}
        merged = {"method": options["method"], "seed": options["seed"]} | then | given
        merged["parameters"] = _consistent(then.get("parameters", {}) | parameters, parameters)
        merged["choice"] = then.get("choice", {}) | choice
        request = cls(**merged)
        if not any((request.output, request.save, request.report)):
            request = cls(**merged | {"output": STDOUT})
        _refuse(request, options["as_json"] and not options["dry_run"], context)
        return request

    @property
    def inputs(self) -> list[str]:
        return [path for path in (self.table, self.second) if path is not None]

    @property
    def files(self) -> dict[str, str]:
        """What -> path, of what is to be written."""
        return {what: getattr(self, name) for name, what in OUTPUTS.items() if getattr(self, name) is not None}


def _recorded(config: str, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a request as a run.json has them."""
    record = read_record(config)
    if record.get("verb", "fit") != "fit":
        raise click.UsageError(f"{config} is the record of mercer {record['verb']}, not of a fit")
    found = {
        "method": record["method"],
        "seed": record.get("seed", 0),
        "jobs": record.get("jobs"),
        "choice": {name: _listed(value) for name, value in record["choice"].items()},
        "table": _found(record["input"]["path"], config),
        "expected": {},
    }
    if given.get("method", found["method"]) == found["method"]:
        found["parameters"] = record["parameters"]
    for entry, name in ((record["input"], "table"), (record.get("second"), "second")):
        if entry:
            found[name] = _found(entry["path"], config)
            found["expected"][name] = entry["sha256"]
    places = {what: name for name, what in OUTPUTS.items()}
    found |= {places[entry["what"]]: entry["path"] for entry in record["outputs"] if entry["what"] in places}
    return found


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _found(path: str, config: str) -> str:
    """A recorded path: from here, or from where the record is."""
    beside = Path(config).parent / path
    return str(beside) if path != STDOUT and not Path(path).exists() and beside.exists() else path


def _consistent(parameters: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """A radius stands for a number of neighbours, so one that is given ends the other."""
    if given.get("radius") is not None and "n_neighbors" not in given:
        return parameters | {"n_neighbors": None}
    return parameters


def _refuse(request: Request, as_json: bool, context: click.Context) -> None:
    if request.second is not None and request.method not in ("kcca", "auto"):
        raise click.UsageError(f"--second is for --method kcca, not for {request.method}", context)
    if request.second is None and request.method == "kcca":
        raise click.UsageError("--method kcca compares two tables: name the other with --second", context)
    if request.method == "kda" and not request.choice.get("label"):
        raise click.UsageError("--method kda separates classes: name their column with --label", context)
    for name in ("save", "report"):
        if getattr(request, name) == STDOUT:
            raise click.UsageError(f"--{name} needs the name of a file: stdout is for coordinates", context)
    if as_json and request.output == STDOUT:
        raise click.UsageError("--json and coordinates cannot both go to stdout: name a file with -o", context)
    if request.table == STDOUT and (request.second == STDOUT or sys.stdin.isatty()):
        raise click.UsageError("- is csv on stdin, for one table: pipe it in, or name a file", context)
