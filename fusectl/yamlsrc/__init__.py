"""YAML text to typed values with spans; every problem of a file at once."""

from fusectl.yamlsrc.compose import Mapping, Node, Scalar, Sequence, compose
from fusectl.yamlsrc.reader import Reader, spanned
from fusectl.yamlsrc.toml import compose_toml, has_table

__all__ = [
    "Mapping",
    "Node",
    "Reader",
    "Scalar",
    "Sequence",
    "compose",
    "compose_toml",
    "has_table",
    "spanned",
]
