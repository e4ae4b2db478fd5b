import numpy as np
import pandas as pd
import pytest

from mercer import open_rows


def test_a_list_may_hold_anything_that_can_be_opened(whole, X):
    source = open_rows([pd.DataFrame(X), pd.DataFrame(X.astype(float))], chunk_rows=400)
    assert source.dtype == np.float64 and len(source.lengths) == 6
    np.testing.assert_array_equal(whole(source), np.vstack([X, X]))


def test_errors_name_the_chunk_of_all_and_the_part(X):
    X = X.copy()
    X[500, 2] = np.nan
    source = open_rows([pd.DataFrame(X[:400]), pd.DataFrame(X[400:])])
    with pytest.raises(ValueError, match=r"Chunk 1, of part 1 of the list: .*row 100"):
        source.chunk(1)
    with pytest.raises(ValueError, match="part 1 of the list has 4 columns"):
        open_rows([pd.DataFrame(X), pd.DataFrame(X[:, :4])])
