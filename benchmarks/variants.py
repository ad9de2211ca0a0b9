"""The backends and precisions of the local model that the benchmarks compare."""

from workbench.memory.embedding.engines import ModelVariant

VARIANTS = (
    ModelVariant("torch"),
    ModelVariant("torch", "bf16"),
    ModelVariant("openvino"),
    ModelVariant("openvino", "bf16"),
    ModelVariant("openvino", "int8"),
)
