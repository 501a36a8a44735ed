"""The reports that the golden files show."""

import msgspec

from fusectl.report.types import (
    Cost,
    Decision,
    Eliminated,
    Instructions,
    Missing,
    NoteRecord,
    Programs,
    Report,
    StepRecord,
    Uncovered,
)
from tests.render.factory import (
    Extras,
    blocker,
    decision,
    multi_user,
    node,
    passed,
    report,
)

HELP_PATH = "legal, but not on this machine: keep it, or ask what another target does"


def single_blocker() -> Report:
    kept = decision("mm:MatMul:u", "act:Sigmoid", multi_user("u", "act", "sigmoid_1", "add_3"))
    return report([kept], Extras(nodes=4))


def three_blockers() -> Report:
    kept = decision(
        "mm:MatMul:u",
        "act:Sigmoid:y",
        blocker(
            "requantize",
            "q, dq",
            "q QuantizeLinear (int8, scale 0.5, zero point 0); dq DequantizeLinear (int8, scale "
            "0.5, zero point 0)",
            "No conversion of scale, zero point or integer width stands between the two",
            "quantise once, after act (Sigmoid): take these nodes out in front of it, or keep "
            "them: they change what it reads",
        ),
        multi_user("u", "act", "side"),
        blocker(
            "graph-output",
            "u",
            "u is returned by the graph",
            "The intermediate value is not returned by the graph",
            "drop u from the outputs if nobody reads it, or keep the pair",
        ),
        passed("clip", "mm, act", "nothing of the kind", "No range limit stands between the two"),
        between=["q:QuantizeLinear", "dq:DequantizeLinear"],
        source="model.py:157 in forward",
    )
    return report([kept], Extras(path="019-three-blockers.onnxtxt", nodes=5))


def chain() -> Report:
    bias = decision("mm:MatMul:m", "add:Add:s", rule="matmul-bias", becomes="Gemm")
    act = decision(
        "add:Add:s", "relu:Relu:a", rule="gemm-activation", becomes="com.microsoft.FusedGemm",
        builds_on=[bias],
    )  # fmt: skip
    again = decision(
        "relu:Relu:a",
        "sig:Sigmoid:y",
        blocker(
            "already-fused",
            "relu",
            "its activation slot is taken by relu",
            "The producer's post-processing slot is free",
            "one activation slot takes one operator: merge relu and sig into one function, or "
            "keep the second",
        ),
        rule="gemm-activation",
        builds_on=[bias, act],
    )
    return report([bias, act, again])


def claimed() -> Report:
    first = decision("conv:Conv:c", "relu:Relu:r", rule="conv-activation", becomes="FusedConv")
    second = decision(
        "relu:Relu:r",
        "add:Add:s",
        blocker(
            "claimed",
            "relu",
            "conv+relu became one FusedConv first (decision conv-activation/c/r)",
            "No other decision holds one of the nodes",
            "the earlier pass wins; keep it, or switch that rule off to give this one the node",
        ),
        rule="elementwise-activation",
    )
    return report([first, second])


def near_miss() -> Report:
    missing = Missing("p", "Pow with exponent 2", "Pow with exponent 3", "pow_3")
    kept = decision(
        "sub_2:Sub:d",
        "pow_3:Pow:p",
        blocker(
            "op-mismatch",
            "pow_3",
            "9 of 10 nodes match; pow_3 is Pow with exponent 3, the pattern has Pow with exponent "
            "2 there",
            "Every node of the pattern is there, with the operator, domain and arity it asks for",
            "export this part as the pattern layer-norm, or keep it",
            where="rules/fusions/norm.yaml:8",
        ),
        rule="layer-norm",
        missing=[missing],
        nodes=[f"n_{i}:Mul" for i in range(9)],
    )
    return report([kept])


def requantize() -> Report:
    kept = three_blockers().decisions[0]
    alone = decision(
        "mm:MatMul:u", "act:Sigmoid:y", kept.findings[0],
        between=["q1:QuantizeLinear", "dq1:DequantizeLinear"],
    )  # fmt: skip
    return report([alone])


def unknown() -> Report:
    finding = blocker(
        "shape",
        "bias",
        "bias float32[?,4], m float32[2,4]",
        "The operand broadcasts into the product without making it larger",
        "give bias and m known shapes",
        status="unknown",
        where="rules/fusions/bias.yaml:9",
    )
    return report([decision("mm:MatMul:m", "add:Add:s", finding, rule="matmul-bias")])


def no_candidates() -> Report:
    pairs = [
        Uncovered("Softmax", "MatMul", 2, (decision("sm:Softmax", "mm:MatMul").edge,)),
        Uncovered("TopK", "Gather", 1, ()),
    ]
    return report([], Extras(uncovered=pairs))


