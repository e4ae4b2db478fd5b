"""Kernel PCA and its family: exact to a stated tolerance, without the n × n matrix."""

__version__ = "0.1.0"
