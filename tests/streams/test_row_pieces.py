from hypothesis import given
from hypothesis import strategies as st

from mercer.streams.row_pieces import chunks_of_units


@given(st.lists(st.integers(0, 40), max_size=20), st.integers(1, 25))
def test_pieces_hold_every_row_once_in_order_in_chunks_that_are_short_enough(lengths, rows):
    made = chunks_of_units(lengths, rows)
    seen = [(piece.unit, row) for pieces in made for piece in pieces for row in range(piece.start, piece.stop)]
    assert seen == [(unit, row) for unit, length in enumerate(lengths) for row in range(length)]
    sizes = [sum(piece.stop - piece.start for piece in pieces) for pieces in made]
    assert max(sizes) <= rows
    for pieces in made:  # no chunk holds a part of one unit and a part of another
        assert len(pieces) == 1 or all(piece.stop - piece.start == lengths[piece.unit] for piece in pieces)
