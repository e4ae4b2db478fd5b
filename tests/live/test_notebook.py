"""`mercer.widget` passes on what it is given. What widgets do is tested in test_map_widget.py."""

import inspect

import numpy as np

import mercer
from mercer.live.notebook import widget
from mercer.live.shown_map import shown_map


def test_it_is_a_name_of_mercer():
    assert mercer.widget is widget


def test_it_takes_what_a_map_takes():
    own, of_map = inspect.signature(widget).parameters, inspect.signature(shown_map).parameters
    assert list(own)[1:-1] == list(of_map)[1:]


def test_the_coordinates_are_those_of_the_map():
    Z = np.random.default_rng(0).normal(size=(12, 2))
    assert np.array_equal(widget(Z, title="twelve").coordinates, Z)
