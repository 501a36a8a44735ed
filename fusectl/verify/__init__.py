"""Holds a model and its fused form against each other by running both."""
