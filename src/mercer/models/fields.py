"""The vocabulary in which a class declares what model files store of it: one line per field, in the class itself.

    class Cells:
        _saved = SavedRecord("Cells", {"centres": floats("c", "d"), "order": permutation("n"), …})

    class PCA(Estimator):
        _saved = SavedEstimator("PCA", {"n_features_in_": size("d"), "mean_": floats("d"), …})

`SavedRecord` is for objects that are rebuilt from the arguments of their constructor, `SavedEstimator` for estimators,
which have parameters and fitted attributes. The first argument is the name in files: it stays when the class is
renamed. A line maps an attribute to a check. Models are checked when they are saved and again when a file is read,
before any object is built from it, so nothing that a file claims is believed.

A check is called with a value and a `Scope`, which gives names to sizes: `floats("n", "k")` and `floats("k")` in one
object ask for the same k. A check raises `Mismatch`; its message continues a sentence that starts with the field.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, is_dataclass
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

LARGEST = 2**62  # beyond it sums of sizes could overflow 64 bits
FARTHEST = 1e12  # a map with larger coordinates has diverged


class Mismatch(ValueError):
    """A value is not what its declaration says."""


def require(holds: bool, message: str) -> None:
    """Raise Mismatch with this message unless the condition holds."""
    if not holds:
        raise Mismatch(message)


@dataclass
class Scope:
    """The named sizes of one object, and those of the objects it contains."""

    sizes: dict[str, int] = field(default_factory=dict)
    known: dict[int, tuple[str, dict[str, int]]] = field(default_factory=dict)  # id -> name in files, its sizes

    def bind(self, name: str | int, length: int) -> None:
        """Refuse a length that differs from the one its name got first; "k+1" is one more than k."""
        base, _, more = (name, "", "") if isinstance(name, int) else name.partition("+")
        extra = int(more or 0)
        wanted = base if isinstance(base, int) else self.sizes.setdefault(base, length - extra)
        require(wanted + extra == length and wanted >= 0, f"has a size of {length}, but {wanted + extra} is needed")


Check = Callable[[Any, Scope], None]
Parts = dict[str, Any]


# --- combinations --------------------------------------------------------------------------------------------


def anything(value: Any, scope: Scope) -> None:
    """Accept every value that a file can hold."""


def none(value: Any, scope: Scope) -> None:
    require(value is None, "must be None")


def either(*checks: Check) -> Check:
    """Accept what one of the checks accepts; the first that does binds the sizes."""

    def check(value: Any, scope: Scope) -> None:
        objections = []
        for one in checks:
            before = dict(scope.sizes)
            try:
                return one(value, scope)
            except Mismatch as mismatch:
                scope.sizes = before
                objections.append(str(mismatch))
        raise Mismatch(", or ".join(objections))

    return check


def optional(check: Check) -> Check:
    return either(none, check)


def tuple_of(*checks: Check) -> Check:
    """A tuple with one check per entry."""

    def check(value: Any, scope: Scope) -> None:
        require(isinstance(value, tuple) and len(value) == len(checks), f"must be a tuple of {len(checks)}")
        for one, entry in zip(checks, value, strict=True):
            one(entry, scope)

    return check


def list_of(check: Check) -> Check:
    def check_all(value: Any, scope: Scope) -> None:
        require(isinstance(value, list), f"must be a list, not {type(value).__name__}")
        for entry in value:
            check(entry, scope)

    return check_all


def mapping(**entries: Check | Line) -> Check:
    """A dictionary with text for keys, and these entries; it may have others."""
    lines = _as_lines(entries)

    def check(value: Any, scope: Scope) -> None:
        good = isinstance(value, dict) and all(isinstance(key, str) for key in value)
        require(good, f"must be a dictionary, not {type(value).__name__}")
        for name, line in lines.items():
            if name in value:
                check_field(name, line.check, value[name], scope)
            else:
                require(not line.needed, f"lacks {name}")

    return check


def instance_of(*names: str, **sizes: str | int) -> Check:
    """An object with one of these names in files, or of a family: "kernel" covers "kernel.RBF".

    sizes : the object's own size on the left, its name in the declaring object on the right
    """

    def check(value: Any, scope: Scope) -> None:
        name, own = scope.known.get(id(value), ("", {}))
        known = any(name == wanted or name.startswith(f"{wanted}.") for wanted in names)
        require(known, f"must be one of {', '.join(names)}, not {name or type(value).__name__}")
        for theirs, here in sizes.items():
            if theirs in own:
                scope.bind(here, own[theirs])

    return check


# --- numbers and text ----------------------------------------------------------------------------------------


def number(value: Any, scope: Scope) -> None:
    """A real number; infinity and NaN are allowed."""
    good = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    require(good, f"must be a number, not {type(value).__name__}")


def finite(value: Any, scope: Scope) -> None:
    number(value, scope)
    try:
        good = math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        good = False
    require(good, "must be finite")


def at_least(least: float) -> Check:
    """A number of at least `least`; infinity is allowed."""

    def check(value: Any, scope: Scope) -> None:
        number(value, scope)
        require(float(value) >= least, f"must be at least {least}")

    return check


def whole(least: int = 0, most: int = LARGEST) -> Check:
    """A whole number from `least` to `most`."""

    def check(value: Any, scope: Scope) -> None:
        good = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_)) and least <= int(value) <= most
        upper = f" and at most {most}" if most < LARGEST else ""
        require(good, f"must be a whole number of at least {least}{upper}")

    return check


def size(name: str, least: int = 0) -> Check:
    """A whole number that equals the size `name`."""

    def check(value: Any, scope: Scope) -> None:
        whole(least)(value, scope)
        scope.bind(name, int(value))

    return check


def flag(value: Any, scope: Scope) -> None:
    require(isinstance(value, (bool, np.bool_)), "must be true or false")


def text(value: Any, scope: Scope) -> None:
    require(isinstance(value, str), f"must be text, not {type(value).__name__}")


def one_of(*words: str) -> Check:
    return lambda value, scope: require(isinstance(value, str) and value in words, f"must be one of {', '.join(words)}")


THREADS = optional(whole(-(2**31), 2**31))  # n_jobs


# --- arrays --------------------------------------------------------------------------------------------------

_KINDS = {"f": "floats", "i": "integers", "u": "integers", "b": "booleans", "U": "text", "O": "strings"}


def _shaped(value: Any, kinds: str, shape: tuple[str | int, ...], scope: Scope) -> None:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        found = f"one of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        wanted = " or ".join(dict.fromkeys(_KINDS[kind] for kind in kinds))
        raise Mismatch(f"must be an array of {wanted}, not {found}")
    require(value.ndim == len(shape), f"must have {len(shape)} dimensions, not {value.ndim}")
    for name, length in zip(shape, value.shape, strict=True):
        scope.bind(name, length)


def floats(*shape: str | int, infinite: bool = False, positive: bool = False, most: float = np.inf) -> Check:
    """An array of float32 or float64. Finite unless `infinite=True`; `positive` and `most` add bounds."""

    def check(value: Any, scope: Scope) -> None:
        _shaped(value, "f", shape, scope)
        require(value.dtype.itemsize in (4, 8), f"must be float32 or float64, not {value.dtype}")
        require(infinite or _all_finite(value), "has entries that are infinite or NaN")
        require(not positive or bool(value.min(initial=np.inf) > 0), "has entries that are not positive")
        if most < np.inf:
            largest = max(float(value.max(initial=0.0)), -float(value.min(initial=0.0)))
            require(largest <= most, f"has entries beyond {most:g}")

    return check


def _all_finite(array: np.ndarray) -> bool:
    """Whether all entries are finite. A finite sum proves it without a mask as long as the array."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum(dtype=np.float64))) or bool(np.isfinite(array).all())


