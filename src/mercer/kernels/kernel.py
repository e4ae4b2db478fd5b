"""Kernel: a value object that fills tiles of its Gram matrix, and the algebra that makes new kernels of old ones.

A kernel goes through three steps. The first two do once what depends on the data, so that a tile is only arithmetic:

    bind(X)            parameters such as gamma="median" become numbers
    points(X, …)       rows are prepared: shifted, their norms computed, their words counted
    tile(A, B)         the matrix of k(a, b) for two slices of prepared rows

A new vector kernel is one class with `reads` and `profile` (see `VectorKernel`). It then works streamed, low-rank and
on the GPU like every other kernel.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from mercer.amounts import amount
from mercer.backends import is_foreign, namespace, placement
from mercer.kernels.kernel_fields import KERNEL, per_column
from mercer.models.fields import SavedRecord, anything, finite
from mercer.numeric_input import refuse_not_numeric, sorted_columns


@dataclass(frozen=True)
class Points:
    """n samples prepared for one kernel. Slices and selections carry everything that belongs to their rows.

    >>> from mercer.kernels import RBF
    >>> points = RBF(gamma=1.0).points(np.array([[0.0], [1.0], [2.0]]))
    >>> len(points), len(points[:2])
    (3, 2)
    """

    rows: Any  # (n, d), dense or CSR; None for a composite, whose parts hold the rows
    norms: Any = None  # (n,), one number per row that the kernel needs, such as ‖x‖²
    parts: tuple[Points, ...] = ()  # the points of a composite's inner kernels
    context: Any = None  # what later points must share with these: a shift, a vocabulary
    cut_from: int = 0  # the number of points that these are a slice of; 0 if nothing was cut away

    def __len__(self) -> int:
        return len(self.parts[0]) if self.rows is None else self.rows.shape[0]

    def __getitem__(self, run: slice) -> Points:
        """The points of a slice."""
        return self._select(lambda a: a[run, ...] if is_foreign(a) else a[run])

    def take(self, index: Any) -> Points:
        """The points at the given positions, as a set of their own: what is done with them is the whole job."""

        def pick(a: Any) -> Any:
            return namespace(a).take(a, index, axis=0) if is_foreign(a) else a[index]

        return self._select(pick)._uncut()

    def astype(self, dtype: Any) -> Points:
        """The points in another precision."""
        return replace(self._select(lambda a: namespace(a).astype(a, dtype)), cut_from=self.cut_from)

    @property
    def all_told(self) -> int:
        """The number of points before any were cut away: the size of the whole job."""
        return self.cut_from or len(self)

    def is_finite(self) -> bool:
        """Whether all rows and norms are finite, that is, nothing has overflowed."""
        if not all(part.is_finite() for part in self.parts):
            return False
        held = [self.rows.data if sp.issparse(self.rows) else self.rows, self.norms]
        return all(a is None or bool(namespace(a).all(namespace(a).isfinite(a))) for a in held)

    def _select(self, pick: Any) -> Points:
        return replace(
            self,
            cut_from=self.cut_from or len(self),
            rows=None if self.rows is None else pick(self.rows),
            norms=None if self.norms is None else pick(self.norms),
            parts=tuple(part._select(pick) for part in self.parts),
        )

    def _uncut(self) -> Points:
        return replace(self, cut_from=0, parts=tuple(part._uncut() for part in self.parts))


class Kernel(ABC):
    """A kernel k(x, y) = ⟨φ(x), φ(y)⟩, its parameters as attributes, and the operators +, *, ** (abstract).

    A call with rows (m, d) and (n, d) gives the matrix of k, (m, n).

    >>> from mercer.kernels import RBF, Linear
    >>> kernel = RBF(gamma=0.5) + 0.1 * Linear()
    >>> round(float(kernel([[0.0, 0.0]], [[0.0, 0.0]])[0, 0]), 6)
    1.0
    """

    accepts = "vectors"  # or "strings", or "indices" for a precomputed Gram matrix

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        # @dataclass adds __eq__ and then removes an inherited __hash__, but keeps one that the class itself has.
        cls.__hash__ = Kernel.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        """A hash of type and parameters. Do not change the parameters of a kernel that is in a set or a dict."""
        return hash((type(self), tuple(_frozen(getattr(self, f.name)) for f in fields(self))))  # type: ignore[arg-type]

    @property
    def quick(self) -> bool:
        """Whether a tile costs little more than one matrix product."""
        return False

    # --- what a kernel defines -------------------------------------------------------------------------

    def bind(self, X: Any) -> Kernel:
        """This kernel, with a number in place of every parameter that depends on the data."""
        return self

    def centered_form(self, X: Any) -> Kernel:
        """A kernel with the same HKH and less rounding, if one is known; otherwise this kernel."""
        return self

    def with_names(self, names: Sequence[Any]) -> Kernel:
        """This kernel with column names, as in `on(["age"])`, replaced by column numbers."""
        return self

    def rounding(self, points: Points) -> float:
        """A bound on the rounding error of a tile's entries, beyond a few units in the last place."""
        return 0.0

    @abstractmethod
    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        """The rows of X, prepared for tiles in `dtype`. `like` holds the points that they will be compared with."""

    @abstractmethod
    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        """The matrix k(a, b), (m, n); without B the symmetric matrix k(a, a'). May write to `out` and return it."""

    @abstractmethod
    def diagonal(self, A: Points) -> Any:
        """k(a, a) for each row, (m,)."""

    # --- what follows from it --------------------------------------------------------------------------

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """The whole matrix of k(x, y) over the rows of X and Y, for small data."""
        names = getattr(X, "columns", None)
        X = self._plain(X)
        kernel = (self if names is None else self.with_names(list(names))).bind(X)
        A = kernel.points(X)
        return kernel.tile(A, None if Y is None else kernel.points(self._plain(Y), like=A))

    def _plain(self, X: Any) -> Any:
        if is_foreign(X) or self.accepts != "vectors":
            return X
        refuse_not_numeric(X)
        return check_array(sorted_columns(X), accept_sparse="csr", dtype=(np.float64, np.float32))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with deep=True also those of inner kernels, as `left__gamma`."""
        params: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = params[field.name] = getattr(self, field.name)
            if deep and isinstance(value, Kernel):
                params |= {f"{field.name}__{name}": inner for name, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Kernel:
        """Set parameters by name, inner ones as `left__gamma`. An unknown name raises ValueError."""
        known = [field.name for field in fields(self)]  # type: ignore[arg-type]
        for name, value in params.items():
            head, _, rest = name.partition("__")
            if head not in known:
                raise ValueError(
                    f"{self!r} has no parameter {name!r}; its parameters are: {', '.join(known) or 'none'}."
                )
            if rest:
                getattr(self, head).set_params(**{rest: value})
            else:
                setattr(self, head, value)
        return self

    def __repr__(self) -> str:
        inside = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({inside})"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum(self, as_operand(other))

    __radd__ = __add__

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Kernel:
        return Power(self, exponent)

    def on(self, columns: Any) -> Kernel:
        """This kernel on some columns only: k(x[columns], y[columns]). Give numbers, or names for a data frame."""
        return OnColumns(self, columns)

    def weighted(self, weights: Any) -> Kernel:
        """This kernel after each column is multiplied by its weight: k(w∘x, w∘y)."""
        return WeightedColumns(self, tuple(np.asarray(weights, np.float64).ravel().tolist()))

    def normalized(self) -> Kernel:
        """k(x, y) / √(k(x, x) k(y, y)): every point has length one in feature space."""
        return Normalized(self)


def _frozen(value: Any) -> Any:
    """A hashable stand-in that is equal for equal values: for an unhashable value of unknown kind, its type."""
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return frozenset((key, _frozen(entry)) for key, entry in value.items())
    if isinstance(value, slice):  # not hashable before Python 3.12
        return value.start, value.stop, value.step
    try:
        hash(value)
    except TypeError:
        return type(value)
    return value


def simple_kernels(kernel: Kernel) -> list[Kernel]:
    """The simple kernels that a composite is made of, however deep; for a simple kernel, the kernel itself."""
    if not isinstance(kernel, Composite):
        return [kernel]
    return [simple for inner in kernel.inner_kernels() for simple in simple_kernels(inner)]


def needs_compiled_code(kernel: Kernel) -> bool:
    """Whether compiled loops compute large tiles of the kernel, as they do for distances and sums over columns."""
    return any(not getattr(leaf, "reads", "dot").startswith("dot") for leaf in simple_kernels(kernel))


def as_operand(value: Kernel | float) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, (int, float, np.number)):
        return Constant(float(value))
    raise TypeError(f"A kernel can be combined with a kernel or a number, not with {type(value).__name__}.")


def _needs_non_negative(value: float, what: str) -> float:
    if not value >= 0 or value == float("inf"):
        raise ValueError(
            f"{what} must be a finite number ≥ 0, so that the kernel stays positive semidefinite; it is {value}."
        )
    return float(value)


def _count(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


class Composite(Kernel):
    """A kernel made of one or two inner kernels (abstract). Its points hold theirs, side by side."""

    def inner_kernels(self) -> tuple[Kernel, ...]:
        return tuple(v for f in fields(self) if isinstance(v := getattr(self, f.name), Kernel))  # type: ignore[arg-type]

    @property
    def accepts(self) -> str:  # type: ignore[override]
        return self.inner_kernels()[0].accepts

    def bind(self, X: Any) -> Kernel:
        bound = {
            f.name: getattr(self, f.name).bind(X)
            for f in fields(self)  # type: ignore[arg-type]
            if isinstance(getattr(self, f.name), Kernel)
        }
        return replace(self, **bound)  # type: ignore[type-var]

    def with_names(self, names: Sequence[Any]) -> Kernel:
        named = {
            f.name: getattr(self, f.name).with_names(names)
            for f in fields(self)  # type: ignore[arg-type]
            if isinstance(getattr(self, f.name), Kernel)
        }
        return replace(self, **named)  # type: ignore[type-var]

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        old = (None,) * len(self.inner_kernels()) if like is None else like.parts
        inner = zip(self.inner_kernels(), old, strict=True)
        return Points(None, parts=tuple(kernel.points(X, dtype, p) for kernel, p in inner))

    def rounding(self, points: Points) -> float:
        return sum(k.rounding(p) for k, p in zip(self.inner_kernels(), points.parts, strict=True))

    def inner_tiles(self, A: Points, B: Points | None) -> list[Any]:
        others = (None,) * len(A.parts) if B is None else B.parts
        return [k.tile(a, b) for k, a, b in zip(self.inner_kernels(), A.parts, others, strict=True)]

    def inner_diagonals(self, A: Points) -> list[Any]:
        return [k.diagonal(a) for k, a in zip(self.inner_kernels(), A.parts, strict=True)]


@dataclass(repr=False)
class Sum(Composite):
    """left(x, y) + right(x, y)."""

    _saved = SavedRecord("kernel.Sum", {"left": KERNEL, "right": KERNEL})

    left: Kernel
    right: Kernel

    def centered_form(self, X: Any) -> Kernel:
        return Sum(self.left.centered_form(X), self.right.centered_form(X))

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        left, right = self.inner_tiles(A, B)
        return left + right

    def diagonal(self, A: Points) -> Any:
        left, right = self.inner_diagonals(A)
        return left + right

    def __repr__(self) -> str:
        return f"{self.left!r} + {self.right!r}"


@dataclass(repr=False)
class Product(Composite):
    """left(x, y) · right(x, y)."""

    _saved = SavedRecord("kernel.Product", {"left": KERNEL, "right": KERNEL})

    left: Kernel
    right: Kernel

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        left, right = self.inner_tiles(A, B)
        return left * right

    def diagonal(self, A: Points) -> Any:
        left, right = self.inner_diagonals(A)
        return left * right

    def __repr__(self) -> str:
        return f"({self.left!r}) * ({self.right!r})"


@dataclass(repr=False)
class Scaled(Composite):
    """factor · k(x, y), factor ≥ 0."""

    _saved = SavedRecord("kernel.Scaled", {"kernel": KERNEL, "factor": finite})

    kernel: Kernel
    factor: float

    def centered_form(self, X: Any) -> Kernel:
        return Scaled(self.kernel.centered_form(X), self.factor)

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        return _needs_non_negative(self.factor, "A kernel's factor") * self.inner_tiles(A, B)[0]

    def diagonal(self, A: Points) -> Any:
        return _needs_non_negative(self.factor, "A kernel's factor") * self.inner_diagonals(A)[0]

    def __repr__(self) -> str:
        return f"{self.factor!r} * ({self.kernel!r})"


@dataclass(repr=False)
class Power(Composite):
    """k(x, y)^exponent for a positive whole exponent, which is a kernel by Schur's product theorem."""

    _saved = SavedRecord("kernel.Power", {"kernel": KERNEL, "exponent": finite})

    kernel: Kernel
    exponent: int

    def whole_exponent(self) -> int:
        if int(self.exponent) != self.exponent or self.exponent < 1:
            raise ValueError(f"A kernel's exponent must be a positive whole number, not {self.exponent}.")
        return int(self.exponent)

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        return self.inner_tiles(A, B)[0] ** self.whole_exponent()

    def diagonal(self, A: Points) -> Any:
        return self.inner_diagonals(A)[0] ** self.whole_exponent()

    def __repr__(self) -> str:
        return f"({self.kernel!r}) ** {self.exponent!r}"


