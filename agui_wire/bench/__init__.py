"""Workloads and measuring: what `agui-wire bench` runs and what benchmarks/ is a thin layer over.

`workloads` makes the streams, `axes` names who reads and writes them, `workers` runs each
in a process where it disturbs nobody, `measure` decides what a measurement is worth, `running`
goes through all of it, `report` writes it down.
"""