def all_fused() -> Report:
    step = (StepRecord(node="if_12", attr="then_branch"),)
    inner = decision("mm:MatMul:u", "act:Sigmoid", becomes="fused.matmul_activation", graph=step)
    removed = [Eliminated(node(f"id{i}:Identity"), 0, "Identity") for i in range(4)]
    warning = NoteRecord("warning", "shape inference stopped at MyOp", "my_op_3")
    info = NoteRecord("info", "2 functions explained per call site", "")
    return report([inner], Extras(eliminated=removed, notes=[info, warning]))


def hostile() -> Report:
    """Names that would clear the screen, reverse the line, break lines and markup."""
    bad = "mm\x1b[2J\u202e[red]\n|`<b>@you"
    finding = multi_user("u\x9b31m", "act\u200b", "evil\x07\u2028", "#12")
    kept = decision(f"{bad}:MatMul:u\x9b31m", "act\u200b:Sigmoid", finding)
    note = NoteRecord("warning", "\x1b]0;title\x07", "\u202e")
    removed = [Eliminated(node("id\x1b[1A:Identity"), 0, "\x1b")]
    fused = decision("a\rb:MatMul:v\x7f", "c\td:Add", rule="matmul-bias", becomes="Gemm")
    extras = Extras(path="m\x1b[31m.onnx", notes=[note], eliminated=removed)
    return report([kept, fused], extras)


PARTS = ("attention/self/query", "attention/self/key", "intermediate/dense", "output/dense")


def _layer(layer: int) -> list[Decision]:
    at = f"/bert/encoder/layer.{layer}"
    gelu = [f"{at}/act/{op}:{op.split('_')[0]}" for op in ("Div", "Erf", "Add", "Mul", "Mul_1")]
    found = [
        decision(f"{at}/{p}/MatMul:MatMul", f"{at}/{p}/Add:Add", rule="matmul-bias", becomes="Gemm")
        for p in PARTS
    ]
    found.append(
        decision(gelu[0], gelu[1], rule="gelu-erf", becomes="com.microsoft.Gelu", nodes=gelu)
    )
    found.append(_shared_sum(at))
    found.extend(_no_path(at))
    found.append(_cast(at))
    found.append(_no_shape(at))
    found.append(_too_small(at, layer + 5))
    return found


def _shared_sum(at: str) -> Decision:
    value = f"{at}/output/Add_1_output_0"
    mean, sub = f"{at}/LayerNorm/ReduceMean", f"{at}/LayerNorm/Sub"
    shared = multi_user(value, mean, sub, f"{at}/next/Add")
    ends = (f"{at}/output/Add_1:Add:{value}", f"{mean}:ReduceMean")
    return decision(*ends, shared, rule="skip-layer-norm")


def _no_path(at: str) -> list[Decision]:
    path = blocker(
        "unsupported-op",
        f"{at}/attention/MatMul",
        "onnxruntime-cpu has no path for matmul-scale",
        "The target has a path for this rule with this producer",
        HELP_PATH,
        where="rules/t.yaml:3",
    )
    return [
        decision(f"{at}/attention/MatMul_{i}:MatMul", f"{at}/{op}:{op}", path, rule="matmul-scale")
        for i, op in enumerate(("Div", "Mul", "Transpose"))
    ]


def _cast(at: str) -> Decision:
    cast = blocker(
        "cast",
        f"{at}/Cast",
        f"{at}/Cast Cast (float32 to float16)",
        "No change of element type stands between the two",
        f"move the cast behind {at}/pooler/Tanh, or export both in one type",
    )
    ends = (f"{at}/pooler/Gemm:Gemm", f"{at}/pooler/Tanh:Tanh")
    return decision(*ends, cast, rule="gemm-activation", between=[f"{at}/Cast:Cast"])


def _no_shape(at: str) -> Decision:
    shape = blocker(
        "shape",
        f"{at}/mask",
        f"{at}/mask float32[?,1,1,?], scores float32[?,12,?,?]",
        "The operand broadcasts into the product without making it larger",
        f"give {at}/mask and {at}/scores known shapes",
        status="unknown",
    )
    ends = (f"{at}/scores/MatMul:MatMul", f"{at}/scores/Add:Add")
    return decision(*ends, shape, rule="matmul-bias")


def _too_small(at: str, size: int) -> Decision:
    small = blocker(
        "not-profitable",
        f"{at}/u",
        f"{at}/u has {size} elements; the target fuses from 64 on",
        "The target's cost model gains by it",
        "legal and supported: nothing is wrong with the model",
    )
    return decision(f"{at}/gate/Gemm:Gemm", f"{at}/gate/Relu:Relu", small, rule="gemm-activation")


def encoder(layers: int = 12) -> Report:
    """About 150 decisions, alike from layer to layer."""
    found = [d for layer in range(layers) for d in _layer(layer)]
    pairs = [
        Uncovered("Softmax", "MatMul", layers, ()),
        Uncovered("Add", "Softmax", layers, ()),
        Uncovered("Transpose", "MatMul", 3 * layers, ()),
        Uncovered("Gather", "Add", 2, ()),
    ]
    removed = [Eliminated(node(f"/Identity_{i}:Identity"), 0, "Identity") for i in range(7)]
    extras = Extras("bert.onnx", "onnxruntime-cpu", 812, pairs, (), removed)
    return report(found, extras)


