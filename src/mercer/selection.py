"""Choosing a kernel, its width and the number of components."""
