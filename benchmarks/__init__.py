"""Side-by-side runs of Mercer and its peers: `python -m benchmarks`.

cases     what is compared with what
data      the inputs, as .npy files in data/benchmarks
run       one fresh process a measurement, competitors in turn
child     the measurement: load, warm up, time, read the peak memory
solvers   the eigensolvers that the case "solvers" compares
faces     what a case of kind "quality" measures: areas under the curve, shares of right answers
pages     how long a browser takes until a page is drawn
neighbors who searches for neighbours, and the share of the true ones that was found
judge     the residual of every answer, by NumPy alone
targets   what is asked, and whether it was reached
report    figures.json, and docs/benchmarks.md from it
gpu       a script of its own, for a machine with CUDA
streams   a script of its own, for rows that are not in memory; it writes its table into docs/guide/large.md
dask_cluster  likewise: workers of dask beside one process, and workers that are killed
"""
