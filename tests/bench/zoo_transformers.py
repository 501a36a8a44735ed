"""Architectures of transformers, in small configurations with random weights."""

# mypy: allow-subclassing-any
from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from tests.bench.zoo_net import Make, Net, net
from tests.bench.zoo_pictures import provide_operators

Options = Mapping[str, Any]
SMALL: Options = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 64, "vocab_size": 100, "max_position_embeddings": 64, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
PAIR: Options = {
    **SMALL, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
    "decoder_start_token_id": 1,
}  # fmt: skip
SPEECH: Options = {
    **SMALL, "conv_dim": (16, 16, 16), "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 3),
    "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2,
    "mask_time_prob": 0.0, "mask_feature_prob": 0.0, "apply_spec_augment": False,
}  # fmt: skip
PICTURE: Options = {**SMALL, "image_size": 32, "patch_size": 8, "num_channels": 3}
STAGES: Options = {"image_size": 64, "num_channels": 3}


def ids(*shape: int) -> Tensor:
    """Random tokens that are none of the special ones."""
    return torch.randint(3, 100, shape)


TEXT: Mapping[str, Callable[[], Tensor]] = {
    "input_ids": lambda: ids(2, 9),
    "attention_mask": lambda: torch.ones(2, 9, dtype=torch.long),
}
TEXTS: Mapping[str, Callable[[], Tensor]] = {**TEXT, "decoder_input_ids": lambda: ids(2, 5)}
WAVES: Mapping[str, Callable[[], Tensor]] = {"input_values": lambda: torch.randn(2, 800)}
PIXELS: Mapping[str, Callable[[], Tensor]] = {"pixel_values": lambda: torch.randn(2, 3, 32, 32)}
PIXELS64: Mapping[str, Callable[[], Tensor]] = {"pixel_values": lambda: torch.randn(2, 3, 64, 64)}


class Named(nn.Module):
    """A module of transformers that takes its inputs in order and gives all tensors back."""

    def __init__(self, module: nn.Module, names: tuple[str, ...], fixed: Options) -> None:
        super().__init__()
        self.module, self.names, self.fixed = module, names, dict(fixed)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        given = dict(zip(self.names, inputs, strict=True))
        out = self.module(**given, **self.fixed, return_dict=False)
        return tuple(
            t for t in (out if isinstance(out, tuple) else (out,)) if isinstance(t, Tensor)
        )


def hugging(
    name: str,
    inputs: Mapping[str, Callable[[], Tensor]],
    base: Options,
    kind: str = "Model",
    attention: str = "eager",
    fixed: Options | None = None,
    **changes: Any,
) -> Make:
    """A model of transformers by the prefix of its classes, with its options changed."""

    def make() -> Net:
        provide_operators()
        hub = importlib.import_module("transformers")
        options = getattr(hub, f"{name}Config")(**{**base, **changes})
        options._attn_implementation = attention
        module = getattr(hub, f"{name}{kind}")(options)
        names = tuple(inputs)
        wrapped = Named(module, names, fixed or {})
        return net(wrapped, *(make() for make in inputs.values()), names=names)

    return make


