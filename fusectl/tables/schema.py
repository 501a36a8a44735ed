"""The YAML schema of operators and rules: a frozen dataclass per mapping, see ``yamlsrc``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from fusectl.errors import Span
from fusectl.yamlsrc.reader import Spanned

Text = Spanned[str]
Value = str | tuple[str, ...]
"""A number, a word, or a list of them, as written; typed by what it is compared with."""


@dataclass(frozen=True, slots=True)
class SlotFact:
    """How a model as loaded shows that a slot is taken: an attribute that is set, or an input."""

    attribute: str = ""
    input: int | None = None


@dataclass(frozen=True, slots=True)
class FunctionOf:
    """For a generic table operator: the attribute that names its function, and its values."""

    attribute: str
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    """What is known of an operator beside its ONNX schema."""

    span: Span
    kind: Literal["product", "elementwise", "move", "other"] = "other"
    barrier: Literal["requantize", "clip", "cast", "layout", ""] = ""
    acts_as: str = ""
    alike: dict[str, float] | None = None
    shape_like: str = ""
    same_type: bool = False
    weight: tuple[str, ...] = ()
    same_shape: tuple[int, ...] = ()
    commutative: bool = False
    quantized_output: bool = False
    unary: bool = False
    slots: dict[str, SlotFact] = field(default_factory=dict)
    function_of: FunctionOf | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class OperatorFile:
    """``rules/operators.yaml``."""

    classes: dict[str, tuple[Text, ...]]
    operators: dict[str, OperatorFacts]


@dataclass(frozen=True, slots=True)
class Defaults:
    """``rules/defaults.yaml``."""

    target: str
    legality: str


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """An elementwise function of one tensor: its range, and what a backward pass needs."""

    span: Span
    range: tuple[float, ...] = ()
    monotone: bool = False
    saturates: bool = False
    table: bool = True
    backward: Literal["input", "output", "nothing"] = "input"
    limit: bool = False


@dataclass(frozen=True, slots=True)
class FunctionFile:
    """``rules/functions.yaml``."""

    functions: dict[str, FunctionFacts]


@dataclass(frozen=True, slots=True)
class Where:
    """What must hold of a value, or of the node that makes it, beside the pattern's text."""

    span: Span
    const: Value | None = None
    rel: float = 0.0
    abs: float = 0.0
    elements: int | None = None
    rank: tuple[int, ...] = ()
    absent: bool = False
    optional: bool = False
    axes: Literal["last", "tail", ""] = ""
    attrs: dict[str, Spanned[Value]] = field(default_factory=dict)

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The value or values that a constant must have, or None: any constant will do."""
        return _numbers(self.const)


@cache
def _numbers(const: Value | None) -> tuple[float, ...] | None:
    texts = (const,) if isinstance(const, str) else const or ()
    try:
        return tuple(float(t) for t in texts) or None
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Range:
    """An inclusive range of opset versions; 0 is open."""

    min: int = 0
    max: int = 0


@dataclass(frozen=True, slots=True)
class PatternText:
    """A named spelling of a pattern, with facts of its own."""

    nodes: Text
    name: str = ""
    where: dict[str, Where] = field(default_factory=dict)
    opset: Range = field(default_factory=Range)


@dataclass(frozen=True, slots=True)
class Slots:
    """Post-processing slots of the producer: which must be free, which one the fusion takes."""

    free: tuple[str, ...] = ()
    takes: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """An accepted model, or a rejected one with the reason it must get."""

    span: Span
    accept: Text | None = None
    reject: Text | None = None
    model: Text | None = None
    why: str = ""


Require = Text | dict[str, dict[str, Value]]


@dataclass(frozen=True, slots=True)
class Taken:
    """An attribute's value: a literal, or what to take it from."""

    int_: int | None = field(default=None, metadata={"key": "int"})
    float_: float | None = field(default=None, metadata={"key": "float"})
    text: str = ""
    op: str = ""
    constant: str = ""
    parameter: str = ""
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    of: str = ""
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Unsigned:
    """Constant int8 codes that are written as uint8, with their zero point, beside uint8 ones."""

    codes: str
    zero: str
    beside: str


Change = Literal[
    "add-bias", "fold-batchnorm", "merge-limits", "multiply-alpha", "past-scale", "quantize-bias",
    "scalar-first", "scale-channels", "state-opset", "take-pads", "transpose-operand",
    "transpose-result", "whole-affine", "without-beta",
]  # fmt: skip
"""What a fusion does to the node that stays, beyond names: a function of ``fusectl.rewrite``."""


@dataclass(frozen=True, slots=True)
class Writes:
    """How a fused form is written as one node: what it keeps of which node, and what is new.

    ``keep`` names the value whose maker's attributes (and inputs, without ``inputs``) stay.
    ``casts`` names values that are cast to a type in front of it. ``only``, ``types`` and
    ``patterns`` are conditions; the first entry that fits is taken.
    """

    span: Span
    op: str = ""
    keep: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attributes: dict[str, Taken] = field(default_factory=dict)
    casts: dict[str, str] = field(default_factory=dict)
    zeros: dict[str, str] = field(default_factory=dict)
    unsigned: Unsigned | None = None
    transforms: tuple[Change, ...] = ()
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)
    types: dict[str, tuple[str, ...]] = field(default_factory=dict)
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleDoc:
    """One rule as written."""

    span: Span
    id: Text
    summary: str
    edge: Text
    patterns: tuple[Text | PatternText, ...]
    examples: tuple[Example, ...]
    require: tuple[Spanned[Require], ...] = ()
    where: dict[str, Where] = field(default_factory=dict)
    slots: Slots = field(default_factory=Slots)
    numerics: Literal["exact", "bounded"] = "exact"
    elementwise: bool = False
    axis: Literal["last", "channel", ""] = ""
    opt_in: bool = False
    becomes: str = ""
    operands: tuple[str, ...] = ()
    duplicable: tuple[str, ...] = ()
    writes: tuple[Writes, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A file of rules; it may declare operator classes and facts of its own."""

    rules: tuple[RuleDoc, ...]
    classes: dict[str, tuple[Text, ...]] = field(default_factory=dict)
    operators: dict[str, OperatorFacts] = field(default_factory=dict)
