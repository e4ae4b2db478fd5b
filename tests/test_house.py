"""The house rules that a machine can check: names once, privates at home, a test for every module."""

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE, TESTS = ROOT / "src" / "mercer", ROOT / "tests"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}

# Private names of other projects that Mercer needs, and why.
FOREIGN = {
    "_label_binarizer": "the classes of scikit-learn's RidgeClassifier",
    "_fit_context": "scikit-learn's decorator that validates the parameters of `fit`",
    "_parameter_constraints": "scikit-learn's declaration of valid parameters",
    "_validate_params": "scikit-learn's validation of them",
    "_get_param_names": "scikit-learn's list of them",
    "_get_output_config": "scikit-learn's setting of set_output",
    "_wrap_data_with_container": "scikit-learn's set_output for a second array",
    "_check_sample_weight": "scikit-learn's check of sample weights",
    "_check_feature_names": "scikit-learn's check of column names for a second array",
    "_fit_X": "the rows that scikit-learn's neighbour estimators keep",
    "_trait_values": "traitlets' values, for a trait that is an array: arrays cannot be compared with ==",
    "_notify_trait": "traitlets' call of observers, for the same",
    "_getframe": "the only way to find the line that called Mercer",
}

# Modules without a test file of their own, and where they are tested.
TESTED_ELSEWHERE: dict[str, str] = {
    "streams/stored_rows.py": "streams/test_hdf5_rows.py",  # and test_zarr_rows.py: it is what both share
    # Compiled loops are tested through the module that calls them, which prepares their arrays.
    "backends/compiled_affinities.py": "embedding/test_affinities.py",
    "backends/compiled_attraction.py": "embedding/test_loss.py",
    "backends/compiled_box_tree.py": "graph/test_box_tree.py",
    "backends/compiled_grid.py": "embedding/test_grid_field.py",
    "backends/compiled_math.py": "backends/test_compiled_tiles.py",
    "backends/compiled_neighbors.py": "graph/test_tile_index.py",
    "backends/compiled_pairs.py": "embedding/test_exact_repulsion.py",
    "backends/compiled_paths.py": "graph/test_geodesics.py",
    "backends/compiled_ranks.py": "graph/test_tile_index.py",
    "backends/compiled_short_range.py": "embedding/test_short_range.py",
    "backends/torch_neighbors.py": "graph/test_tensor_index.py",
    "backends/compiled_stress.py": "embedding/test_stress.py",
    "backends/compiled_shortcuts.py": "graph/test_shortcut_edges.py",
    "backends/triton_paths.py": "backends/test_torch_paths.py",  # which compares it with the way over every edge
    # What the next three compute shows only in what their callers promise.
    "footprints.py": "test_planning.py",
    "spectral/discriminant.py": "estimators/test_kernel_discriminant.py",
    "cli/pages.py": "cli/test_report.py",
}


def repeated(named):
    """The names that stand for more than one place."""
    return {name: places for name, places in named.items() if len(places) > 1}


def in_package(path):
    return path.relative_to(PACKAGE).as_posix()


def test_no_file_name_is_used_twice():
    named = defaultdict(list)
    for path in SOURCES:
        if path.name != "__init__.py":
            named[path.stem].append(in_package(path))
    assert not repeated(named)


def test_no_class_name_is_used_twice():
    named = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                named[node.name].append(f"{in_package(path)}:{node.lineno}")
    assert not repeated(named)


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name != "_"


def defined_in(tree):
    """Every name that a module defines: functions, classes, variables, and attributes of its own objects."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            names.add(node.attr)
    return names


def is_own(value):
    """Whether an expression is this object or its class: self, cls or super()."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def borrowed_privates(tree):
    """(line, name) of private names that a module takes from elsewhere."""
    own = defined_in(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, alias.name) for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            borrowed = not is_own(node.value) and node.attr not in own
            yield from [(node.lineno, node.attr)] if borrowed else []


def test_no_module_uses_the_privates_of_another():
    found = [
        f"{in_package(path)}:{line}: {name}"
        for path, tree in TREES.items()
        for line, name in borrowed_privates(tree)
        if name not in FOREIGN
    ]
    assert not found, "\n".join(found)


def test_every_module_has_its_test_in_the_same_place():
    missing = []
    for path in SOURCES:
        place = path.relative_to(PACKAGE)
        if path.name == "__init__.py":
            continue
        test = TESTED_ELSEWHERE.get(place.as_posix(), f"{place.parent}/test_{path.stem}.py")
        if not (TESTS / test).exists():
            missing.append(place.as_posix())
    assert not missing, "\n".join(missing)


def patched_privates(tree):
    """Lines that replace a private name, or an entry of one: a threshold that should be an argument."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") not in ("setattr", "setitem"):
            continue
        texts = [value.value for value in node.args[:2] if isinstance(value, ast.Constant)]
        patched = any(isinstance(text, str) and is_private(text.rpartition(".")[2]) for text in texts)
        place = node.args[0] if node.args else None
        if patched or (isinstance(place, ast.Attribute) and is_private(place.attr)):
            yield node.lineno


def test_no_test_patches_a_private():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for line in patched_privates(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(found)


def test_the_design_page_draws_every_package_and_module_at_the_top():
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    layout = page.partition("## 2. The layout")[2].partition("## 3.")[0]
    tops = [path for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"]
    names = {f"{path.name}/" if path.is_dir() else path.name for path in tops if not path.name.startswith("__")}
    tree = layout.partition("src/mercer/")[2].partition("\n\n")[0]
    drawn = set(re.findall(r"\w+/(?=  )|\w+\.py(?=  |,|$)", tree, re.MULTILINE))
    assert drawn == names


def test_the_glossary_is_in_order():
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| (.+?) \|", page.partition("## 7. Glossary")[2], re.MULTILINE)[1:]
    assert words == sorted(words, key=str.lower)


def test_what_stands_beside_the_package_is_in_the_source_distribution():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {"SECURITY.md", "CITATION.cff", "LICENSE"} <= set(included)
    assert all((ROOT / name).exists() for name in included)


def test_links_in_documents_lead_somewhere():
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    pages += [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "gallery"]
    later = {"docs/benchmarks.md", "docs/api/index.rst"}  # written by `make bench` and by `make docs`
    lost = []
    for page in pages:
        prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", prose):
            found = (page.parent / target).resolve()
            if not found.exists() and found.relative_to(ROOT).as_posix() not in later:
                lost.append(f"{page.relative_to(ROOT)} links to {target}")
    assert not lost, "\n".join(lost)
