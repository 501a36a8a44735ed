"""Classifiers of timm and torchvision, in small configurations with random weights."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import torch
from torch import library

from tests.bench.zoo_net import Make, Net, net

_OPERATORS = library.Library("torchvision", "FRAGMENT")


def provide_operators() -> None:
    """Declare the two operators that torchvision's Python part asks for.

    Its compiled part, which declares them too, may be missing or not fit the torch that is
    installed; nothing here runs it.
    """
    with contextlib.suppress(Exception):
        importlib.import_module("torchvision")
        return
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            _OPERATORS.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def pictures(hub: str, name: str, size: int = 64, *parts: str, **options: Any) -> Make:
    """A classifier by its place in timm or torchvision.

    The options named in ``parts`` are names of classes of the same place.
    """

    def make() -> Net:
        provide_operators()
        place = importlib.import_module(hub)
        given = {k: _part(place, v) if k in parts else v for k, v in options.items()}
        module = getattr(place, name)(num_classes=10, **given)
        return net(module, torch.randn(2, 3, size, size), names=("image",))

    return make


def full_size(text: str) -> tuple[str, Make]:
    """A family of one classifier of timm as it is: ``NAME`` or ``NAME:PIXELS``, 64 without."""
    name, _, pixels = text.partition(":")
    size = int(pixels or 64)

    def make() -> Net:
        module = importlib.import_module("timm").create_model(name, num_classes=10)
        return net(module, torch.randn(2, 3, size, size), names=("image",))

    return f"x_{name}", make


def _part(place: object, name: Any) -> Any:
    return getattr(place, name) if isinstance(name, str) else [getattr(place, n) for n in name]


PICTURES: dict[str, Make] = {
    "efficientnet": pictures("timm.models", "test_efficientnet"),
    "efficientnet_gn": pictures("timm.models", "test_efficientnet_gn"),
    "efficientnet_evos": pictures("timm.models", "test_efficientnet_evos"),
    "convnext": pictures(
        "timm.models", "convnext_atto", depths=(1, 1, 2, 1), dims=(16, 24, 32, 48),
    ),
    "nfnet": pictures("timm.models", "test_nfnet"),
    "byobnet": pictures("timm.models", "test_byobnet"),
    "coatnet": pictures("timm.models", "test_coatnet", 160),
    "maxvit": pictures("timm.models", "test_maxvit", 160),
    "mambaout": pictures("timm.models", "test_mambaout"),
    "vit_relpos": pictures("timm.models", "test_vit_relpos", 160),
    "swin": pictures(
        "timm.models", "swin_tiny_patch4_window7_224", 56, img_size=56, embed_dim=24, depths=(2, 2),
        num_heads=(2, 4),
    ),
    "swinv2": pictures(
        "timm.models", "swinv2_tiny_window8_256", 64, img_size=64, embed_dim=24, depths=(2, 1),
        num_heads=(2, 4),
    ),
    "deit": pictures(
        "timm.models", "deit_tiny_distilled_patch16_224", img_size=64, embed_dim=48, depth=2,
        num_heads=3,
    ),
    "mixer": pictures(
        "timm.models.mlp_mixer", "MlpMixer", img_size=64, patch_size=8, num_blocks=2, embed_dim=32,
    ),
    "gmlp": pictures(
        "timm.models.mlp_mixer", "MlpMixer", 64, "block_layer", "mlp_layer", img_size=64,
        patch_size=8, num_blocks=2, embed_dim=32, mlp_ratio=6, block_layer="SpatialGatingBlock",
        mlp_layer="GatedMlp",
    ),
    "resmlp": pictures(
        "timm.models.mlp_mixer", "MlpMixer", 64, "block_layer", "norm_layer", img_size=64,
        patch_size=8, num_blocks=2, embed_dim=32, mlp_ratio=4, block_layer="ResBlock",
        norm_layer="Affine",
    ),
    "poolformer": pictures(
        "timm.models.metaformer", "MetaFormer", 64, "token_mixers", depths=(1, 1, 1, 1), dims=(16,
        24, 32, 48), token_mixers="Pooling",
    ),
    "edgenext": pictures(
        "timm.models", "edgenext_xx_small", dims=(16, 24, 32, 48), depths=(1, 2, 2, 1),
    ),
    "xcit": pictures("timm.models", "xcit_nano_12_p16_224", embed_dim=32, depth=2, num_heads=4),
    "cait": pictures(
        "timm.models", "cait_xxs24_224", img_size=64, embed_dim=32, depth=2, num_heads=4,
    ),
    "beit": pictures(
        "timm.models", "beit_base_patch16_224", img_size=64, embed_dim=32, depth=2, num_heads=4,
    ),
    "convmixer": pictures(
        "timm.models.convmixer", "ConvMixer", dim=32, depth=2, kernel_size=7, patch_size=8,
    ),
    "volo": pictures(
        "timm.models.volo", "VOLO", img_size=64, layers=(1, 1, 1, 1), embed_dims=(24, 32, 32, 32),
        num_heads=(2, 4, 4, 4),
    ),
    "tnt": pictures(
        "timm.models", "tnt_s_patch16_224", img_size=64, embed_dim=32, inner_dim=8, depth=2,
        num_heads_outer=4,
    ),
    "twins": pictures(
        "timm.models", "twins_svt_small", img_size=64, embed_dims=(16, 24, 32, 48), num_heads=(1, 2,
        2, 3), depths=(1, 1, 2, 1),
    ),
    "pit": pictures(
        "timm.models", "pit_ti_224", 64, img_size=64, base_dims=(16, 16, 16), depth=(1, 1, 1),
    ),
    "davit": pictures(
        "timm.models", "davit_tiny", depths=(1, 1, 1, 1), embed_dims=(16, 24, 32, 48), num_heads=(1,
        2, 2, 3),
    ),
    "focalnet": pictures("timm.models.focalnet", "FocalNet", depths=(1, 1, 1, 1), embed_dim=16),
    "inception_next": pictures(
        "timm.models", "inception_next_atto", depths=(1, 1, 1, 1), dims=(16, 24, 32, 48),
    ),
    "mobilevit": pictures("timm.models", "mobilevit_xxs"),
    "mobilevitv2": pictures("timm.models", "mobilevitv2_050"),
    "lcnet": pictures("timm.models", "lcnet_035"),
    "tinynet": pictures("timm.models", "tinynet_e"),
    "mnasnet": pictures("timm.models", "mnasnet_small"),
    "dla": pictures("timm.models", "dla46_c"),
    "efficientvit": pictures("timm.models", "efficientvit_b0"),
    "starnet": pictures("timm.models", "starnet_s050"),
    "repghost": pictures("timm.models", "repghostnet_050"),
    "ghostnet": pictures("timm.models", "ghostnet_050"),
    "mobilenetv4": pictures("timm.models", "mobilenetv4_conv_small_035"),
    "levit": pictures(
        "timm.models", "levit_128s", 224, embed_dim=(32, 48, 64), num_heads=(2, 3, 4), depth=(1, 1,
        1), key_dim=8,
    ),
    "hiera": pictures(
        "timm.models", "hiera_tiny_224", 224, embed_dim=16, num_heads=1, stages=(1, 1, 1, 1),
    ),
    "pvt_v2": pictures(
        "timm.models", "pvt_v2_b0", embed_dims=(8, 16, 24, 32), depths=(1, 1, 1, 1), num_heads=(1,
        2, 3, 4),
    ),
    "tiny_vit": pictures(
        "timm.models", "tiny_vit_5m_224", embed_dims=(16, 24, 32, 48), depths=(1, 1, 1, 1),
        num_heads=(2, 2, 4, 4), window_sizes=(7, 7, 7, 7),
    ),
    "rdnet": pictures(
        "timm.models", "rdnet_tiny", num_init_features=16, growth_rates=(8, 8, 8),
        num_blocks_list=(2, 2, 2), is_downsample_block=(None, True, True),
        transition_compression_ratio=0.5, ls_init_value=1e-6, block_type=("Block",) * 3,
    ),
    "squeezenet": pictures("torchvision.models", "squeezenet1_1"),
    "shufflenet_v2": pictures("torchvision.models", "shufflenet_v2_x0_5"),
    "mnasnet_tv": pictures("torchvision.models", "mnasnet0_5"),
    "densenet": pictures(
        "torchvision.models", "DenseNet", growth_rate=8, block_config=(2, 2, 2),
        num_init_features=16,
    ),
}  # fmt: skip
"""Makers of networks by family."""
