"""The words of a target file that name operators, functions and element types."""

from __future__ import annotations

from collections.abc import Iterable

from fusectl.errors import Problem, Span, did_you_mean
from fusectl.graph.types import DTYPES
from fusectl.tables.operators import Operators
from fusectl.tables.target_schema import Lowering, PassDoc, PathDoc

_THROUGH = "leading-units"


class Words:
    """Holds words against what is known; one of a domain of its own is taken as it is."""

    def __init__(self, operators: Operators) -> None:
        self._ops = frozenset(operators.names())
        self._dtypes = frozenset(DTYPES.values())

    def check_pass(self, step: PassDoc, problems: list[Problem]) -> None:
        """Check the operators of a pass."""
        for text in step.eliminate or ():
            self._op(text.value, text.span, "eliminate", problems)
        for name in step.fold.except_ if step.fold else ():
            self._op(name, step.span, "fold", problems)
        if step.retype is not None:
            self._types((step.retype.from_, step.retype.to), step.span, "retype", problems)

    def check_path(self, name: str, path: PathDoc, problems: list[Problem]) -> None:
        """Check the operators, functions and element types of a path."""
        ops = [*path.producers, *path.consumers, *(path.functions or ()), *path.duplicable]
        ops += [t for t in path.through if t != _THROUGH] + list(path.dual_output)
        conditions = [path.only, *(b.when.only for b in path.becomes if b.when is not None)]
        ops += [op for only in conditions for group in only.values() for op in group]
        for op in ops:
            self._op(op, path.span, name, problems)
        dtypes = [*path.dtypes.input, *path.dtypes.intermediate, *path.dtypes.output]
        dtypes += [*path.storage, *path.storage.values()]
        dtypes += [t for types in path.types.values() for t in types]
        dtypes += [t for use in (path.functions or {}).values() for t in use.dtypes]
        self._types(dtypes, path.span, name, problems)

    def check_lowering(self, lowering: Lowering, problems: list[Problem]) -> None:
        """Check the operators and element types of a lowering."""
        for name, template in lowering.templates.items():
            for text in template.operators:
                self._op(text.value, text.span, f"lowering: {name}", problems)
        held = [*lowering.held, *lowering.held.values(), *lowering.codes, *lowering.intermediate]
        self._types(held, lowering.span, "lowering", problems)

    def _op(self, op: str, span: Span, where: str, problems: list[Problem]) -> None:
        if op not in self._ops and "." not in op:
            hint = did_you_mean(op, self._ops)
            problems.append(Problem(span, f"{where}: {op} is no known operator", hint))

    def _types(self, names: Iterable[str], span: Span, where: str, problems: list[Problem]) -> None:
        for dtype in names:
            if dtype not in self._dtypes:
                hint = did_you_mean(dtype, self._dtypes)
                problems.append(Problem(span, f"{where}: {dtype} is no element type", hint))
