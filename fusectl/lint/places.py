"""Where in a model file a node stands, for models that are text."""

from __future__ import annotations

import re
from pathlib import Path

from fusectl.report.lint import Place
from fusectl.report.types import NodeRef

_TEXT = (".onnxtxt", ".onnxtext")


class Places:
    """Looks for nodes in a model's text; a binary model has no lines."""

    def __init__(self, path: Path, model: str) -> None:
        self.model = model
        self._path = path
        self._lines: list[str] | None = None

    def of(self, node: NodeRef) -> Place | None:
        """Return the line that makes a node's first output, or None."""
        if self._path.suffix.lower() not in _TEXT or node.graph or not node.output:
            return None
        if self._lines is None:
            self._lines = self._read()
        wanted = re.compile(
            rf"(?<![\w\"]){re.escape(node.output)}(?!\w)[^=<>]*=|"
            rf"\"{re.escape(node.output)}\"[^=<>]*="
        )
        for number, line in enumerate(self._lines, 1):
            found = wanted.search(line.partition("#")[0])
            if found:
                return Place(self.model, number, found.start() + 1)
        return None

    def _read(self) -> list[str]:
        try:
            return self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return []
