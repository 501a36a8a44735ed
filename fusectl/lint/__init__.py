"""Holds models to a lock file and a policy, as a linter holds code to a style."""
