"""The YAML schema: one frozen dataclass per mapping, read by ``fusectl.yamlsrc``."""

from __future__ import annotations

from dataclasses import dataclass, field
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
        texts = (self.const,) if isinstance(self.const, str) else self.const or ()
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
    source: str = ""


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A file of rules; it may declare operator classes and facts of its own."""

    rules: tuple[RuleDoc, ...]
    classes: dict[str, tuple[Text, ...]] = field(default_factory=dict)
    operators: dict[str, OperatorFacts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """How a path has a function: by table, and which of its operands must be constant."""

    table: bool = False
    const: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dtypes:
    """Element types of a path; an empty list allows all."""

    input: tuple[str, ...] = ()
    intermediate: tuple[str, ...] = ()
    output: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grouping:
    """Convolution groups that have code for the fused form (empty: all), and splits."""

    groups: tuple[Literal["one", "many", "depthwise"], ...] = ()
    splits: tuple[Literal["none", "m", "n", "k"], ...] = ()


@dataclass(frozen=True, slots=True)
class ShapeLimit:
    """One alternative of a path's shape limits; all keys of it must hold.

    ``forms`` are shapes relative to the product's rows ``m`` and columns ``n``, as in ``[n, 1xn]``.
    """

    span: Span
    rank: dict[str, tuple[int, ...]] = field(default_factory=dict)
    static: tuple[str, ...] = ()
    elements: dict[str, int] = field(default_factory=dict)
    forms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    same: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class When:
    """A condition on the shape of a match, for choosing what it becomes."""

    rank: dict[str, tuple[int, ...]] = field(default_factory=dict)
    static: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Becomes:
    """The operator or function that replaces a match, under a condition."""

    when: When | None = None
    op: str = ""
    function: str = ""
    sealed: str = ""
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profit:
    """What the cost model asks before it fuses."""

    min_elements: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class PathDoc:
    """What a target can do with one rule. Nothing that is not stated is supported."""

    span: Span
    source: str = ""
    producers: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)
    functions: dict[str, FunctionUse] | None = None
    patterns: tuple[str, ...] = ()
    dtypes: Dtypes = field(default_factory=Dtypes)
    types: dict[str, tuple[str, ...]] = field(default_factory=dict)
    same_types: tuple[str, ...] = ()
    storage: dict[str, str] = field(default_factory=dict)
    grouping: Grouping | None = None
    shapes: tuple[ShapeLimit, ...] = ()
    where: dict[str, Where] = field(default_factory=dict)
    const: tuple[str, ...] = ()
    through: tuple[str, ...] = ()
    duplicable: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    opset: Range = field(default_factory=Range)
    dual_output: tuple[str, ...] = ()
    becomes: tuple[Becomes, ...] = ()
    profit: Profit | None = None
    row_bytes: str = ""
    returns_result: bool = True
    disabled: str = ""


@dataclass(frozen=True, slots=True)
class Fold:
    """Constant folding: operators that it leaves alone, and whether static shapes are constants."""

    except_: tuple[str, ...] = field(default=(), metadata={"key": "except"})
    shapes: bool = True


@dataclass(frozen=True, slots=True)
class Retype:
    """Codes between a quantiser and its only dequantiser change from one type to another."""

    from_: str = field(metadata={"key": "from"})
    to: str


@dataclass(frozen=True, slots=True)
class PassDoc:
    """One pass: exactly one of its kinds."""

    span: Span
    eliminate: tuple[Text, ...] | None = None
    fold: Fold | None = None
    cse: bool = False
    retype: Retype | None = None
    fuse: tuple[Text, ...] | None = None
    group: Literal["auto", ""] = ""
    repeat: Literal["once", "fixpoint"] = "once"
    opset: Range = field(default_factory=Range)
    source: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """Sizes of the machine's memories, with a unit: ``1MiB``."""

    on_chip: Text | None = None
    table_slots: int = 0
    table_entries: int = 0
    interpolate: bool = False


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a fused result may lie from the unfused one, per decision."""

    abs: float = 0.0
    rel: float = 0.0


@dataclass(frozen=True, slots=True)
class Template:
    """The instructions of one kind of call: each line is ``OPCODE what [operand]``.

    ``setup`` runs once in front of a call with post-processing, ``tile`` for every tile.
    ``direct`` lists functions that take no table.
    """

    span: Span
    operators: tuple[Text, ...] = ()
    setup: tuple[Text, ...] = ()
    tile: tuple[Text, ...] = ()
    direct: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lowering:
    """How the machine runs a graph: how it holds values, and a template per kind of call."""

    span: Span
    templates: dict[str, Template]
    held: dict[str, str] = field(default_factory=dict)
    intermediate: tuple[str, ...] = ("float16",)
    codes: tuple[str, ...] = ()
    header_banks: int = 1
    align: int = 64
    source: str = ""


@dataclass(frozen=True, slots=True)
class TargetDoc:
    """One target file as written."""

    span: Span
    target: Text
    summary: str
    version: str = "1"
    extends: Text | None = None
    equivalence: Tolerance | Literal["exact"] | None = None
    memory: Memory = field(default_factory=Memory)
    passes: tuple[PassDoc, ...] = ()
    paths: dict[str, PathDoc] = field(default_factory=dict)
    lowering: Lowering | None = None
    sources: dict[str, str] = field(default_factory=dict)
