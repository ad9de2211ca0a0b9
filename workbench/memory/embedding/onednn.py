"""Computes the linear layers of a BERT model in oneDNN instead of MKL, both in torch, in fp32.

torch takes Intel's MKL for products of 32-bit numbers. On processors of other makers MKL is slow: half the
speed of oneDNN on an AMD EPYC (Zen 5). torch takes oneDNN for 16-bit numbers, and in models made by
`torch.compile`, which needs a C++ compiler. So the two operators of compiled models are called here by their
names. Both libraries add up the same products: the vectors agree to the sixth decimal.
Source: torch 2.13, torch/_inductor/fx_passes/mkldnn_fusion.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

OPERATORS = ("_reorder_linear_weight", "_linear_pointwise")


def available() -> bool:
    """Whether this torch was built with oneDNN and has the two operators."""
    import torch

    built: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return built and all(hasattr(torch.ops.mkldnn, one) for one in OPERATORS)


def use_onednn(model: torch.nn.Module) -> None:
    """Lets oneDNN compute the linear layers of each BERT encoder in `model`, and the GELU after them.

    The layers keep their own weights, so the model can be saved; it can no longer be trained. Models of other
    architectures stay as they are.
    """
    from torch.nn import Identity, Linear
    from transformers.activations import GELUActivation
    from transformers.models.bert.modeling_bert import BertEncoder, BertIntermediate

    encoders = [one for one in model.modules() if isinstance(one, BertEncoder)]
    modules = [module for encoder in encoders for module in encoder.modules()]
    before_gelu = set()
    for module in modules:
        if isinstance(module, BertIntermediate) and type(module.intermediate_act_fn) is GELUActivation:
            before_gelu.add(module.dense)
            module.intermediate_act_fn = Identity()
    for layer in modules:
        if type(layer) is Linear:
            product = _product(layer, "gelu" if layer in before_gelu else "none")
            layer.forward = product  # type: ignore[method-assign, assignment]


def _product(layer: torch.nn.Linear, activation: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """What `layer` computes, with `activation` applied; its weights are ordered as oneDNN reads them."""
    import torch

    weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach())
    bias = None if layer.bias is None else layer.bias.detach()
    approximated = {"gelu": "none", "none": ""}[activation]

    def forward(inputs: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            inputs, weight, bias, activation, [], approximated
        )
        return outputs

    return forward
