"""What the processes of a group tell each other. tests/streams/test_sharded_rows.py runs two of them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_without_a_group_it_says_what_to_call():
    from mercer.backends.process_group import ProcessGroup

    with pytest.raises(RuntimeError, match="init_process_group first"):
        ProcessGroup()


def test_a_group_of_one_hears_itself(tmp_path):
    from mercer.backends.process_group import ProcessGroup

    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    try:
        group = ProcessGroup()
        A = np.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(group.sums({"A": A})["A"], A)
        np.testing.assert_array_equal(group.largest(A[0]), A[0])
        assert group.everyone("word") == ["word"] and group.from_rank(A, 0) is A
        group.fail_together(None)
        with pytest.raises(ValueError, match="as it was"):
            group.fail_together(ValueError("as it was"))
    finally:
        torch.distributed.destroy_process_group()
