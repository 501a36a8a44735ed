"""Small models, each for one outcome of an audit, and targets that are wrong on purpose."""

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'

PAIR = (
    HEAD
    + "pair (float[2,8] x, float[8,4] w) => (float[2,4] y) { u = MatMul(x, w)  y = Sigmoid(u) }"
)
"""The extended level keeps a MatMul and its Sigmoid apart."""

CONVOLUTION = (
    HEAD
    + """pair (float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,6,6] y)
{ u = Conv(x, w)  y = Relu(u) }"""
)
"""The extended level fuses a Conv and its Relu."""

CUBED = (
    HEAD
    + """cubed (float[4,8] x) => (float[4,8] y)
<float[1] three = {3}, float[1] eps = {0.00001},
 float[8] scale = {1,2,1,2,1,2,1,2}, float[8] bias = {0,1,0,1,0,1,0,1}>
{
  mu = ReduceMean<axes = [-1]>(x)
  d = Sub(x, mu)
  p = Pow(d, three)
  v = ReduceMean<axes = [-1]>(p)
  ve = Add(v, eps)
  s = Sqrt(ve)
  n = Div(d, s)
  m = Mul(n, scale)
  y = Add(m, bias)
}"""
)
"""A normalisation but for its exponent; ONNX Runtime 1.32 makes one of it nevertheless."""

LEFTOVERS = (
    HEAD
    + """leftovers (float[2,8] x) => (float[2,8] y)
<float[8] one = {1,1,1,1,1,1,1,1}>
{
  two = Add(one, one)
  four = Mul(two, two)
  a = Add(x, four)
  b = Identity(a)
  c = Relu(b)
  y = Exp(c)
}"""
)
"""Constants that are folded, and a node that is eliminated."""

ENDLESS = (
    HEAD
    + """endless (float[2,3,4] x, float[4,5] w) => (float[2,3,5] z, float[2,3,4] u)
<int64 many = {9000000000000000000}, bool go = {1}, float[5] b = {1,2,3,4,5}>
{
  u = Loop(many, go, x) <body = g (int64 i, bool c, float[2,3,4] s) => (bool more, float[2,3,4] t) {
    more = Identity(c)
    t = Sin(s)
  }>
  y = MatMul(x, w)
  z = Add(y, b)
}"""
)
"""A loop that nobody waits for, and a product that gets values without names around it."""

BRANCHES = (
    HEAD
    + """branches (bool which, float[1,3,8,8] x, float[4,3,3,3] w) => (float[1,4,6,6] y)
{
  z = If(which) <
    then_branch = g () => (float[1,4,6,6] a) { u = Conv(x, w)  a = Relu(u) },
    else_branch = h () => (float[1,4,6,6] b) { v = Conv(x, w)  b = Exp(v) }
  >
  y = Identity(z)
}"""
)
"""A pair in each branch: one is fused, one is not."""

STRANGE = (
    '<ir_version: 8, opset_import: ["" : 17, "nowhere" : 1]>\n'
    "strange (float[2] x) => (float[2] y) { u = nowhere.Twist(x)  y = Relu(u) }"
)
"""An operator that no runtime has."""

EAGER = """target: eager
summary: Promises what the compiler does not do.
audit: {runtime: onnxruntime, level: extended}
version: "0.9"
passes:
  - fuse: [matmul-activation]
paths:
  matmul-activation: {source: hope}
"""

BLIND = """target: blind
summary: Has nothing.
version: "1"
passes:
  - fuse: [matmul-activation]
paths:
  matmul-activation: {source: nothing else}
"""
