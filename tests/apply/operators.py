"""One small model for each operator that a fusion becomes, and the operators that are left."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A graph, which of its inputs are weights, and the operators of the fused model."""

    text: str
    weights: str
    ops: str
    opset: int = 17
    target: str = "onnxruntime-cpu"


X4 = "float[2,4,8,8] x"
BN = "float[6] g, float[6] bb, float[6] mu, float[6] va"
SCALARS = (
    "<float xs={{0.02}}, uint8 xz={{120}}, float ws={{0.01}}, int8 wz={{{wz}}}, "
    "float qs={{{qs}}}, uint8 qz={{110}}>"
)


def _codes(graph: str, body: str, qs: float = 0.05, wz: int = 0) -> str:
    return f"{graph} {SCALARS.format(qs=qs, wz=wz)} {{ {body} }}"


CASES = {
    "conv-batchnorm": Case(
        f"g ({X4}, float[6,4,3,3] w, {BN}) => (float[2,6,6,6] y) "
        "{ u = Conv(x, w)  y = BatchNormalization<epsilon=0.01>(u, g, bb, mu, va) }",
        "w g bb mu va",
        "Conv",
    ),
    "conv-bias-batchnorm-relu": Case(
        f"g ({X4}, float[6,4,3,3] w, float[6] b, {BN}) => (float[2,6,6,6] y) "
        "{ u = Conv(x, w, b)  v = BatchNormalization(u, g, bb, mu, va)  y = Relu(v) }",
        "w b g bb mu va",
        "FusedConv",
    ),
    "grouped-convtranspose-batchnorm": Case(
        f"g ({X4}, float[4,3,3,3] w, {BN}) => (float[2,6,10,10] y) "
        "{ u = ConvTranspose<group=2>(x, w)  y = BatchNormalization(u, g, bb, mu, va) }",
        "w g bb mu va",
        "ConvTranspose",
    ),
    "conv-mul-add": Case(
        f"g ({X4}, float[6,4,3,3] w, float[6,1,1] s, float[1,6,1,1] b) => (float[2,6,6,6] y) "
        "{ u = Conv(x, w)  v = Mul(u, s)  y = Add(v, b) }",
        "w s b",
        "Conv",
    ),
    "embeddings-by-long-ids": Case(
        "g (int64[2,3] ids, int32[2,3] seg, int64[3] r, float[5,4] w, float[128,4] p, "
        "float[2,4] t, float[4] g, float[4] b) => (float[2,3,4] y) "
        "<int64[1] ax={0}, int64[2] sh={2,3}> { q = Unsqueeze(r, ax)  at = Expand(q, sh)  "
        "u = Gather(w, ids)  v = Gather(p, at)  s = Gather(t, seg)  a = Add(u, v)  "
        "e = Add(a, s)  y = LayerNormalization<epsilon=0.01>(e, g, b) }",
        "w p t g b",
        "Unsqueeze Expand Cast Cast EmbedLayerNormalization",
    ),
    "bias-fast-gelu": Case(
        "g (float[2,3,4] x, float[4] b) => (float[2,3,4] y) "
        "<float k={0.044715}, float r={0.7978846}, float one={1.0}, float half={0.5}> "
        "{ u = Add(x, b)  r0 = Mul(u, r)  k0 = Mul(u, k)  k1 = Mul(k0, u)  k2 = Add(k1, one)  "
        "t = Mul(r0, k2)  th = Tanh(t)  a = Add(th, one)  h = Mul(u, half)  v = Mul(h, a)  "
        "y = Neg(v) }",
        "b",
        "FastGelu Neg",
    ),
    "matmul-batchnorm": Case(
        f"g (float[3,5] x, float[5,6] w, {BN}) => (float[3,6] y) "
        "{ u = MatMul(x, w)  y = BatchNormalization(u, g, bb, mu, va) }",
        "w g bb mu va",
        "Gemm",
    ),
    "conv-leakyrelu": Case(
        f"g ({X4}, float[6,4,3,3] w) => (float[2,6,6,6] y) "
        "{ u = Conv(x, w)  y = LeakyRelu<alpha=0.3>(u) }",
        "w",
        "FusedConv",
    ),
    "conv-clip": Case(
        f"g ({X4}, float[6,4,3,3] w) => (float[2,6,6,6] y) <float lo={{-0.5}}, float hi={{3.0}}> "
        "{ u = Conv(x, w)  y = Clip(u, lo, hi) }",
        "w",
        "FusedConv",
    ),
    "conv-hardsigmoid": Case(
        f"g ({X4}, float[6,4,3,3] w) => (float[2,6,6,6] y) "
        "{ u = Conv(x, w)  y = HardSigmoid<alpha=0.3, beta=0.4>(u) }",
        "w",
        "FusedConv",
    ),
    "conv-residual-relu": Case(
        f"g ({X4}, float[6,4,3,3] w, float[6] b, float[2,6,6,6] r) => (float[2,6,6,6] y) "
        "{ u = Conv(x, w, b)  v = Add(u, r)  y = Relu(v) }",
        "b",
        "FusedConv",
        target="onnxruntime-cpu-x64",
    ),
    "matmul-bias-relu": Case(
        "g (float[3,5] x, float[5,6] w, float[6] b) => (float[3,6] y) "
        "{ u = MatMul(x, w)  v = Add(u, b)  y = Relu(v) }",
        "w b",
        "FusedGemm",
    ),
    "gemm-elu": Case(
        "g (float[3,5] x, float[6,5] w, float[6] b) => (float[3,6] y) "
        "{ u = Gemm<transB=1>(x, w, b)  y = Elu<alpha=0.7>(u) }",
        "w b",
        "FusedGemm",
    ),
    "gemm-selu": Case(
        "g (float[3,5] x, float[5,6] w) => (float[3,6] y) { u = Gemm(x, w)  y = Selu(u) }",
        "w",
        "FusedGemm",
    ),
    "gemm-sum": Case(
        "g (float[3,5] x, float[5,6] w, float[3,6] b) => (float[3,6] y) "
        "{ u = Gemm<alpha=0.5, beta=3.0>(x, w)  y = Sum(u, b) }",
        "w",
        "Gemm",
    ),
    "transposes-gemm": Case(
        "g (float[5,3] x, float[6,5] w) => (float[6,3] y) { a = Transpose<perm=[1,0]>(x)  "
        "b = Transpose<perm=[1,0]>(w)  u = Gemm(a, b)  y = Transpose<perm=[1,0]>(u) }",
        "",
        "Gemm",
    ),
    "transposes-scaled-matmul": Case(
        "g (float[2,5,3] x, float[2,6,5] w) => (float[2,3,6] y) <float s={0.25}, float r={3.0}> "
        "{ a = Transpose<perm=[0,2,1]>(x)  b = Transpose<perm=[0,2,1]>(w)  t = Mul(a, r)  "
        "u = MatMul(t, b)  y = Div(u, s) }",
        "",
        "FusedMatMul",
    ),
    "pad-conv": Case(
        f"g ({X4}, float[6,4,3,3] w) => (float[2,6,9,11] y) <int64[8] p={{0,0,1,2,0,0,2,3}}> "
        "{ u = Pad(x, p)  y = Conv(u, w) }",
        "w",
        "Conv",
    ),
    "pad-averagepool": Case(
        f"g ({X4}) => (float[2,4,9,9] y) <int64[8] p={{0,0,1,1,0,0,1,1}}> "
        "{ u = Pad(x, p)  y = AveragePool<kernel_shape=[2,2], count_include_pad=1>(u) }",
        "",
        "AveragePool",
    ),
    "relu-clip": Case(
        "g (float[3,5] x) => (float[3,5] y) <float lo={-1.0}, float hi={2.0}> "
        "{ u = Relu(x)  y = Clip(u, lo, hi) }",
        "",
        "Clip",
    ),
    "relu-clip-old": Case(
        "g (float[3,5] x) => (float[3,5] y) { u = Relu(x)  y = Clip<min=-1.0, max=2.0>(u) }",
        "",
        "Clip",
        opset=10,
    ),
    "div-mul": Case(
        "g (float[3,5] x, float[3,5] z) => (float[3,5] y) <float one={1.0}> "
        "{ d = Div(one, x)  y = Mul(z, d) }",
        "",
        "Div",
    ),
    "not-where": Case(
        "g (bool[3,5] c, float[3,5] a, float[3,5] b) => (float[3,5] y) "
        "{ n = Not(c)  y = Where(n, a, b) }",
        "",
        "Where",
    ),
    "bias-gelu": Case(
        "g (float[2,3,5] x, float[5] b) => (float[2,3,5] y) "
        "<float r={1.41421356}, float one={1.0}, float half={0.5}> { a = Add(x, b)  d = Div(a, r)  "
        "e = Erf(d)  f = Add(e, one)  m = Mul(a, f)  y = Mul(m, half) }",
        "b",
        "BiasGelu",
    ),
    "gelu": Case(
        "g (float[2,3,5] x) => (float[2,3,5] y) "
        "<float r={1.41421356}, float one={1.0}, float half={0.5}> { d = Div(x, r)  "
        "e = Erf(d)  f = Add(e, one)  m = Mul(x, f)  y = Mul(m, half) }",
        "",
        "Gelu",
    ),
    "quick-gelu": Case(
        "g (float[2,3,5] x) => (float[2,3,5] y) <float k={1.702}> "
        "{ d = Mul(x, k)  s = Sigmoid(d)  y = Mul(x, s) }",
        "",
        "QuickGelu",
    ),
    "silu": Case(
        "g (float[2,3,5] x) => (float[2,3,5] y) { s = Sigmoid(x)  y = Mul(x, s) }",
        "",
        "QuickGelu",
    ),
    "skip-layernorm": Case(
        "g (float[2,3,8] x, float[2,3,8] r, float[8] bias, float[8] ga, float[8] be) "
        "=> (float[2,3,8] y) { l = Add(x, bias)  a = Add(l, r)  "
        "y = LayerNormalization<axis=-1, epsilon=0.001>(a, ga, be) }",
        "bias ga be",
        "SkipLayerNormalization",
    ),
    "skip-layernorm-of-parts": Case(
        "g (float[2,3,8] x, float[2,3,8] r, float[8] ga, float[8] be) => (float[2,3,8] y) "
        "<float two={2.0}, float eps={0.001}> { a = Add(x, r)  mu = ReduceMean<axes=[-1]>(a)  "
        "d = Sub(a, mu)  p = Pow(d, two)  v = ReduceMean<axes=[-1]>(p)  ve = Add(v, eps)  "
        "sd = Sqrt(ve)  n = Div(d, sd)  s = Mul(n, ga)  y = Add(s, be) }",
        "ga be",
        "SkipLayerNormalization",
        opset=13,
    ),
    "skip-layernorm-of-an-old-opset": Case(
        "g (float[2,3,8] x, float[2,3,8] r, float[8] ga, float[8] be) => (float[2,3,8] y) "
        "<float s={0.001}, float two={2.0}, float eps={0.00001}> { p = Mul(x, s)  q = Mul(r, s)  "
        "a = Add(p, q)  mu = ReduceMean<axes=[-1]>(a)  d = Sub(a, mu)  e = Pow(d, two)  "
        "v = ReduceMean<axes=[-1]>(e)  ve = Add(v, eps)  sd = Sqrt(ve)  n = Div(d, sd)  "
        "t = Mul(n, ga)  y = Add(t, be) }",
        "ga be",
        "Mul Mul SkipLayerNormalization",
        opset=11,
    ),
    "layernorm": Case(
        "g (float[3,8] x, float[8] ga, float[8] be) => (float[3,8] y) "
        "<float two={2.0}, float eps={0.001}> { mu = ReduceMean<axes=[-1]>(x)  "
        "d = Sub(x, mu)  p = Pow(d, two)  v = ReduceMean<axes=[-1]>(p)  ve = Add(v, eps)  "
        "sd = Sqrt(ve)  n = Div(d, sd)  s = Mul(n, ga)  y = Add(s, be) }",
        "ga be",
        "LayerNormalization",
    ),
    "qlinear-conv": Case(
        _codes(
            "g (uint8[1,16,5,5] xq, int8[6,16,3,3] wq, int32[6] bq) => (uint8[1,6,3,3] q)",
            "x = DequantizeLinear(xq, xs, xz)  w = DequantizeLinear(wq, ws, wz)  "
            "b = DequantizeLinear(bq, bs)  u = Conv(x, w, b)  q = QuantizeLinear(u, qs, qz)",
            qs=0.2,
        ).replace("<float xs", "<float bs={0.0002}, float xs"),
        "wq bq",
        "QLinearConv",
    ),
    "qlinear-conv-per-channel": Case(
        _codes(
            "g (uint8[1,16,5,5] xq, int8[6,16,3,3] wq, float[6] cs, int8[6] cz) "
            "=> (uint8[1,6,3,3] q)",
            "x = DequantizeLinear(xq, xs, xz)  w = DequantizeLinear<axis=0>(wq, cs, cz)  "
            "u = Conv(x, w)  q = QuantizeLinear(u, qs, qz)",
            qs=25.0,
        ),
        "wq cs cz",
        "QLinearConv",
    ),
    "signed-activations-become-unsigned": Case(
        "g (float[1,16,5,5] f, int8[6,16,3,3] wq) => (float[1,6,3,3] y) "
        "<float xs={0.02}, int8 xz={-3}, float ws={0.01}, int8 wz={0}, "
        "float qs={0.2}, int8 qz={4}> "
        "{ xq = QuantizeLinear(f, xs, xz)  x = DequantizeLinear(xq, xs, xz)  "
        "w = DequantizeLinear(wq, ws, wz)  u = Conv(x, w)  q = QuantizeLinear(u, qs, qz)  "
        "y = DequantizeLinear(q, qs, qz) }",
        "wq",
        "QuantizeLinear QLinearConv DequantizeLinear",
    ),
    "qlinear-matmul": Case(
        _codes(
            "g (uint8[3,64] xq, int8[64,6] wq) => (uint8[3,6] q)",
            "x = DequantizeLinear(xq, xs, xz)  w = DequantizeLinear(wq, ws, wz)  "
            "u = MatMul(x, w)  q = QuantizeLinear(u, qs, qz)",
            wz=7,
        ),
        "wq",
        "QLinearMatMul",
    ),
    "matmul-integer-to-float": Case(
        _codes(
            "g (uint8[3,64] xq, int8[64,6] wq) => (float[3,6] u)",
            "x = DequantizeLinear(xq, xs, xz)  w = DequantizeLinear(wq, ws, wz)  u = MatMul(x, w)",
        ),
        "wq",
        "MatMulIntegerToFloat",
    ),
    "qgemm": Case(
        _codes(
            "g (uint8[3,64] xq, int8[6,64] wq, int32[6] bq) => (uint8[3,6] q)",
            "x = DequantizeLinear(xq, xs, xz)  w = DequantizeLinear(wq, ws)  "
            "b = DequantizeLinear(bq, bs)  u = Gemm<transB=1>(x, w, b)  "
            "q = QuantizeLinear(u, qs, qz)",
        ).replace("<float xs", "<float bs={0.0002}, float xs"),
        "wq bq",
        "QGemm",
    ),
    "qgemm-float-result": Case(
        _codes(
            "g (uint8[3,64] xq, int8[64,6] wq) => (float[3,6] u)",
            "x = DequantizeLinear(xq, xs, xz)  w = DequantizeLinear(wq, ws, wz)  u = Gemm(x, w)",
        ),
        "wq",
        "QGemm",
    ),
    "qlinear-add": Case(
        _codes(
            "g (uint8[3,6] aq, uint8[3,6] bq) => (uint8[3,6] q)",
            "a = DequantizeLinear(aq, xs, xz)  b = DequantizeLinear(bq, ws)  "
            "u = Add(a, b)  q = QuantizeLinear(u, qs, qz)",
        ),
        "",
        "QLinearAdd",
    ),
    "qlinear-sigmoid": Case(
        _codes(
            "g (uint8[3,6] xq) => (uint8[3,6] q)",
            "x = DequantizeLinear(xq, xs, xz)  u = Sigmoid(x)  q = QuantizeLinear(u, qs, qz)",
            qs=0.004,
        ),
        "",
        "QLinearSigmoid",
    ),
    "qlinear-softmax": Case(
        _codes(
            "g (uint8[3,6] xq) => (uint8[3,6] q)",
            "x = DequantizeLinear(xq, xs, xz)  u = Softmax(x)  q = QuantizeLinear(u, qs, qz)",
            qs=0.004,
        ),
        "",
        "QLinearSoftmax",
    ),
    "qlinear-averagepool": Case(
        _codes(
            "g (uint8[1,3,6,6] xq) => (uint8[1,3,4,4] q)",
            "x = DequantizeLinear(xq, xs, xz)  u = AveragePool<kernel_shape=[3,3]>(x)  "
            "q = QuantizeLinear(u, qs, qz)",
            qs=0.02,
        ),
        "",
        "QLinearAveragePool",
    ),
    "qlinear-concat": Case(
        _codes(
            "g (uint8[3,6] aq, uint8[3,5] bq, uint8[3,2] cq) => (uint8[3,13] q)",
            "a = DequantizeLinear(aq, xs, xz)  b = DequantizeLinear(bq, ws)  "
            "c = DequantizeLinear(cq, qs, qz)  u = Concat<axis=1>(a, b, c)  "
            "q = QuantizeLinear(u, qs, qz)",
        ),
        "",
        "QLinearConcat",
    ),
    "codes-moved": Case(
        _codes(
            "g (uint8[3,6] xq) => (uint8[6,3] q)",
            "x = DequantizeLinear(xq, xs, xz)  u = Transpose<perm=[1,0]>(x)  "
            "q = QuantizeLinear(u, xs, xz)",
        ),
        "",
        "Transpose",
    ),
    "relu-before-codes": Case(
        "g (float[3,6] x) => (uint8[3,6] q) <float s={0.02}, uint8 z={0}> "
        "{ r = Relu(x)  q = QuantizeLinear(r, s, z) }",
        "",
        "QuantizeLinear",
    ),
    "dynamic-quantize-matmul": Case(
        "g (float[3,64] x, int8[64,6] wq, float[6] ws, int8[6] wz) => (float[3,6] y) "
        "{ xq, xs, xz = DynamicQuantizeLinear(x)  m = MatMulInteger(xq, wq, xz, wz)  "
        "c = Cast<to=1>(m)  s = Mul(xs, ws)  y = Mul(c, s) }",
        "wq ws wz",
        "DynamicQuantizeMatMul",
    ),
}