def integers(name: str, below: str | None = None, increasing: bool = False) -> Check:
    """(name,) integers ≥ 0, all less than the size `below`. Compiled code may use them as indexes."""

    def check(value: Any, scope: Scope) -> None:
        _shaped(value, "iu", (name,), scope)
        require(not value.size or int(value.min()) >= 0, "has negative entries")
        if below is not None and value.size:
            count, largest = scope.sizes[below], int(value.max())
            require(largest < count, f"has an entry of {largest}, and there are {count} rows")
        require(not increasing or bool(np.all(value[1:] > value[:-1])), "is not increasing")

    return check


def permutation(name: str) -> Check:
    """(name,) integers in which each of 0 … name − 1 occurs once."""

    def check(value: Any, scope: Scope) -> None:
        integers(name, below=name)(value, scope)
        once = bool(np.all(np.bincount(value, minlength=len(value)) == 1))
        require(once, "is not a permutation of the rows")

    return check


def offsets(name: str, total: str) -> Check:
    """(name + 1,) integers that rise from 0 to the size `total`: where each of `name` runs begins."""

    def check(value: Any, scope: Scope) -> None:
        _shaped(value, "iu", (f"{name}+1",), scope)
        rising = value[0] == 0 and value[-1] == scope.sizes[total] and bool(np.all(value[1:] >= value[:-1]))
        require(rising, f"does not rise from 0 to {scope.sizes[total]}")

    return check