def resnet(blocks: int = 16) -> Report:
    """Convolutions with their activations and residual sums, a few refused by the machine."""
    shared = multi_user("/stem/u", "/stem/relu", "/stem/skip")
    ends = ("/stem/conv:Conv:/stem/u", "/stem/relu:Relu")
    found = [decision(*ends, shared, rule="conv-activation")]
    for block in range(blocks):
        found += _block(f"/layer{block // 4 + 1}/layer{block // 4 + 1}.{block % 4}")
        if block % 4 == 0 and block:
            found.append(_wrong_function(f"/layer{block // 4 + 1}"))
    return report(found, Extras("resnet.onnx", "onnxruntime-cpu", 122))


def _block(at: str) -> list[Decision]:
    form = "com.microsoft.FusedConv"
    ends = (f"{at}/conv1/Conv:Conv", f"{at}/relu/Relu:Relu")
    first = decision(*ends, rule="conv-activation", becomes=form)
    ends = (f"{at}/conv2/Conv:Conv", f"{at}/Add:Add")
    total = decision(*ends, rule="conv-residual", becomes=form)
    ends = (f"{at}/Add:Add", f"{at}/relu_1/Relu:Relu")
    relu = decision(*ends, rule="conv-activation", becomes=form, builds_on=[total])
    return [first, total, relu]


def _wrong_function(at: str) -> Decision:
    path = blocker(
        "unsupported-activation",
        f"{at}/act",
        "HardSwish is not enabled on this path of onnxruntime-cpu; enabled: Relu, Sigmoid",
        "The function is enabled on this path",
        f"use one of Relu, Sigmoid if the model allows it, or keep {at}/act",
        where="rules/targets/onnxruntime-cpu.yaml:40",
    )
    ends = (f"{at}/downsample/Conv:Conv", f"{at}/act:HardSwish")
    return decision(*ends, path, rule="conv-activation")


def _with(found: Decision, lines: Instructions) -> Decision:
    return msgspec.structs.replace(found, instructions=lines)


def kernels() -> Report:
    """What fuses and what would have, in kernels; some sizes are not known."""
    form = "com.microsoft.FusedGemm"
    fused = decision("mm:Gemm:u", "act:Relu:y", rule="matmul-activation", becomes=form)
    kept = decision("b:Gemm:v", "c:Sigmoid:z", multi_user("v", "c", "d"), rule="matmul-activation")
    inside = decision("p:Mul:t", "q:MatMul", multi_user("t", "q", "r"), rule="scale-matmul")
    before = (
        "Gemm u <- x, w, b  bytes: read 64, constants 144, written unknown",
        "Relu y <- u  bytes: read unknown, written unknown",
    )
    after = (f"{form} y <- x, w, b  + Relu  bytes: read 64, constants 144, written unknown",)
    long = tuple(f"Mul m{i} <- m{i - 1}  bytes: read 64, written 64" for i in range(1, 20))
    found = [
        _with(fused, Instructions(before, after, False, "")),
        _with(kept, Instructions(long, (*long[:6], "Sum m6 <- m0"), True, "")),
        _with(inside, Instructions((), (), True, "p is part of another kernel, BiasGelu")),
    ]
    one = Cost(
        15,
        {"Gemm": 1, "Relu": 1, "Mul": 13},
        {"activations read": 896, "activations written": 832, "constants read": 144},
        {"activations": 128, "constants": 144},
        {"activations read": 1, "activations written": 2},
        {"activations": 2},
    )
    two = Cost(
        14,
        {"Mul": 13, form: 1},
        {"activations read": 896, "activations written": 832, "constants read": 144},
        {"activations": 128, "constants": 144},
        {"activations written": 1},
        {"activations": 1},
    )
    made = report(found, Extras(target="onnxruntime-cpu", nodes=16))
    return msgspec.structs.replace(made, programs=Programs(one, two, "", "kernels"))


def hostile_kernels() -> Report:
    """Names that would end a block, start a mention or steer the terminal."""
    bad = "```\n</details>@you\x1b[2J\u202e|" + "n" * 900
    lines = (f"Gemm {bad} <- x", f"{bad} y <- ````")
    fused = _with(decision(f"{bad}:Gemm:u", "act:Relu"), Instructions(lines, lines[1:], False, ""))
    none = _with(decision("a:Gemm:v", "c:Relu"), Instructions((), (), False, f"no {bad}"))
    cost = Cost(1, {bad: 1}, {}, {}, {}, {})
    made = report([fused, none])
    return msgspec.structs.replace(made, programs=Programs(cost, cost, "", "kernels"))
