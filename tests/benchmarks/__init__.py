"""Measured claims: each benchmark runs us and the peer side by side, in one run, and prints the ratio."""
