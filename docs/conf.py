"""How Sphinx builds the site: `make docs`. Warnings are errors there, and nothing is fetched from the network."""

import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "_extensions"), str(ROOT / "src")]

import mercer  # noqa: E402

os.environ.setdefault("PYTHONPATH", str(ROOT / "src"))  # the kernels that run chapters import this tree

project = "Mercer"
author = "The Mercer developers"
copyright = author
version = release = mercer.__version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    # Ours, in _extensions/:
    "repository_links",  # links that work in the repository work in the site
    "mathml_formulas",  # formulas as MathML, so that no script and no font has to be fetched
    "reference_pages",  # one page per public name
    "plain_docstrings",  # docstrings are plain text
    "plain_tables",  # no empty headers
    "linked_names",  # names in the text link to their page, and the page lists who names it
    "section_search",  # a search that finds sections by words of one's own
]

source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}
exclude_patterns = [
    "_extensions",
    "_templates",
    "gallery/*.py",
    "gallery/*.ipynb",
    "gallery/**/*.md5",
    "gallery/README.txt",
]
highlight_language = "none"  # indented blocks in the guides are formulas
default_role = "code"

# --- MyST and the executed chapters
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "chapters")
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

# --- The reference
smartquotes = False  # a value such as "scale" can be copied
toc_object_entries_show_parents = "hide"  # `fit()`, not `KernelDiscriminantAnalysis.fit()`, which the column would cut
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# --- The gallery
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    # Without torch the page of this example shows the script alone. `make test-torch` runs it.
    "filename_pattern": r"\.py$" if find_spec("torch") else r"/(?!gpu\.)\w+\.py$",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib", "gallery_pictures"),
    "reset_argv": "gallery_pictures.fresh_arguments",
    "reset_modules": (),
    "doc_module": ("mercer",),
    "backreferences_dir": "gallery/uses",
    "prefer_full_module": {"mercer"},
    "inspect_global_variables": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "remove_config_comments": True,
}
# The pages of the gallery show what an example prints. A warning of a library about itself would only distract.
warnings.filterwarnings("ignore", category=DeprecationWarning)

# --- The site
html_theme = "pydata_sphinx_theme"
html_title = "Mercer"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_show_sourcelink = False
html_copy_source = False
# Pages without others below them have no section to navigate.
ALONE = ("index", "install", "start", "trouble", "benchmarks", "design", "changes", "search", "genindex", "api/**")
html_sidebars = {page: [] for page in ALONE}
html_theme_options = {
    "logo": {"text": "Mercer"},
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],  # on a phone it stays beside the menu
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
