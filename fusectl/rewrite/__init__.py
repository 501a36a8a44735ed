"""The only code that writes a model."""
