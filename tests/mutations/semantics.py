"""What the fused operator of each rule computes, in plain numpy, from the values it would read.

A function takes the group, finds the operator's inputs in the model's own nodes, and returns what
the fused operator makes of them. It raises Contradiction where the operator could not be built.
"""

from collections.abc import Mapping

import numpy as np

from tests.mutations.group import Group
from tests.mutations.of_codes import (
    dequantize_scale,
    integer_product,
    limit_quantize,
    on_codes,
    quantised,
)
from tests.mutations.of_functions import (
    Meaning,
    div_mul,
    erf,
    hard_swish,
    not_where,
    of_one,
    quick_gelu,
    relu_clip,
    sigmoid,
    softmax,
    softplus,
    swiglu,
    tanh_gelu,
)
from tests.mutations.of_norms import attention, layernorm, rmsnorm, rotary
from tests.mutations.of_products import (
    conv_batchnorm,
    conv_bias,
    conv_mul,
    matmul_batchnorm,
    padded,
    product_scale,
    transposed,
)
from tests.mutations.values import Array


def _joined(group: Group) -> Array:
    """Operators in one kernel, which computes what they compute."""
    return group.result


MEANINGS: Mapping[str, Meaning] = {
    "gelu-erf": of_one(lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
    "gelu-tanh": of_one(tanh_gelu),
    "quick-gelu": quick_gelu,
    "silu": of_one(lambda x: x * sigmoid(x)),
    "hard-swish": of_one(hard_swish),
    "hard-swish-clip": of_one(hard_swish),
    "hard-sigmoid-clip": of_one(lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "mish": of_one(lambda x: x * np.tanh(softplus(x))),
    "softplus": of_one(softplus),
    "softmax": of_one(softmax),
    "swiglu": swiglu,
    "layernorm": layernorm,
    "layernorm-unscaled": layernorm,
    "rmsnorm": rmsnorm,
    "attention": attention,
    "attention-unscaled": attention,
    "rotary": rotary,
    "relu-clip": relu_clip,
    "div-mul": div_mul,
    "not-where": not_where,
    "conv-batchnorm": conv_batchnorm,
    "convtranspose-batchnorm": conv_batchnorm,
    "matmul-batchnorm": matmul_batchnorm,
    "conv-mul": conv_mul,
    "conv-bias": conv_bias,
    "matmul-scale": product_scale,
    "scale-matmul": product_scale,
    "dequantize-scale": dequantize_scale,
    "transpose-matmul": transposed,
    "transpose-gemm": transposed,
    "gemm-transpose": transposed,
    "pad-conv": padded,
    "pad-pool": padded,
    "limit-quantize": limit_quantize,
    "qdq-move": on_codes,
    "qdq-order": on_codes,
    "qdq-resize": on_codes,
    **{f"qdq-{name}": quantised for name in ("conv", "matmul", "gemm", "binary", "unary")},
    "matmul-integer-float": integer_product,
    "conv-integer-float": integer_product,
    "dequantize-matmul": quantised,
    "dequantize-gemm": quantised,
}
"""Operators with one result. Rules that are not here join operators in one kernel, which computes
what they compute: nothing but uses can be wrong."""


def meaning_of(rule: str) -> Meaning:
    return MEANINGS.get(rule, _joined)
