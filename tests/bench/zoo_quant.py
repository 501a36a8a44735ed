"""Quantised and half-precision forms of a model, by ONNX Runtime's own tools."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnx

Feeds = Mapping[str, npt.NDArray[Any]]
Write = Callable[[Path, Feeds, Path], None]


class _Samples:
    """A few inputs to calibrate with: those given, scaled."""

    def __init__(self, feeds: Feeds) -> None:
        self._left = iter(self._scaled(feeds))

    @staticmethod
    def _scaled(feeds: Feeds) -> Iterator[Feeds]:
        for scale in (1.0, 0.6, 1.4):
            yield {
                k: v if v.dtype.kind in "iub" else (v * scale).astype(v.dtype)
                for k, v in feeds.items()
            }

    def get_next(self) -> Feeds | None:
        return next(self._left, None)


@dataclass(frozen=True, slots=True)
class _Static:
    form: str
    act: str
    weight: str
    per_channel: bool = False
    options: Mapping[str, bool] = field(default_factory=dict)

    def __call__(self, model: Path, feeds: Feeds, out: Path) -> None:
        from onnxruntime import quantization as q
        from onnxruntime.quantization.shape_inference import quant_pre_process

        with tempfile.TemporaryDirectory() as folder:
            ready = str(Path(folder) / "ready.onnx")
            quant_pre_process(str(model), ready, skip_optimization=True, skip_symbolic_shape=True)
            q.quantize_static(
                ready,
                str(out),
                _Samples(feeds),
                quant_format=getattr(q.QuantFormat, self.form),
                activation_type=getattr(q.QuantType, self.act),
                weight_type=getattr(q.QuantType, self.weight),
                per_channel=self.per_channel,
                extra_options=dict(self.options),
            )


@dataclass(frozen=True, slots=True)
class _Dynamic:
    weight: str
    per_channel: bool = False

    def __call__(self, model: Path, feeds: Feeds, out: Path) -> None:
        from onnxruntime import quantization as q

        kind = getattr(q.QuantType, self.weight)
        q.quantize_dynamic(str(model), str(out), weight_type=kind, per_channel=self.per_channel)


def _half(model: Path, feeds: Feeds, out: Path) -> None:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(model), keep_io_types=True), out)


_SYMMETRIC = {"ActivationSymmetric": True, "WeightSymmetric": True}
FORMS: Mapping[str, Write] = {
    "qdq_u8s8_minmax": _Static("QDQ", "QUInt8", "QInt8"),
    "qdq_s8s8_sym_perch": _Static("QDQ", "QInt8", "QInt8", True, _SYMMETRIC),
    "qdq_u8u8_asym": _Static("QDQ", "QUInt8", "QUInt8", options={"WeightSymmetric": False}),
    "qop_u8u8": _Static("QOperator", "QUInt8", "QUInt8"),
    "qop_s8s8_perch": _Static("QOperator", "QInt8", "QInt8", per_channel=True),
    "dyn_u8": _Dynamic("QUInt8"),
    "dyn_s8_perch": _Dynamic("QInt8", per_channel=True),
    "half_io": _half,
}
"""Writers by the suffix of the file."""
