"""The same network from several exporters and opsets: corresponding decisions agree."""

from pathlib import Path

import pytest
from onnx import parser, save

from fusectl import api
from tests.bench.exporters import TARGETS, Comparison, Export, Pair, comparisons, match, networks

WITHOUT_DIFFERENCE = (
    "dlrm",
    "gates_clips",
    "hf_bert",
    "matmul_bias_broadcasts",
    "matmul_bias_broadcasts_separate",
    "multi_use_preact",
    "unet_upsample",
)
"""Networks whose exports get the same verdicts on every target, whatever they are written with."""

SAME_DECISIONS = {
    "matmul_bias_broadcasts": ("dynamo",),
    "matmul_bias_broadcasts_separate": ("dynamo",),
    "mobilenetv3": ("dynamo",),
    "multi_use_preact": ("dynamo",),
    "resnet": ("dynamo", "dynamo_dynbatch", "legacy11_static"),
    "unet_upsample": ("dynamo",),
}
"""Exports in which every decision has its partner: nothing is spelled in another way."""

DYNAMIC = "ONNX Runtime makes MatMul and Add of rank 3 one Gemm only where all sizes are static"
TAKEN = "with static sizes the Gemm took the Add that BiasGelu would need"
TRAINING = "batch statistics cannot be folded into the weights, so the BatchNormalization stays"
RUN_TIME = "this export computes the BatchNormalization's parameters at run time, or lets callers"
THRESHOLD = "this exporter writes Softplus with its threshold, which reads the product too"
UNFOLDED = "ONNX Runtime does not fold a BatchNormalization into a Gemm, the other exporter did"

DIFFERENT = {
    ("bert_gelu_erf", "onnxruntime-cpu"): {
        ("matmul-bias", "legacy17", "unsupported-shape"): DYNAMIC,
        ("add-gelu", "legacy11_static", "claimed"): TAKEN,
        ("add-gelu", "legacy17_localfunctions", "claimed"): TAKEN,
    },
    ("clip_quickgelu", "onnxruntime-cpu"): {
        ("matmul-bias", "legacy17", "unsupported-shape"): DYNAMIC,
    },
    ("mlp_acts", "ideal"): {
        ("matmul-activation", "dynamo", "multi-user"): THRESHOLD,
        ("matmul-activation", "dynamo_noopt", "multi-user"): THRESHOLD,
        ("matmul-activation", "legacy17_training", "intervening-op"): TRAINING,
        ("matmul-activation", "legacy17_bn_preserved", "intervening-op"): RUN_TIME,
        ("matmul-batchnorm", "legacy17_training", "attribute"): TRAINING,
        ("matmul-batchnorm", "legacy17_bn_preserved", "not-constant"): RUN_TIME,
    },
    ("mlp_acts", "onnxruntime-cpu"): {
        ("matmul-activation", "dynamo", "multi-user"): THRESHOLD,
        ("matmul-activation", "legacy17", "intervening-op"): UNFOLDED,
    },
    ("mobilenetv3", "ideal"): {
        ("conv-activation", "legacy17_bn_preserved", "intervening-op"): RUN_TIME,
        ("conv-activation", "legacy17_training", "intervening-op"): TRAINING,
    },
    ("mobilenetv3", "onnxruntime-cpu"): {
        ("conv-activation", "legacy17_bn_preserved", "intervening-op"): RUN_TIME,
        ("conv-activation", "legacy17_training", "intervening-op"): TRAINING,
        ("conv-activation", "dynamo_noopt", "intervening-op"): RUN_TIME,
    },
    ("resnet", "ideal"): {
        ("conv-activation", "legacy17_bn_preserved", "intervening-op"): RUN_TIME,
        ("conv-activation", "legacy17_training", "intervening-op"): TRAINING,
    },
    ("resnet", "onnxruntime-cpu"): {
        ("conv-activation", "legacy17_bn_preserved", "intervening-op"): RUN_TIME,
        ("conv-activation", "legacy17_training", "intervening-op"): TRAINING,
        ("conv-activation", "dynamo_noopt", "intervening-op"): RUN_TIME,
    },
}
"""Rule, the export that keeps, headline: why the other one fuses."""

CHECKED = sorted({*WITHOUT_DIFFERENCE, *SAME_DECISIONS, *(network for network, _ in DIFFERENT)})


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def compared(corpus: Path, target: str) -> dict[str, list[Comparison]]:
    folder = corpus / "corpus" / "exported"
    if not folder.is_dir():
        pytest.skip(f"{folder}: there is no such folder")
    known = networks(folder)
    lacking = [name for name in CHECKED if len(known.get(name, ())) < 2]
    if lacking:
        pytest.skip(f"{folder}: too few exports of {', '.join(lacking)}")
    found: dict[str, list[Comparison]] = {name: [] for name in CHECKED}
    for one in comparisons(folder, target, CHECKED):
        found[one.base.network].append(one)
    return found


@pytest.mark.parametrize("network", CHECKED)
def test_corresponding_decisions_agree(
    compared: dict[str, list[Comparison]], network: str, target: str
) -> None:
    told = {kept_by(one, pair) for one in compared[network] for pair in one.different}
    listed = DIFFERENT.get((network, target), {})
    assert told - set(listed) == set(), "different verdicts without a reason"
    assert set(listed) - told == set(), "these agree now: take them off the list"
    assert any(one.pairs for one in compared[network])


def kept_by(one: Comparison, pair: Pair) -> tuple[str, str, str | None]:
    here = pair.base.verdict == "keep"
    export, kept = (one.base, pair.base) if here else (one.other, pair.other)
    return kept.rule, export.name, kept.headline


@pytest.mark.parametrize("network", SAME_DECISIONS)
def test_every_decision_has_its_partner(
    compared: dict[str, list[Comparison]], network: str
) -> None:
    for one in compared[network]:
        if one.other.name in SAME_DECISIONS[network]:
            alone = [f"{e.name}: {d.rule} {d.edge.value}" for e, d in one.alone]
            assert not alone, one.other.name


MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,8] "{x}", float[8,8] v, float[8,8] w) => (float[2,8] "{r}", float[2,8] "{s}") {{
  "{a}" = MatMul("{x}", v)  "{r}" = Relu("{a}")
  "{b}" = MatMul("{r}", w)  "{s}" = Relu("{b}")
}}
"""


def export(folder: Path, name: str, **names: str) -> Export:
    path = folder / f"net__{name}.onnx"
    save(parser.parse_model(MODEL.format(**names)), path)
    catalog = api.load_rules()
    return Export("net", name, path, api.explain(path, "ideal", rules=catalog), catalog)


def test_renamed_values_still_correspond(tmp_path: Path) -> None:
    one = export(tmp_path, "one", x="x", a="a", r="r", b="b", s="s")
    two = export(tmp_path, "two", x="in", a="mm", r="act", b="mm_1", s="act_1")
    pairs = match(one, two)
    assert [(p.base.edge.value, p.other.edge.value) for p in pairs] == [("a", "mm"), ("b", "mm_1")]
    assert {p.by for p in pairs} == {"structure"}


def test_equal_numbers_are_no_equal_names(tmp_path: Path) -> None:
    """Both exporters count their values; what is 3 in one is another value in the other."""
    one = export(tmp_path, "one", x="1", a="3", r="4", b="5", s="6")
    two = export(tmp_path, "two", x="1", a="5", r="6", b="3", s="4")
    pairs = match(one, two)
    assert [(p.base.edge.value, p.other.edge.value) for p in pairs] == [("3", "5"), ("5", "3")]
    assert all(p.by != "id" for p in pairs)
