"""The policy: ``fusectl.yaml``, or ``[tool.fusectl]`` in ``pyproject.toml``. Its schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fusectl.errors import Span
from fusectl.yamlsrc.reader import Spanned

Text = Spanned[str]
Level = Literal["error", "warning", "info", "off"]
BASELINE = "fusion.lock.yaml"


@dataclass(frozen=True, slots=True)
class EdgePattern:
    """Edges: ``MatMul -> Add``, each side an operator, a node or a value, with wildcards."""

    span: Span
    edge: Text = field(metadata={"doc": "`PRODUCER -> CONSUMER`; `*` and `?` are wildcards"})
    rule: Text | None = field(default=None, metadata={"doc": "only decisions of this rule"})
    models: tuple[Text, ...] = field(default=(), metadata={"doc": "only models with such paths"})
    targets: tuple[Text, ...] = field(default=(), metadata={"doc": "only these targets"})


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may stay unfused, for each model on each target."""

    span: Span
    max_unfused: Spanned[int] | None = field(
        default=None, metadata={"doc": "at most so many candidates stay unfused"}
    )
    min_fused: Text | None = field(
        default=None, metadata={"doc": "at least so many candidates fuse: `12`, or `80%`"}
    )
    models: tuple[Text, ...] = field(default=(), metadata={"doc": "only models with such paths"})
    targets: tuple[Text, ...] = field(default=(), metadata={"doc": "only these targets"})


@dataclass(frozen=True, slots=True)
class SuppressionDoc:
    """Findings that do not count, and why."""

    span: Span
    reason: Text = field(metadata={"doc": "why; mandatory"})
    fingerprint: Text | None = field(default=None, metadata={"doc": "the one finding with it"})
    rule: Text | None = field(default=None, metadata={"doc": "findings about this fusion rule"})
    code: Text | None = field(default=None, metadata={"doc": "only findings with this code"})
    models: tuple[Text, ...] = field(default=(), metadata={"doc": "only models with such paths"})
    targets: tuple[Text, ...] = field(default=(), metadata={"doc": "only these targets"})
    expires: Text | None = field(
        default=None, metadata={"doc": "last day on which it holds: `2027-03-31`"}
    )


@dataclass(frozen=True, slots=True)
class Policy:
    """What to lint, and what must hold."""

    span: Span
    models: tuple[Text, ...] = field(
        default=(), metadata={"doc": "paths of models, with `*`, `?` and `**`"}
    )
    exclude: tuple[Text, ...] = field(
        default=(), metadata={"doc": "paths that `models` leaves out, with wildcards"}
    )
    targets: tuple[Text, ...] = field(
        default=(), metadata={"doc": "ids or YAML files; without it the default target"}
    )
    rules: tuple[Text, ...] = field(
        default=(), metadata={"doc": "files and folders with rules and targets of your own"}
    )
    baseline: Text | None = field(
        default=None, metadata={"doc": "the lock file; else `fusion.lock.yaml`"}
    )
    timeout: Spanned[float] | None = field(
        default=None, metadata={"doc": "seconds for one model on one target; else 120"}
    )
    severity: dict[str, Spanned[Level]] = field(
        default_factory=dict,
        metadata={"doc": "how much a reason or a code counts: error, warning, info or off"},
    )
    must_fuse: tuple[Text | EdgePattern, ...] = field(
        default=(), metadata={"doc": "edges that have to fuse"}
    )
    must_not_fuse: tuple[Text | EdgePattern, ...] = field(
        default=(), metadata={"doc": "edges that must stay as they are"}
    )
    budgets: tuple[Budget, ...] = field(default=(), metadata={"doc": "how much may stay unfused"})
    suppressions: tuple[SuppressionDoc, ...] = field(
        default=(), metadata={"doc": "findings that do not count"}
    )
