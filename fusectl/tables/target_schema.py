"""The YAML schema of targets: one frozen dataclass per mapping, read by ``fusectl.yamlsrc``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fusectl.errors import Span
from fusectl.tables.schema import Range, Require, Text, Where, Writes
from fusectl.yamlsrc.reader import Spanned

Demand = Literal["bitwise", "bound", "reassociate"]
"""What has to hold, the strictest first.

``bitwise``: equal bits, and the bound. ``bound``: no farther from the graph as written than the
target says. ``reassociate``: sums in another order and roundings at other places are allowed, so
no farther from the real-number formula than the graph as written is, or than the bound.
"""
DEMANDS: tuple[Demand, ...] = ("bitwise", "bound", "reassociate")


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

    ``elements`` is how many elements a value has, ``more_than`` what it has more of.
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
    more_than: dict[str, int] = field(default_factory=dict)
    forms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    same: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class When:
    """A condition on the shape and the operators of a match, for choosing what it becomes."""

    rank: dict[str, tuple[int, ...]] = field(default_factory=dict)
    static: tuple[str, ...] = ()
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)


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
    """What a target can do with one rule. Nothing that is not stated is supported.

    ``numerics``: whether the target's fused form keeps the bits, where it is not as the rule says.
    """

    span: Span
    source: str = ""
    numerics: Literal["exact", "bounded", ""] = ""
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
    ``poolings`` do; ``joins`` stay in it where all operands are in it and have one shape,
    ``scales`` where one is in it and the other one constant factor per channel,
    ``concatenations`` where all are in it, whole blocks joined along their channels, ``stay`` where
    the first operand is in it.
    """

    name: str
    block: int
    convolutions: tuple[str, ...] = ()
    poolings: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    concatenations: tuple[str, ...] = ()
    stay: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Transposes:
    """Operators that a Transpose can be moved through.

    ``all``: on any operand; ``broadcast``: the same where the rank of every operand is known;
    ``first``: on the first one alone; ``ends``: where it stops and goes away with what it has moved
    through, as in front of a Shape.
    """

    all: tuple[str, ...] = ()
    broadcast: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PassDoc:
    """One pass: exactly one of its kinds."""

    span: Span
    eliminate: tuple[Text, ...] | None = None
    tensors: bool = False
    bind: bool = False
    fold: Fold | None = None
    cse: bool = False
    apart: tuple[str, ...] = ()
    share: Share | None = None
    retype: Retype | None = None
    layout: Layout | None = None
    transposes: Transposes | None = None
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
class Equivalence:
    """How far a fused result may lie from the unfused one, per decision, and what has to hold.

    ``ask`` for ``bitwise`` refuses fusions that do not keep the bits. Where nothing is asked for,
    the bits count where a fusion keeps them, and the two numbers everywhere.
    """

    abs: float = 0.0
    rel: float = 0.0
    ask: Demand | Literal[""] = ""


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
    equivalence: Equivalence | Literal["bitwise", "reassociate"] | None = None
    memory: Memory = field(default_factory=Memory)
    inline: bool = False
    follow_sizes: Literal["all", "copied"] = "all"
    passes: tuple[PassDoc, ...] = ()
    paths: dict[str, PathDoc] = field(default_factory=dict)
    lowering: Lowering | None = None
    sources: dict[str, str] = field(default_factory=dict)
