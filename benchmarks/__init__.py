"""Measure the contract beside its floors and its peers, in one run: `make bench` writes RESULTS.md."""
