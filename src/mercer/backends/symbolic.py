"""A backend whose arrays are formulas: it records what a kernel's tile computes from a pair of rows.

    trace(kernel.tile, A, B) -> Formula

`trace` calls the tile with points whose rows and norms are symbols. Products, distances and the profile then leave
statements such as `v3 = tl.exp(v2)` instead of numbers, and `triton_products` makes one GPU kernel of them. So whatever
a kernel does with the array namespace that it is given can be fused, also in a kernel that a user wrote. A kernel that
uses anything else has no formula, and its tiles are computed as arrays.

Rows i run along the first axis and rows j along the second. A symbol is a number per pair, per row i or per row j.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from mercer.backends import register_backend
from mercer.backends.generic import TILE, buffer, for_each, free_bytes, one_thread, workers

__all__ = [
    "FUSED",
    "TILE",
    "Formula",
    "NotTraceable",
    "Reading",
    "Statement",
    "Vector",
    "buffer",
    "coordinatewise",
    "dot",
    "for_each",
    "free_bytes",
    "mirrored",
    "one_thread",
    "product",
    "refine_near",
    "set_diagonal",
    "sqeuclidean",
    "sqeuclidean_direct",
    "trace",
    "workers",
]

FUSED: dict[str, Callable[..., Any]] = {}
_LARGEST_POWER = 32  # whole exponents up to here are products, which have no error of their own


class NotTraceable(Exception):
    """The kernel does something that has no formula here."""


@dataclass
class Reading:
    """A number that is computed from the coordinates of two rows.

    name : "dot", "sqeuclidean" by ‖a‖² + ‖b‖² − 2⟨a, b⟩, or a sum over coordinates: "direct" (of squares),
        "manhattan", "intersection", "matches", "chi2"
    near : squared distances below this share of ‖a‖² + ‖b‖² are summed coordinate by coordinate; 0 if none are
    """

    name: str
    rows: Any
    columns: Any
    near: float = 0.0

    @property
    def by_product(self) -> bool:
        """Whether matrix units can compute it."""
        return self.name in ("dot", "sqeuclidean")


@dataclass(frozen=True)
class Vector:
    """A number per row that a formula reads."""

    values: Any
    by_row: bool  # of the rows i, or else of the rows j


@dataclass(frozen=True)
class Statement:
    """name = text; on the diagonal of a symmetric matrix name = diagonal, if that differs."""

    name: str
    text: str
    per: str  # "row", "column" or "pair"
    diagonal: str = ""


@dataclass
class Formula:
    """k(xᵢ, yⱼ) as statements, and what they read. `result` is the name of the entry."""

    readings: list[Reading] = field(default_factory=list)
    norms: list[tuple[Any, Any]] = field(default_factory=list)  # of each reading: ‖a‖² and ‖b‖², or two None
    vectors: list[Vector] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    result: str = ""
    symmetric: bool = False

    def constant(self, value: float) -> str:
        """A number that may differ from kernel to kernel without another compilation, such as gamma."""
        for place, known in enumerate(self.constants):
            if known == value and math.copysign(1, known) == math.copysign(1, value):
                return f"c{place}"
        self.constants.append(value)
        return f"c{len(self.constants) - 1}"

    def say(self, text: str, per: str, diagonal: str = "") -> Symbol:
        for known in self.statements:
            if known.text == text and known.per == per and known.diagonal == diagonal:
                return Symbol(self, known.name, per)
        name = f"v{len(self.statements)}"
        self.statements.append(Statement(name, text, per, diagonal))
        return Symbol(self, name, per)

    def vector(self, values: Any, by_row: bool) -> Symbol:
        known = [v.values is values and v.by_row == by_row for v in self.vectors]
        if True not in known:
            self.vectors.append(Vector(values, by_row))
            known.append(True)
        return Symbol(self, f"n{known.index(True)}", "row" if by_row else "column")

    def reading(self, name: str, A: Any, B: Any, norms: tuple[Any, Any] = (None, None)) -> Symbol:
        if not (isinstance(A, SymbolicRows) and isinstance(B, SymbolicRows)):
            raise NotTraceable(f"{name} of something that is not the rows")
        for place, known in enumerate(self.readings):
            if known.name == name and known.rows is A.values and known.columns is B.values and not known.near:
                return Symbol(self, f"r{place}", "pair")
        self.readings.append(Reading(name, A.values, B.values))
        self.norms.append(tuple(None if part is None else part.values for part in norms))  # type: ignore[arg-type]
        return Symbol(self, f"r{len(self.readings) - 1}", "pair")


class _Array:
    """What `namespace` and `is_foreign` ask of an array."""

    __array_ufunc__ = None  # NumPy's functions refuse it, so that a kernel which calls them is not traced
    device = "symbols"

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return _FUNCTIONS

    def __bool__(self) -> bool:
        raise NotTraceable("a decision that depends on the data")


class Symbol(_Array):
    """A number per pair, row or column: the name of a statement."""

    def __init__(self, formula: Formula, name: str, per: str) -> None:
        self.formula, self.name, self.per = formula, name, per

    def _with(self, pattern: str, other: Any, flipped: bool = False) -> Symbol:
        text, per = _operand(self.formula, other)
        left, right = (text, self.name) if flipped else (self.name, text)
        return self.formula.say(pattern.format(left, right), _joined(self.per, per))

    def __add__(self, other: Any) -> Symbol:
        return self._with("{} + {}", other)

    def __radd__(self, other: Any) -> Symbol:
        return self._with("{} + {}", other, True)

    def __sub__(self, other: Any) -> Symbol:
        return self._with("{} - {}", other)

    def __rsub__(self, other: Any) -> Symbol:
        return self._with("{} - {}", other, True)

    def __mul__(self, other: Any) -> Symbol:
        return self._with("{} * {}", other)

    def __rmul__(self, other: Any) -> Symbol:
        return self._with("{} * {}", other, True)

    def __truediv__(self, other: Any) -> Symbol:
        return self._with("{} / {}", other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._with("{} / {}", other, True)

    def __neg__(self) -> Symbol:
        return self.formula.say(f"-{self.name}", self.per)

    def __abs__(self) -> Symbol:
        return self.formula.say(f"tl.abs({self.name})", self.per)

    def __lt__(self, other: Any) -> Symbol:
        return self._with("{} < {}", other)

    def __le__(self, other: Any) -> Symbol:
        return self._with("{} <= {}", other)

    def __gt__(self, other: Any) -> Symbol:
        return self._with("{} > {}", other)

    def __ge__(self, other: Any) -> Symbol:
        return self._with("{} >= {}", other)

    def __eq__(self, other: Any) -> Symbol:  # type: ignore[override]
        return self._with("{} == {}", other)

    def __ne__(self, other: Any) -> Symbol:  # type: ignore[override]
        return self._with("{} != {}", other)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Any) -> Symbol:
        return self._with("{} & {}", other)

    def __or__(self, other: Any) -> Symbol:
        return self._with("{} | {}", other)

    def __invert__(self) -> Symbol:
        return self.formula.say(f"{self.name} == 0", self.per)

    def __pow__(self, exponent: Any) -> Symbol:
        if isinstance(exponent, Symbol):
            raise NotTraceable("an exponent that depends on the data")
        exponent = float(exponent)
        if exponent < 0:
            return 1 / self**-exponent
        whole = int(exponent)
        if exponent == whole and whole <= _LARGEST_POWER:
            return self._whole_power(whole)
        if 2 * exponent == int(2 * exponent) and whole <= _LARGEST_POWER:
            return self._whole_power(whole) * _FUNCTIONS.sqrt(self) if whole else _FUNCTIONS.sqrt(self)
        return _FUNCTIONS.exp(exponent * _FUNCTIONS.log(self))

    def _whole_power(self, exponent: int) -> Symbol:
        if exponent == 0:
            return _FUNCTIONS.ones_like(self)
        half = self if exponent == 1 else self._whole_power(exponent // 2)
        if exponent == 1:
            return half
        return half * half * self if exponent % 2 else half * half

    def __rpow__(self, base: Any) -> Symbol:
        return _FUNCTIONS.exp(self * math.log(float(base)))

    def __getitem__(self, key: Any) -> Symbol:
        if key in (slice(None), ..., (slice(None), slice(None))) or (self.per == "row" and key == (slice(None), None)):
            return self
        raise NotTraceable(f"an entry {key}")


class SymbolicVector(Symbol):
    """A number per row, of the rows i unless it is turned into a row: `[None, :]`."""

    def __init__(self, formula: Formula, values: Any) -> None:
        self.formula, self.values, self.per, self.shape = formula, values, "row", values.shape

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.formula.vector(self.values, True).name

    def __getitem__(self, key: Any) -> Symbol:
        if key in (slice(None), ...):
            return self
        if key == (slice(None), None):
            return self.formula.vector(self.values, True)
        if key == (None, slice(None)):
            return self.formula.vector(self.values, False)
        raise NotTraceable(f"an entry {key}")


class SymbolicRows(_Array):
    """The prepared rows of points."""

    def __init__(self, formula: Formula, values: Any) -> None:
        self.formula, self.values, self.shape, self.dtype = formula, values, values.shape, values.dtype

    def __add__(self, other: Any) -> Symbol:
        """Rows of one column are a number per row, as in the tile of a constant kernel."""
        return self._column(True) + (other._column(False) if isinstance(other, SymbolicRows) else other)

    @property
    def T(self) -> Symbol:
        return self._column(False)

    def _column(self, by_row: bool) -> Symbol:
        if self.shape[1] != 1:
            raise NotTraceable("rows as a matrix")
        return self.formula.vector(self.values[:, 0], by_row)


class _Functions:
    """The namespace of symbols: what a profile may call."""

    __name__ = __name__  # array_api_compat asks for the name of a namespace
    float32, float64 = "float32", "float64"
    pi, inf, nan, e = math.pi, math.inf, math.nan, math.e

    @staticmethod
    def exp(x: Symbol) -> Symbol:
        return _call("tl.exp", x)

    @staticmethod
    def log(x: Symbol) -> Symbol:
        return _call("tl.log", x)

    @staticmethod
    def sqrt(x: Symbol) -> Symbol:
        return _call("tl.sqrt", x)

    @staticmethod
    def sin(x: Symbol) -> Symbol:
        return _call("tl.sin", x)

    @staticmethod
    def cos(x: Symbol) -> Symbol:
        return _call("tl.cos", x)

    @staticmethod
    def abs(x: Symbol) -> Symbol:
        return abs(x)

    @staticmethod
    def square(x: Symbol) -> Symbol:
        return x * x

    @staticmethod
    def pow(x: Symbol, exponent: float) -> Symbol:
        return x**exponent

    @staticmethod
    def where(condition: Symbol, x: Any, y: Any) -> Symbol:
        formula = condition.formula
        texts, per = [], condition.per
        for part in (x, y):
            text, own = _operand(formula, part, literal=False)
            texts.append(text)
            per = _joined(per, own)
        return formula.say(f"tl.where({condition.name}, {texts[0]}, {texts[1]})", per)

    @staticmethod
    def maximum(x: Any, y: Any) -> Symbol:
        return _pairwise("tl.maximum", x, y)

    @staticmethod
    def minimum(x: Any, y: Any) -> Symbol:
        return _pairwise("tl.minimum", x, y)

    def clip(self, x: Symbol, min: Any = None, max: Any = None) -> Symbol:
        x = x if min is None else self.maximum(x, min)
        return x if max is None else self.minimum(x, max)

    @staticmethod
    def isfinite(x: Symbol) -> Symbol:
        return abs(x) < math.inf

    @staticmethod
    def full_like(x: Symbol, value: float) -> Symbol:
        return x * 0 + value

    @staticmethod
    def zeros_like(x: Symbol) -> Symbol:
        return x * 0

    @staticmethod
    def ones_like(x: Symbol) -> Symbol:
        return x * 0 + 1

    @staticmethod
    def astype(x: Symbol, dtype: Any, copy: bool = True) -> Symbol:
        return x

    @staticmethod
    def sum(x: Any, axis: int | None = None) -> Symbol:
        """Σ over the coordinates of each row."""
        if not isinstance(x, SymbolicRows) or axis not in (1, -1):
            raise NotTraceable("a sum over pairs")
        return SymbolicVector(x.formula, x.values.sum(axis=1))

    def tanh(self, x: Symbol) -> Symbol:
        """By exp, which loses no digits from |x| = 1/2 on, and by a continued fraction, right to 1e-16 below."""
        size, square = abs(x), x * x
        decay = self.exp(-2 * size)
        large = (1 - decay) / (1 + decay)
        above = ((square + 378) * square + 17325) * square + 135135
        below = ((28 * square + 3150) * square + 62370) * square + 135135
        return self.where(size < 0.5, x * above / below, self.where(x < 0, -large, large))

    def acos(self, x: Symbol) -> Symbol:
        """arccos from the series of arcsin on |x| ≤ 1/2, by the rational approximation of fdlibm."""
        size = abs(x)
        small = size <= 0.5
        z = self.where(small, x * x, (1 - size) * 0.5)
        above, below = z * 0 + _ASIN_ABOVE[0], z * 0 + _ASIN_BELOW[0]
        for p in _ASIN_ABOVE[1:]:
            above = above * z + p
        for q in _ASIN_BELOW[1:]:
            below = below * z + q
        share = z * above / below  # (arcsin y − y)/y for y² = z
        root = self.sqrt(z)
        inner = math.pi / 2 - (x + x * share)
        outer = 2 * (root + root * share)
        return self.where(small, inner, self.where(x < 0, math.pi - outer, outer))


# Coefficients of fdlibm's e_acos.c, highest power first; the error is below one unit in the last place of float64.
_ASIN_ABOVE = (
    3.47933107596021167570e-05,
    7.91534994289814532176e-04,
    -4.00555345006794114027e-02,
    2.01212532134862925881e-01,
    -3.25565818622400915405e-01,
    1.66666666666666657415e-01,
)
_ASIN_BELOW = (
    7.70381505559019352791e-02,
    -6.88283971605453293030e-01,
    2.02094576023350569471e00,
    -2.40339491173441421878e00,
    1.0,
)
_FUNCTIONS = _Functions()


def _call(function: str, x: Symbol) -> Symbol:
    if not isinstance(x, Symbol):
        raise NotTraceable(f"{function} of {type(x).__name__}")
    return x.formula.say(f"{function}({x.name})", x.per)


def _pairwise(function: str, x: Any, y: Any) -> Symbol:
    known = x if isinstance(x, Symbol) else y
    (a, of_a), (b, of_b) = (_operand(known.formula, part, literal=False) for part in (x, y))
    return known.formula.say(f"{function}({a}, {b})", _joined(of_a, of_b))


def _operand(formula: Formula, value: Any, literal: bool = True) -> tuple[str, str]:
    """(text, per) of an operand. Whole numbers that the code contains are literals, and all others are constants."""
    if isinstance(value, Symbol):
        return value.name, value.per
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NotTraceable(f"an operand of type {type(value).__name__}")
    if literal and isinstance(value, int) and abs(value) < 2**24:  # up to there float32 holds it exactly
        return f"{value}" if value >= 0 else f"({value})", ""
    return formula.constant(float(value)), ""


def _joined(first: str, second: str) -> str:
    if not first or not second or first == second:
        return first or second
    return "pair"


# --- the backend ------------------------------------------------------------------------------------------


def product(M: Any, V: Any) -> Any:
    raise NotTraceable("a product with a stored matrix")


def dot(A: Any, B: Any, out: Any = None) -> Symbol:
    return A.formula.reading("dot", A, B)


def sqeuclidean(A: Any, aa: Any, B: Any, bb: Any, out: Any = None, entries: int = 0) -> Symbol:
    return A.formula.reading("sqeuclidean", A, B, (aa, bb))


def sqeuclidean_direct(A: Any, B: Any) -> Symbol:
    return A.formula.reading("direct", A, B)


def refine_near(D: Symbol, A: Any, aa: Any, B: Any, bb: Any, near: float) -> Symbol:
    D.formula.readings[int(D.name[1:])].near = near
    return D


def coordinatewise(name: str, A: Any, B: Any, out: Any = None, entries: int = 0) -> Symbol:
    return A.formula.reading("direct" if name == "sqeuclidean" else name, A, B)


def mirrored(t: Symbol, entries: Callable[[Any, slice, slice], Any]) -> Any:
    return entries(t, slice(None), slice(None))


def set_diagonal(K: Symbol, values: Any) -> Symbol:
    text, per = _operand(K.formula, values, literal=False)
    if per not in ("", "row"):
        raise NotTraceable("a diagonal that is not a number per row")
    return K.formula.say(K.name, "pair", f"tl.where(same, {text}, {K.name})")


register_backend(lambda X: isinstance(X, _Array), __import__("sys").modules[__name__])


def trace(tile: Callable[..., Any], A: Any, B: Any = None) -> Formula | None:
    """The formula of tile(A, B), or of the symmetric tile(A); None if it has none.

    A, B : `Points`, whose rows and norms are replaced by symbols; the formula holds their arrays.
    """
    formula = Formula(symmetric=B is None)
    try:
        found = tile(_symbolic(formula, A), None if B is None else _symbolic(formula, B))
        if isinstance(found, Symbol) and found.per != "pair":
            found = formula.say(f"tl.zeros((BM, BN), REAL) + {found.name}", "pair")
    except Exception:  # whatever a kernel tried to do with a symbol, it cannot be fused
        return None
    if not isinstance(found, Symbol):
        return None
    formula.result = found.name
    return formula


def _symbolic(formula: Formula, points: Any) -> Any:
    return replace(
        points,
        rows=None if points.rows is None else SymbolicRows(formula, points.rows),
        norms=None if points.norms is None else SymbolicVector(formula, points.norms),
        parts=tuple(_symbolic(formula, part) for part in points.parts),
    )
