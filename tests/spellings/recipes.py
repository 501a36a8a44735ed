"""What the patterns of each rule leave open: shapes, types, attributes of data movement."""

from collections.abc import Mapping

from fusectl.tables import Rule
from fusectl.tables.patterns import Pattern
from tests.spellings.build import Free, Recipe

_VECTOR = Free((8,))
_CODES = {name: Free((2, 4), "uint8") for name in ("xq", "aq", "bq", "cq", "dq")}


def _encoding(*names: str, weight: str = "") -> dict[str, Free]:
    """Scale and zero point of each operand, those of a weight signed."""
    found: dict[str, Free] = {}
    for name in names:
        found[f"{name}s"] = Free((), data=0.1)
        found[f"{name}z"] = Free((), "int8" if name == weight else "uint8", 0)
    return found


_SQUARE = Free((8, 8))


def _index(value: int) -> Free:
    return Free((1,), "int64", value)


_NORM = {"x": _SQUARE, "gamma": _VECTOR, "beta": _VECTOR, "eps": Free((), data=1e-5)}
_HALF = {**_NORM, "gamma": Free((8,), "float16"), "beta": Free((8,), "float16")}
_PRODUCT = {
    **_encoding("x", "w", "q", weight="w"),
    "wq": Free((4, 3), "int8"),
    "xq": Free((2, 4), "uint8"),
    "bq": Free((3,), "int32"),
    "bs": Free((), data=0.01),
    "bz": Free((), "int32", 0),
    "bf": Free((3,), data=0.5),
    "wf": Free((4, 3), data=0.5),
}
_CONV = {
    **_PRODUCT,
    "xq": Free((1, 1, 4, 4), "uint8"),
    "wq": Free((1, 1, 3, 3), "int8"),
    "bq": Free((1,), "int32"),
    "bf": Free((1,), data=0.5),
    "wf": Free((1, 1, 3, 3), data=0.5),
}
_SAME = {**_encoding("x", "q"), "xq": Free((2, 4), "uint8")}

_INTEGER = {
    "xq": Free((2, 4), "uint8"), "wq": Free((4, 3), "int8"), "xs": Free(()), "ws": Free(()),
    "xz": Free((), "uint8"), "wz": Free((), "int8"), "b": Free((3,), data=0.5),
}  # fmt: skip
_BOUNDS = {"lo": Free((), data=0), "hi": Free((), data=6)}

_ATTENTION = Recipe(
    {
        "q": Free((2, 8, 8)), "k": Free((2, 8, 8)), "v": Free((2, 8, 8)),
        "mask": Free((8, 8)), "allowed": Free((8, 8), "bool"),
        "scale": Free((), data=2.83), "kscale": Free((), data=0.5),
    },
    {"Softmax": {"axis": -1}},
    batched=("q", "k", "v"),
)  # fmt: skip

RECIPES: Mapping[str, Recipe] = {
    "hard-swish-clip": Recipe(_BOUNDS, batched=("x",)),
    "hard-sigmoid-clip": Recipe(_BOUNDS, batched=("x",)),
    "softmax": Recipe({"x": _SQUARE}, batched=("x",)),
    "layernorm-unscaled": Recipe(_NORM, batched=("x",)),
    "swiglu": Recipe(batched=("x", "u")),
    "quick-gelu": Recipe({"factor": Free((), data=1.702)}, batched=("x",)),
    "layernorm": Recipe(_NORM, batched=("x",)),
    "rmsnorm": Recipe(_NORM, batched=("x",)),
    "bias-add-layernorm": Recipe(
        {"bias": Free((8,), data=0.5), "gamma": _VECTOR, "beta": _VECTOR},
        batched=("m", "r"),
        other_opsets=(18, 21),
    ),
    "attention": _ATTENTION,
    "attention-unscaled": _ATTENTION,
    "embed-layernorm": Recipe(
        {
            **{name: Free((8, 8), "int64") for name in ("ids", "place", "segment")},
            **{name: Free((8, 8), data=0.5) for name in ("words", "positions", "segments")},
            "gamma": _VECTOR, "beta": _VECTOR,
        },
        batched=("ids", "place", "segment"),
        other_opsets=(18, 21),
    ),
    "rotary": Recipe(
        {},
        {"Concat": {"axis": -1}, "Split": {"axis": -1}},
        {
            "x1": {1: _index(0), 2: _index(4), 3: _index(1)},
            "x2": {1: _index(4), 2: _index(2**62), 3: _index(1)},
        },
        batched=("x", "cos", "sin"),
        other_opsets=(13,),
    ),
    "qdq-conv": Recipe(_CONV, ops={"Convolution": "Conv"}, batched=("xq",)),
    "qdq-matmul": Recipe(_PRODUCT, batched=("xq",)),
    "dequantize-matmul": Recipe(_PRODUCT, batched=("xq",)),
    "qdq-gemm": Recipe(_PRODUCT, batched=("xq",)),
    "dequantize-gemm": Recipe(_PRODUCT, batched=("xq",)),
    "qdq-binary": Recipe(
        {**_encoding("a", "b", "q"), **_CODES}, ops={"Arithmetic": "Add"}, batched=("aq", "bq")
    ),
    "qdq-unary": Recipe(_SAME, ops={"CodeFunction": "Sigmoid"}, batched=("xq",)),
    "qdq-move": Recipe(
        _SAME, {"Transpose": {"perm": (1, 0)}}, ops={"CodeMovement": "Transpose"}, batched=("xq",)
    ),
    "qdq-order": Recipe(
        {**_SAME, "xq": Free((1, 1, 2, 4), "uint8")},
        {"MaxPool": {"kernel_shape": (2, 2), "strides": (2, 2)}},
        ops={"CodeOrder": "MaxPool"},
        batched=("xq",),
    ),
    "qdq-resize": Recipe(
        {**_SAME, "xq": Free((1, 1, 2, 4), "uint8")},
        {"Resize": {"mode": "nearest"}},
        {"Resize": {2: Free((4,), data=(1, 1, 2, 2))}},
        batched=("xq",),
    ),
    "qdq-concat": Recipe(
        {**_encoding("a", "b", "c", "d", "q"), **_CODES},
        {"Concat": {"axis": 0}},
        batched=("aq", "bq", "cq", "dq"),
    ),
    "matmul-integer-float": Recipe(_INTEGER, {"Cast": {"to": 1}}, batched=("xq",)),
    "conv-integer-float": Recipe(
        {**_INTEGER, "xq": Free((1, 1, 4, 4), "uint8"), "wq": Free((1, 1, 3, 3), "int8")},
        {"Cast": {"to": 1}},
        batched=("xq",),
    ),
}  # fmt: skip


def recipe_of(rule: Rule, pattern: Pattern) -> Recipe:
    """The recipe of a pattern: a Cast in it changes to half precision what is multiplied after."""
    found = RECIPES.get(rule.id, Recipe(batched=("x",)))
    roles = [n.role for n in pattern.nodes]
    if "Split" in roles:
        return Recipe({}, found.attrs, batched=found.batched, other_opsets=(13,))
    if "Cast" not in roles or "integer" in rule.id:
        return found
    scaled = any("nc" in n.outputs for n in pattern.nodes)
    return Recipe(_HALF if scaled else _NORM, {"Cast": {"to": 10 if scaled else 1}}, batched=("x",))