@dataclass(repr=False)
class Normalized(Composite):
    """k(x, y) / √(k(x, x) k(y, y)); zero for a point with k(x, x) = 0."""

    _saved = SavedRecord("kernel.Normalized", {"kernel": KERNEL})

    kernel: Kernel

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        points = super().points(X, dtype, like)
        diagonal = self.kernel.diagonal(points.parts[0])
        xp = namespace(diagonal)
        if bool(xp.any(diagonal < 0)):
            raise ValueError(f"{self.kernel!r} has k(x, x) < 0 for some rows, so it cannot be normalised.")
        alive = diagonal > 0
        inverse = xp.where(alive, 1 / xp.sqrt(xp.where(alive, diagonal, xp.ones_like(diagonal))), diagonal)
        return replace(points, norms=inverse)

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        other = A if B is None else B
        return self.inner_tiles(A, B)[0] * A.norms[:, None] * other.norms[None, :]

    def diagonal(self, A: Points) -> Any:
        return self.inner_diagonals(A)[0] * A.norms**2

    def __repr__(self) -> str:
        return f"({self.kernel!r}).normalized()"


@dataclass(repr=False)
class OnColumns(Composite):
    """k(x[columns], y[columns]). The columns are a slice, whole numbers, a mask, or names in a data frame."""

    _saved = SavedRecord("kernel.OnColumns", {"kernel": KERNEL, "columns": anything})

    kernel: Kernel
    columns: Any

    def _cut(self, X: Any) -> Any:
        if isinstance(self.columns, slice):
            return X[:, self.columns]
        index = np.atleast_1d(np.asarray(self.columns))
        if index.dtype == bool:
            index = np.flatnonzero(index)
        if index.dtype.kind in "UO":
            raise ValueError(
                f"columns={self.columns!r} are names, but the columns of the data have no names. Fit a data frame, or "
                "give column numbers."
            )
        if index.dtype.kind not in "iu" or index.size == 0:
            raise ValueError(
                f"columns={self.columns!r} must be a slice, whole numbers, a mask or names that select some columns."
            )
        if index.max() >= X.shape[1] or index.min() < -X.shape[1]:
            raise ValueError(
                f"columns={self.columns!r} is out of range: the data has only {amount(X.shape[1], 'column')}."
            )
        if is_foreign(X):
            xp = namespace(X)
            return xp.take(X, xp.asarray(index % X.shape[1], device=X.device), axis=1)
        return X[:, index]

    def bind(self, X: Any) -> Kernel:
        return OnColumns(self.kernel.bind(self._cut(X)), self.columns)

    def with_names(self, names: Sequence[Any]) -> Kernel:
        wanted = [self.columns] if isinstance(self.columns, str) else self.columns
        if isinstance(wanted, slice) or not all(isinstance(name, str) for name in np.asarray(wanted, object).ravel()):
            return self
        if not len(names):
            return self
        names = [str(name) for name in names]
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ValueError(f"The data has no column named {missing[0]!r}. Its columns are: {', '.join(names)}.")
        return OnColumns(self.kernel, [names.index(name) for name in wanted])

    def centered_form(self, X: Any) -> Kernel:
        return OnColumns(self.kernel.centered_form(self._cut(X)), self.columns)

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        return super().points(self._cut(X), dtype, like)

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        return self.inner_tiles(A, B)[0]

    def diagonal(self, A: Points) -> Any:
        return self.inner_diagonals(A)[0]

    def __repr__(self) -> str:
        return f"({self.kernel!r}).on({self.columns!r})"


