"""Reads a model's weights as parts of their file: the operating system loads what is used.

A safetensors file has the length of its header in 8 bytes, a header in JSON, and then the numbers. Source:
huggingface/safetensors, which describes the format. That library copies all numbers into memory first.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def weights_of(file: Path) -> dict[str, NDArray[np.float32]]:
    """The float32 weights of a safetensors file, by name. A change of them is not written to the file."""
    # OpenVINO takes only arrays that can be changed without a copy, hence copy-on-write.
    content = np.memmap(file, np.uint8, "c").view(np.ndarray)
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8:start].tobytes())
    numbers = content[start:]
    return {
        name: numbers[slice(*one["data_offsets"])].view("<f4").reshape(one["shape"])
        for name, one in header.items()
        if one.get("dtype") == "F32"
    }