def booleans(name: str) -> Check:
    return lambda value, scope: _shaped(value, "b", (name,), scope)


def class_labels(name: str) -> Check:
    """(name,) class labels: numbers, booleans or text."""
    return lambda value, scope: _shaped(value, "iufbUO", (name,), scope)


def strings(name: str) -> Check:
    return lambda value, scope: _shaped(value, "UO", (name,), scope)


def sparse(rows: str | int, columns: str | int, *, canonical: bool = False, infinite: bool = False) -> Check:
    """A CSR matrix of floats; canonical: sorted columns without duplicates.

    The reader has compared its indexes with its shape already.
    """

    def check(value: Any, scope: Scope) -> None:
        good = sp.issparse(value) and value.format == "csr"
        require(good, f"must be a CSR matrix, not {type(value).__name__}")
        floats("", infinite=infinite)(value.data, Scope())
        for name, length in zip((rows, columns), value.shape, strict=True):
            scope.bind(name, length)
        require(not canonical or value.has_canonical_format, "has columns out of order")

    return check


def samples(rows: str, columns: str, *, infinite: bool = False) -> Check:
    """Samples as estimators keep them: dense, CSR, or one string per sample, which counts as one column."""
    dense, csr = floats(rows, columns, infinite=infinite), sparse(rows, columns, infinite=infinite)

    def check(value: Any, scope: Scope) -> None:
        if sp.issparse(value):
            return csr(value, scope)
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            strings(rows)(value, scope)
            return scope.bind(columns, 1)
        return dense(value, scope)

    return check


