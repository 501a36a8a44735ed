"""The YAML schema: one frozen dataclass per mapping, read by ``fusectl.yamlsrc``."""

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
    ``only``, ``types`` and ``patterns`` are conditions; the first entry that fits is taken.
    """

    span: Span
    op: str = ""
    keep: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attributes: dict[str, Taken] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """How a path has a function: by table, with which constants, types, bounds and encodings."""

    table: bool = False
    const: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    bounds: tuple[tuple[float, ...], ...] = ()
    encoding: Literal["any", "same"] = "any"
    layout: str = ""


@dataclass(frozen=True, slots=True)
class Dtypes:
    """Element types of a path; an empty list allows all."""

    input: tuple[str, ...] = ()
    intermediate: tuple[str, ...] = ()
    output: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grouping:
    """Convolution groups and strides that have code for the fused form (empty: all), and splits."""

    groups: tuple[Literal["one", "many", "depthwise"], ...] = ()
    max_stride: int = 0
    splits: tuple[Literal["none", "m", "n", "k"], ...] = ()


@dataclass(frozen=True, slots=True)
class ShapeLimit:
    """One alternative of a path's shape limits; all keys of it must hold.

    ``forms`` are shapes relative to the product's rows ``m`` and columns ``n``, as in ``[n, 1xn]``.
    ``ops`` are operators that make a value, ``layout`` the layout that it has been given by a pass
    (``plain``: none), ``present`` values that must be there. An alternative whose ``ops``,
    ``layout`` or ``present`` do not hold is meant for other nodes.
    """

    span: Span
    ops: dict[str, tuple[str, ...]] = field(default_factory=dict)
    layout: dict[str, str] = field(default_factory=dict)
    present: tuple[str, ...] = ()
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
    writes: tuple[Writes, ...] = field(default=(), metadata={"shown": False})


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
    require: tuple[Spanned[Require], ...] = ()


@dataclass(frozen=True, slots=True)
class Fold:
    """Constant folding: operators that it leaves alone, and what it takes as constant beside.

    ``shapes``: the Shape of a static value; ``types``: a constant cast to the type of a value;
    ``also``: operators outside ONNX, which are left alone otherwise.
    """

    except_: tuple[str, ...] = field(default=(), metadata={"key": "except"})
    also: tuple[str, ...] = ()
    shapes: bool = True
    types: bool = False


@dataclass(frozen=True, slots=True)
class Retype:
    """Codes between a quantiser and its only dequantiser change from one type to another."""

    from_: str = field(metadata={"key": "from"})
    to: str


@dataclass(frozen=True, slots=True)
class Share:
    """Equal constants of at most so many elements, of these element types, become one."""

    elements: int = 1
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """Values are kept in blocks of channels.

    ``convolutions`` have constant weights and bring their data into the layout themselves, as
    ``poolings`` do; ``joins`` stay in it where all operands are in it and have one shape, ``stay``
    where the first operand is in it.
    """

    name: str
    block: int
    convolutions: tuple[str, ...] = ()
    poolings: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    stay: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PassDoc:
    """One pass: exactly one of its kinds."""

    span: Span
    eliminate: tuple[Text, ...] | None = None
    tensors: bool = False
    bind: bool = False
    fold: Fold | None = None
    cse: bool = False
    share: Share | None = None
    retype: Retype | None = None
    layout: Layout | None = None
    fuse: tuple[Text, ...] | None = None
    order: Literal["file", "depth-first"] = "file"
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
class AuditDoc:
    """The runtime whose behaviour a target describes, and at which optimisation level."""

    runtime: str
    level: str = ""


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
    audit: AuditDoc | None = None
    equivalence: Tolerance | Literal["exact"] | None = None
    memory: Memory = field(default_factory=Memory)
    inline: bool = False
    passes: tuple[PassDoc, ...] = ()
    paths: dict[str, PathDoc] = field(default_factory=dict)
    lowering: Lowering | None = None
    sources: dict[str, str] = field(default_factory=dict)
