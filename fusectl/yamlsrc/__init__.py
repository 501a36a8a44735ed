"""YAML text to typed values with spans; every problem of a file at once."""

from fusectl.yamlsrc.compose import Mapping, Node, Scalar, Sequence, compose
from fusectl.yamlsrc.reader import Reader, spanned

__all__ = ["Mapping", "Node", "Reader", "Scalar", "Sequence", "compose", "spanned"]