# --- lines that say more than a check ------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One line of a declaration; a plain check stands for `Line(check)`.

    key : the field's name in files, if it differs from the attribute's
    needed : whether the field must be there
    stored : False for what a file leaves out
    derive : computes a field that is not stored from the restored object; AttributeError means it has no such field
    """

    check: Check = anything
    key: str | None = None
    needed: bool = True
    stored: bool = True
    derive: Callable[[Any], Any] | None = None


def if_set(check: Check) -> Line:
    """An attribute that some fits do not set, or that files of older versions do not have."""
    return Line(check, needed=False)


def under(key: str, check: Check) -> Line:
    """An attribute whose name in files is `key`: the attribute can then be renamed without a new format."""
    return Line(check, key=key)


def derived(compute: Callable[[Any], Any]) -> Line:
    """An attribute that follows from the others: not stored, and computed again when a file is read."""
    return Line(stored=False, needed=False, derive=compute)


def _as_lines(given: Mapping[str, Check | Line]) -> dict[str, Line]:
    return {name: line if isinstance(line, Line) else Line(line) for name, line in given.items()}


not_stored = Line(stored=False, needed=False)  # an attribute that only `fit` uses, or a cache


# --- declarations --------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Declaration:
    """What model files hold of one class (abstract). Creating the class registers the declaration.

    name : in files, for ever; a prefix such as "kernel." makes it one of a family
    given : attribute → check or `Line`
    also : what must hold between the fields beyond equal sizes; it gets them as attributes and raises Mismatch
    root : whether a file may hold this by itself
    shared : whether several parts of a model hold one such object, and must go on sharing it
    """

    name: str
    given: Mapping[str, Check | Line] = field(default_factory=dict)
    _: KW_ONLY
    also: Callable[[Any], None] | None = None
    root: bool = False
    shared: bool = False
    owner: type = field(init=False)  # the class

    advice: ClassVar[str] = "Fit it again, or delete what was added to it."  # ends the message when saving fails

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.owner = owner
        DECLARED[self.name] = _BY_CLASS[owner] = self

    def lines(self) -> dict[str, Line]:
        return _as_lines(self.given)

    def take_apart(self, value: Any) -> tuple[Parts, Parts]:
        """Parameters and fitted state, by attribute."""
        raise NotImplementedError

    def check(self, params: Parts, state: Parts, scope: Scope) -> None:
        """Raise Mismatch if parts are missing, unknown, or not what the lines say."""
        raise NotImplementedError

    def put_together(self, params: Parts, state: Parts) -> Any:
        """The object, from parts that were checked."""
        raise NotImplementedError

    def verify(self, value: Any, params: Parts, state: Parts) -> None:
        """Raise Mismatch, when saving, if an object rebuilt from these parts would behave differently from this one."""

    def keys(self) -> dict[str, str]:
        """The name in files of each attribute that is stored."""
        return {name: line.key or name for name, line in self.lines().items() if line.stored}


# The declarations of the modules imported so far.
DECLARED: dict[str, Declaration] = {}  # by name in files
_BY_CLASS: dict[type, Declaration] = {}


def declaration_of(value: Any) -> Declaration | None:
    """The declaration of an object's own class. A subclass does not inherit it, since it may hold and do anything."""
    return _BY_CLASS.get(type(value))


@dataclass(eq=False)
class SavedRecord(Declaration):
    """A class whose objects are rebuilt by the constructor, from the declared fields.

    The argument for the attribute `_whole` is `whole`, and so is its name in files. A dataclass need not list fields
    that are annotated as str, int, float or bool, or as one of these or None; those with a default may be missing in
    older files.

    parts : returns the constructor's arguments of an object, if they are not its attributes
    build : makes an object from the parts, if the constructor cannot
    """

    _: KW_ONLY
    parts: Callable[[Any], Parts] | None = None
    build: Callable[..., Any] | None = None

    def lines(self) -> dict[str, Line]:
        given = super().lines()
        if not is_dataclass(self.owner):
            return given
        return {
            each.name: given[each.name] if each.name in given else _plain_line(self.owner, each)
            for each in fields(self.owner)
            if each.init
        }

    def take_apart(self, value: Any) -> tuple[Parts, Parts]:
        if self.parts is not None:
            return self.parts(value), {}
        return {name: getattr(value, name) for name, line in self.lines().items() if line.stored}, {}

    def check(self, params: Parts, state: Parts, scope: Scope) -> None:
        require(not state, "it has a fitted state, and its kind has none")
        _check_lines(self.lines(), params, scope)
        if self.also is not None:
            self.also(SimpleNamespace(**params))

    def put_together(self, params: Parts, state: Parts) -> Any:
        make: Callable[..., Any] = self.build or self.owner
        return make(**{name.lstrip("_"): part for name, part in params.items()})

    def keys(self) -> dict[str, str]:
        return {name: key.lstrip("_") for name, key in super().keys().items()}


