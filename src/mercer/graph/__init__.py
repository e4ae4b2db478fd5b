"""Graphs of neighbours: who is near whom, what hangs together, and how far it is along the edges."""
