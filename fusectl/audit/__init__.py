"""The decisions held against what a real compiler did with the same model."""
