"""Benchmarks: every figure is a ratio measured beside its anchor, in one interleaved run on throwaway services."""