@dataclass(repr=False)
class WeightedColumns(Composite):
    """k(w∘x, w∘y), with one weight per column. Widths that differ by column are bound to such weights."""

    _saved = SavedRecord("kernel.WeightedColumns", {"kernel": KERNEL, "weights": per_column})

    kernel: Kernel
    weights: tuple[float, ...]

    def _weigh(self, X: Any) -> Any:
        if len(self.weights) != X.shape[1]:
            raise ValueError(
                f"The kernel has widths or weights for {amount(len(self.weights), 'column')}, but the data has "
                f"{X.shape[1]}."
            )
        if sp.issparse(X):
            # A product with a diagonal matrix would leave the column indices of each row unsorted.
            weights = np.asarray(self.weights, X.dtype)
            return sp.csr_array((X.data * weights[X.indices], X.indices, X.indptr), shape=X.shape)
        return X * namespace(X).asarray(list(self.weights), dtype=X.dtype, **placement(X))

    def bind(self, X: Any) -> Kernel:
        return WeightedColumns(self.kernel.bind(self._weigh(X)), self.weights)

    def centered_form(self, X: Any) -> Kernel:
        return WeightedColumns(self.kernel.centered_form(self._weigh(X)), self.weights)

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        return super().points(self._weigh(X), dtype, like)

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        return self.inner_tiles(A, B)[0]

    def diagonal(self, A: Points) -> Any:
        return self.inner_diagonals(A)[0]

    def __repr__(self) -> str:
        return f"({self.kernel!r}).weighted({list(self.weights)!r})"


@dataclass(repr=False)
class Constant(Kernel):
    """k(x, y) = value ≥ 0. Centring removes a constant, so it matters only in products, or if nothing is centred.

    >>> (2.0 * Constant(3.0))([[0.0]], [[1.0]]).tolist()
    [[6.0]]
    """

    _saved = SavedRecord("kernel.Constant", {"value": finite})

    value: float = 1.0

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        _needs_non_negative(self.value, "A constant kernel's value")
        xp = namespace(X)
        dtype = dtype or (X.dtype if hasattr(X, "dtype") and not sp.issparse(X) else xp.float64)
        return Points(xp.zeros((_count(X), 1), dtype=dtype, **placement(X)))

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        other = A if B is None else B
        return A.rows + other.rows.T + float(self.value)

    def diagonal(self, A: Points) -> Any:
        return A.rows[:, 0] + float(self.value)

    def __repr__(self) -> str:
        return f"{self.value!r}"
