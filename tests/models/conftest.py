import pytest

import mercer
from mercer.exceptions import ModelFileError


@pytest.fixture
def refusal():
    """The message with which a file is refused: one line that ends with a full stop."""

    def said(path):
        with pytest.raises(ModelFileError) as caught:
            mercer.load(path)
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return said
