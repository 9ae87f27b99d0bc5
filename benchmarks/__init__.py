"""Measurements: `python -m benchmarks [names]` runs them and writes docs/benchmarks.md."""
