"""Evaluation of a loaded KCL program to plain values, with the source positions that decided each of them."""