@dataclass(eq=False)
class SavedEstimator(Declaration):
    """An estimator: any parameters while it is not fitted, valid ones and the declared attributes once it is."""

    _: KW_ONLY
    root: bool = True

    def take_apart(self, value: Any) -> tuple[Parts, Parts]:
        params = value.get_params(deep=False)
        left_out = {name for name, line in self.lines().items() if not line.stored}
        return params, {k: part for k, part in vars(value).items() if k not in params and k not in left_out}

    def check(self, params: Parts, state: Parts, scope: Scope) -> None:
        known = inspect.signature(self.owner).parameters
        refuse_unknown(self.owner, params)
        fitted = {name: part for name, part in state.items() if name not in _CONFIG}
        for name in set(state) & set(_CONFIG):
            _CONFIG[name](state[name], scope)
        if fitted:
            _check_lines(self.lines(), fitted, scope)
            if self.also is not None:
                defaults = {name: parameter.default for name, parameter in known.items()}
                self.also(SimpleNamespace(**defaults | params | fitted))

    def put_together(self, params: Parts, state: Parts) -> Any:
        value = self.owner(**params)
        if set(state) - set(_CONFIG):
            value._validate_params()  # scikit-learn's own, with the class's constraints
        vars(value).update(state)
        for name, line in self.lines().items() if set(state) - set(_CONFIG) else ():
            if line.derive is not None:
                try:
                    setattr(value, name, line.derive(value))
                except AttributeError:  # this model does not have it
                    continue
        return value


def refuse_unknown(cls: type, params: Parts) -> None:
    """Raise Mismatch if the constructor of a class does not have these parameters."""
    unknown = set(params) - set(inspect.signature(cls).parameters)
    require(not unknown, f"{_first(unknown)} is not one of its parameters")


def check_field(name: str, check: Check, value: Any, scope: Scope) -> None:
    """Run a check, with the name of the field before its message."""
    try:
        check(value, scope)
    except Mismatch as mismatch:
        raise Mismatch(f"{name} {mismatch}") from mismatch


def _check_lines(lines: dict[str, Line], parts: Parts, scope: Scope) -> None:
    stored = {name: line for name, line in lines.items() if line.stored}
    unknown, missing = set(parts) - set(stored), {name for name, line in stored.items() if line.needed} - set(parts)
    require(not unknown, f"it has {_first(unknown)}, which its kind does not have")
    require(not missing, f"{_first(missing)} is missing")
    for name, line in stored.items():
        if name in parts:
            check_field(name, line.check, parts[name], scope)


def _first(names: set[str]) -> str:
    return repr(min(names, default="")[:60])


_PLAIN: dict[str, Check] = {"str": text, "int": whole(-LARGEST), "float": number, "bool": flag}


def _plain_line(owner: type, each: Any) -> Line:
    """The line of a dataclass's field that is annotated with a plain type."""
    words = [part.strip() for part in str(getattr(each.type, "__name__", each.type)).split("|")]
    if not set(words) <= {*_PLAIN, "None"}:
        raise TypeError(f"{owner.__name__}.{each.name} is a {each.type}: add a line for it to {owner.__name__}._saved.")
    has_default = each.default is not MISSING or each.default_factory is not MISSING
    return Line(either(*(none if word == "None" else _PLAIN[word] for word in words)), needed=not has_default)


def _output_config(value: Any, scope: Scope) -> None:
    require(isinstance(value, dict) and set(value) <= {"transform"}, "must say what transform gives")
    for kind in value.values():
        one_of("default", "pandas", "polars")(kind, scope)


_CONFIG: dict[str, Check] = {"_sklearn_output_config": _output_config}  # what set_output leaves, fitted or not

INPUT: dict[str, Check | Line] = {"n_features_in_": size("d"), "feature_names_in_": if_set(strings("d"))}
