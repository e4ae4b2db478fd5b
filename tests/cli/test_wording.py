"""Messages speak the command's language."""

import pytest

from mercer.cli.wording import in_options


@pytest.mark.parametrize(
    ("library", "command"),
    [
        ("Lower n_components=9.", "Lower --n-components 9."),
        (
            "Raise n_neighbors or radius, or set disconnected='largest'.",
            "Raise --n-neighbors or --radius, or set --disconnected largest.",
        ),
        (
            "Expected n_neighbors < n_samples_fit, but n_neighbors = 9, n_samples_fit = 8, n_samples = 8",
            "--n-neighbors 9 asks for more neighbours than 8 rows have. Lower it.",
        ),
        (
            "Raise n_neighbors, or set disconnected='join'; mercer.diagnose_neighbors shows how the number falls.",
            "Raise --n-neighbors, or set --disconnected join.",
        ),
        (
            "The number of unique classes is greater than 50% of the number of samples. `y` could represent a "
            "regression problem, not a classification problem.",
            "There is a class for every two rows. The label may be a number on a scale, or name the rows.",
        ),
        (
            "Sigmoid(gamma=2.845e-10, coef0=1) has negative eigenvalues (-0.5 or lower, the largest 1): not good.",
            "The kernel has negative eigenvalues (-0.5 or lower, the largest 1): not good.",
        ),
        (
            "KernelPCA of 400 rows by lanczos (2 of 400 pairs: a matrix (in memory) is quick) needs 11.3 MB, "
            "more than the memory_limit of 100 B. Nothing was allocated. Try a larger memory_limit.",
            "KernelPCA of 400 rows by lanczos needs 11.3 MB, more than the --memory-limit of 100 B. Nothing was "
            "allocated. Try a larger --memory-limit.",
        ),
        ("more than the memory_limit of 1 kB", "more than the --memory-limit of 1 kB"),
        ('Use encode="onehot", "ordinal" or "drop".', "Use --encode onehot, ordinal or drop."),
        ("leave it out (drop='petal width')", "leave it out (--drop 'petal width')"),
        ("set whiten=False", "set --no-whiten"),
        ("rank=None is exact", "--rank none is exact"),
        ("make it the `id`", "make it the --id"),
        ("label: the table has no column 'x'", "--label: the table has no column 'x'"),
        ("perplexity (500) must be less than n_samples (150)", None),
        ("the kernel of the method keeps its label", "the kernel of the method keeps its label"),
        ("my_label=3 stays", "my_label=3 stays"),
        ("The map is kept: its residual_ is 2e-02.", "The map is kept: its residual is 2e-02."),
        ("my_.csv: no such column 'a_ b'", "my_.csv: no such column 'a_ b'"),
    ],
)
def test_parameters_become_options(library, command):
    found = in_options(library)
    assert found == command if command else ("--" in found and "_" not in found and "=" not in found)


def test_the_values_that_scikit_learn_wants_are_listed_sorted():
    message = (
        "The 'kernel' parameter of KernelPCA must be a str among {'rbf', 'cosine', 'linear'}, an instance of "
        "'mercer.kernels.kernel.Kernel' or a callable. Got 'wave' instead."
    )
    assert in_options(message) == "--kernel must be one of cosine, linear, rbf, not wave."
    assert in_options(message.replace("wave", "cosin")) == "--kernel cosin is unknown. Did you mean cosine?"
    message = (
        "The 'gamma' parameter of KernelPCA must be a float in the range [0.0, inf), a str among {'scale', 'median'} "
        "or None. Got -1.0 instead."
    )
    wanted = "a number in the range [0.0, inf), one of median, scale, or none"
    assert in_options(message) == f"--gamma must be {wanted}, not -1.0."


def test_names_of_columns_and_files_stay_as_they_are():
    assert in_options("missing in 'n_neighbors' (drop='n_samples')") == "missing in 'n_neighbors' (--drop n_samples)"
    assert in_options("n_samples.csv: the file does not exist.") == "n_samples.csv: the file does not exist."
    assert in_options("n_neighbors=5 exceeds n_samples.") == "--n-neighbors 5 exceeds the number of rows."


def test_a_long_list_ends_with_a_count_and_says_where_all_are_listed():
    listed = ", ".join(f"'{letter * 12}'" for letter in "cdefbaghij")
    message = f"The 'kernel' parameter of KernelPCA must be a str among {{{listed}}} or a callable. Got 'wave' instead."
    assert in_options(message) == (
        f"--kernel must be one of {', '.join(letter * 12 for letter in 'abcd')} and 6 more, not wave. "
        "--help lists them."
    )
