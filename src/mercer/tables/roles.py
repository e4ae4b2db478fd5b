"""Which column is used for what: as the options say, or as in the table that a model was fitted to."""

from __future__ import annotations

from mercer.amounts import amount
from mercer.tables.preparation import Choice, Preparation
from mercer.tables.source import Role, Source, TableError, check_known, listed

MOST_CARRIED = 100  # columns kept for display: a page or an output with more is of no use, and each takes memory


def roles_of(source: Source, choice: Choice) -> tuple[dict[str, Role], str | None, str | None]:
    """The role of every column that is used, and the names of the label and id columns."""
    names = [*source.names, *source.extras]
    label, id_ = choice.label or source.label, choice.id or source.id
    for what in ("label", "id", "drop", "columns", "keep", "show"):
        given = getattr(choice, what) or ()
        check_known([given] if isinstance(given, str) else given, [*names, *source.vectors], what)
    _check_named_once(choice)
    kept_out = set(choice.drop) | {label, id_}
    if choice.columns is None and not choice.vector:
        wanted = [name for name in source.names if name not in kept_out and name not in (choice.keep or ())]
    else:
        asked = dict.fromkeys([*(choice.columns or ()), *choice.vector])
        wanted = [each for name in asked for each in source.vectors.get(name, [name]) if name not in kept_out]
    if choice.encode == "drop":  # what is not a number is left out
        wanted = [name for name in wanted if name not in source.lists]
    if not wanted:
        raise TableError(f"{source.path}: no column is left for X. The columns are {listed(names)}.")
    _refuse_lists(source, wanted)
    roles = dict.fromkeys(wanted, Role.FEATURE)
    _carry(source, roles, label, id_, choice)
    return roles, label, id_


def _check_named_once(choice: Choice) -> None:
    """TableError if a column is asked to be both inside and outside of X, or twice inside."""
    for name in choice.columns or ():
        if name in choice.drop or name in (choice.label, choice.id):
            part = "drop" if name in choice.drop else "label" if name == choice.label else "id"
            raise TableError(f"Column {name!r} is named in both columns and {part}. Name it in one of them.")
    if len(set(choice.columns or ())) < len(choice.columns or ()):
        raise TableError(f"columns: a column is named twice: {listed(choice.columns or ())}.")


def vectors_asked(source: Source, choice: Choice) -> list[str]:
    """The columns of lists that a choice makes part of X; TableError for names that do not exist."""
    check_known(choice.vector, [*source.names, *source.extras], "vector")
    return list(dict.fromkeys([*choice.vector, *(name for name in choice.columns or () if name in source.lists)]))


def _refuse_lists(source: Source, wanted: list[str]) -> None:
    """TableError if a feature is a column of lists: whether to fit all their numbers is for the user to say."""
    found = [name for name in wanted if name in source.lists]
    if found:
        raise TableError(
            f"{source.path}: column {found[0]!r} holds lists of numbers. Use vector={found[0]!r} to fit their numbers, "
            f"or leave it out (drop={found[0]!r})."
        )


def _carry(source: Source, roles: dict[str, Role], label: str | None, id_: str | None, choice: Choice) -> None:
    """Give roles, in place, to the columns that are carried beside X. A dropped column is not even read."""
    inside = {entry for entries in source.vectors.values() for entry in entries}
    every = [name for name in [*source.extras, *source.names] if name not in source.lists and name not in inside]
    rest = every if choice.keep is None else list(dict.fromkeys([*choice.keep, *choice.show]))
    rest = [name for name in rest if name not in source.vectors]  # the numbers of a vector are in X
    rest = [name for name in rest if name not in roles and name not in (label, id_, *choice.drop)]
    most = MOST_CARRIED if choice.keep is None else len(rest)
    roles.update(dict.fromkeys(rest[:most], Role.CARRIED))
    if len(rest) > most:
        source.notes.append(f"{len(rest)} columns are not in X; the first {most} of them are kept for display.")
    if label is not None:
        roles[label] = Role.CARRIED
    if id_ is not None:
        roles[id_] = Role.ID


def roles_again(
    source: Source, choice: Choice, fitted: Preparation
) -> tuple[dict[str, Role], str | None, str | None, dict[str, str]]:
    """The same for new rows; and for every column of the fitted table, the column of the file that matches it."""
    names = [*source.names, *source.extras]
    check_known([*(choice.keep or ()), *choice.show], [*names, *source.vectors], "keep")
    for what, name in (("label", choice.label), ("id", choice.id)):
        check_known([name] if name is not None else [], names, what)
        if name in fitted.columns and fitted.named and source.named:
            raise TableError(f"{what}: the model was fitted to column {name!r}. Name another column.")
    here = set(names)
    label = choice.label or (fitted.label if fitted.label in here else source.label)
    id_ = choice.id or (fitted.id if fitted.id in here else source.id)
    places = _places(source, fitted, {choice.label, choice.id, *choice.drop})
    roles = {}
    for rule in fitted.rules:
        roles[places[rule.name]] = Role.FEATURE if rule.categories is None else Role.CATEGORY
    label, id_ = (None if name in roles else name for name in (label, id_))
    _carry(source, roles, label, id_, choice)
    return roles, label, id_, places


def _places(source: Source, fitted: Preparation, apart: set[str | None]) -> dict[str, str]:
    """Fitted column → column of the file: by name, or by place if either table has no names."""
    if fitted.named and source.named:
        here = {*source.names, *source.extras}
        missing = [name for name in fitted.columns if name not in here]
        if missing:
            raise TableError(
                f"{source.path} lacks {len(missing)} of the {len(fitted.rules)} columns that the model was fitted to: "
                f"{listed(missing)}. Its columns are {listed(source.names, 8)}."
            )
        return {name: name for name in fitted.columns}
    stood = dict(zip(fitted.layout, source.names, strict=False))
    alike = len(source.names) == len(fitted.layout) and all(name in stood for name in fitted.columns)
    if alike and not fitted.named:
        return {name: stood[name] for name in fitted.columns}
    free = [name for name in source.names if name not in apart]
    if len(free) == len(fitted.rules):
        return dict(zip(fitted.columns, free, strict=True))
    if alike:  # the label and other columns are still at their old places
        return {name: stood[name] for name in fitted.columns}
    raise TableError(
        f"{source.path} has {amount(len(free), 'column')}, but the model was fitted to {len(fitted.rules)}. "
        "One of the two tables has no names, so columns are matched by place, and their number must agree."
    )