CACHE: Options = {"use_cache": False}
HUGGING: dict[str, Make] = {
    "albert": hugging("Albert", TEXT, SMALL, embedding_size=16),
    "distilbert": hugging("DistilBert", TEXT, SMALL, dim=32, hidden_dim=64, n_layers=2, n_heads=4),
    "roberta": hugging("Roberta", TEXT, SMALL, attention="sdpa"),
    "electra": hugging("Electra", TEXT, SMALL, "ForTokenClassification", embedding_size=16),
    "deberta": hugging(
        "Deberta", TEXT, SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"],
    ),
    "deberta_v2": hugging(
        "DebertaV2", TEXT, SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"],
        conv_kernel_size=3,
    ),
    "mpnet": hugging("MPNet", TEXT, SMALL),
    "mobilebert": hugging("MobileBert", TEXT, SMALL, embedding_size=16, intra_bottleneck_size=16),
    "squeezebert": hugging("SqueezeBert", TEXT, SMALL, embedding_size=32),
    "convbert": hugging("ConvBert", TEXT, SMALL, embedding_size=32),
    "fnet": hugging("FNet", {"input_ids": TEXT["input_ids"]}, SMALL),
    "roformer": hugging("RoFormer", TEXT, SMALL, embedding_size=32),
    "esm": hugging(
        "Esm", TEXT, SMALL, position_embedding_type="rotary", fixed={}, emb_layer_norm_before=True,
    ),
    "modernbert": hugging("ModernBert", TEXT, SMALL, attention="sdpa"),
    "ibert": hugging("IBert", TEXT, SMALL),
    "canine": hugging(
        "Canine", {"input_ids": lambda: ids(2, 16)}, SMALL, num_hash_buckets=64,
        local_transformer_stride=8,
    ),
    "layoutlm": hugging("LayoutLM", TEXT, SMALL),
    "opt": hugging(
        "OPT", TEXT, SMALL, "ForCausalLM", ffn_dim=64, word_embed_proj_dim=32, fixed=CACHE,
    ),
    "bloom": hugging("Bloom", TEXT, SMALL, "ForCausalLM", n_layer=2, n_head=4, fixed=CACHE),
    "gpt_neo": hugging(
        "GPTNeo", TEXT, SMALL, attention_types=[[["global", "local"], 1]], window_size=4,
        num_layers=2, num_heads=4, fixed=CACHE,
    ),
    "gpt_neox": hugging("GPTNeoX", TEXT, SMALL, "ForCausalLM", fixed=CACHE),
    "gptj": hugging("GPTJ", TEXT, SMALL, n_embd=32, n_layer=2, n_head=4, rotary_dim=4, fixed=CACHE),
    "codegen": hugging(
        "CodeGen", TEXT, SMALL, n_embd=32, n_layer=2, n_head=4, rotary_dim=4, fixed=CACHE,
    ),
    "phi": hugging("Phi", TEXT, SMALL, "ForCausalLM", fixed=CACHE),
    "phi3": hugging("Phi3", TEXT, SMALL, attention="sdpa", fixed=CACHE),
    "gemma": hugging("Gemma", TEXT, SMALL, head_dim=8, fixed=CACHE),
    "gemma2": hugging("Gemma2", TEXT, SMALL, "ForCausalLM", head_dim=8, fixed=CACHE),
    "mistral": hugging("Mistral", TEXT, SMALL, attention="sdpa", fixed=CACHE),
    "qwen2": hugging("Qwen2", TEXT, SMALL, fixed=CACHE),
    "stablelm": hugging("StableLm", TEXT, SMALL, fixed=CACHE),
    "falcon": hugging("Falcon", TEXT, SMALL, fixed=CACHE),
    "starcoder2": hugging("Starcoder2", TEXT, SMALL, fixed=CACHE),
    "olmo2": hugging("Olmo2", TEXT, SMALL, fixed=CACHE),
    "cohere": hugging("Cohere", TEXT, SMALL, "ForCausalLM", fixed=CACHE),
    "granite": hugging(
        "Granite", TEXT, SMALL, embedding_multiplier=2.0, residual_multiplier=0.5,
        attention_multiplier=0.3, fixed=CACHE,
    ),
    "t5": hugging(
        "T5", TEXTS, SMALL, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, fixed=CACHE,
    ),
    "mt5": hugging(
        "MT5", TEXT, SMALL, "EncoderModel", d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
    ),
    "bart": hugging("Bart", TEXTS, PAIR, fixed=CACHE),
    "pegasus": hugging("Pegasus", TEXTS, PAIR, fixed=CACHE),
    "marian": hugging("Marian", TEXTS, PAIR, attention="sdpa", fixed=CACHE),
    "whisper_decoder": hugging(
        "Whisper",
        {"input_features": lambda: torch.randn(2, 16, 40), "decoder_input_ids": lambda: ids(2, 5)},
        PAIR, num_mel_bins=16, max_source_positions=20, max_target_positions=20, fixed=CACHE,
    ),
    "wav2vec2": hugging("Wav2Vec2", WAVES, SPEECH, "ForCTC"),
    "hubert": hugging(
        "Hubert", WAVES, SPEECH, feat_extract_norm="layer", do_stable_layer_norm=True,
    ),
    "wavlm": hugging("WavLM", WAVES, SPEECH, num_buckets=16),
    "wav2vec2_conformer": hugging(
        "Wav2Vec2Conformer", WAVES, SPEECH, position_embeddings_type="relative",
    ),
    "ast": hugging(
        "AST", {"input_values": lambda: torch.randn(2, 40, 16)}, SMALL, max_length=40,
        num_mel_bins=16, patch_size=8, time_stride=8, frequency_stride=8,
    ),
    "siglip_vision": hugging("SiglipVision", PIXELS, PICTURE),
    "clip_text": hugging("CLIPText", TEXT, SMALL, hidden_act="gelu"),
    "blip_vision": hugging("BlipVision", PIXELS, PICTURE),
    "segformer": hugging(
        "Segformer", PIXELS64, STAGES, "ForSemanticSegmentation", depths=[1, 1, 1, 1],
        hidden_sizes=[8, 16, 24, 32], num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=16,
    ),
    "yolos": hugging(
        "Yolos", PIXELS, PICTURE, "ForObjectDetection", image_size=[32, 32], num_detection_tokens=5,
    ),
    "dinov2": hugging("Dinov2", PIXELS, PICTURE),
    "glpn": hugging(
        "GLPN", PIXELS64, STAGES, "ForDepthEstimation", depths=[1, 1, 1, 1], hidden_sizes=[8, 16,
        24, 32], num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=8,
    ),
    "convnextv2": hugging(
        "ConvNextV2", PIXELS64, STAGES, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32],
    ),
    "mobilenet_v1": hugging("MobileNetV1", PIXELS64, STAGES, depth_multiplier=0.25),
    "pvt": hugging(
        "Pvt", PIXELS64, STAGES, depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32],
        num_attention_heads=[1, 2, 3, 4],
    ),
    "swin2sr": hugging(
        "Swin2SR", PIXELS, STAGES, "ForImageSuperResolution", image_size=32, embed_dim=16,
        depths=[2], num_heads=[2], window_size=4,
    ),
    "detr": hugging(
        "Detr", PIXELS64, PAIR, use_timm_backbone=False,
        use_pretrained_backbone=False, backbone=None, num_queries=6,
        backbone_config={
            "model_type": "resnet", "embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1],
            "layer_type": "basic", "out_features": ["stage2"],
        },
    ),
    "vit_msn": hugging("ViTMSN", PIXELS, PICTURE),
    "patchtst": hugging(
        "PatchTST", {"past_values": lambda: torch.randn(2, 32, 3)}, SMALL, num_input_channels=3,
        context_length=32, patch_length=8, patch_stride=8, d_model=16, num_attention_heads=4,
        ffn_dim=32,
    ),
    "regnet": hugging(
        "RegNet", PIXELS64, {}, embedding_size=8, hidden_sizes=[16, 24], depths=[1, 2],
        groups_width=8,
    ),
    "mamba": hugging("Mamba", {"input_ids": TEXT["input_ids"]}, SMALL, state_size=4, fixed=CACHE),
    "rwkv": hugging(
        "Rwkv", {"input_ids": TEXT["input_ids"]}, SMALL, attention_hidden_size=32, fixed=CACHE,
    ),
    "perceiver": hugging(
        "Perceiver", {"inputs": lambda: torch.randn(2, 12, 16)}, SMALL, d_model=16, d_latents=32,
        num_latents=6, num_self_attends_per_block=2, num_self_attention_heads=4,
        num_cross_attention_heads=2,
    ),
    "encodec": hugging(
        "Encodec", {"input_values": lambda: torch.randn(2, 1, 640)}, {}, hidden_size=16,
        num_filters=4, upsampling_ratios=[4, 2], codebook_size=32, codebook_dim=16,
        num_lstm_layers=1,
    ),
}  # fmt: skip
"""Makers of networks by family."""
