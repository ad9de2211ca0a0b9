"""How many tokens the answers for agents have: `python -m benchmarks.answer_tokens [FOLDER]`.

The labelled questions of a memory are asked of the tools that `workbench serve` offers. Tokens are those of
the packaged model's own tokenizer, in the text of an answer as MCP sends it; the last column is our estimate.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence

from transformers import AutoTokenizer

from workbench.measure.questions import labels_of
from workbench.memory.embedding.local import verified_model
from workbench.systems.catalogue import default_system, system
from workbench_plugins.agent.answer_length import tokens
from workbench_plugins.agent.tool_contracts import WORKBENCH, Answer
from workbench_plugins.agent.tools import AgentTools


def main(memory: str = "sample_memory") -> None:
    """Prints a line for each kind of answer."""
    labels = labels_of(memory)
    assert labels is not None
    read = AutoTokenizer.from_pretrained(verified_model(), model_max_length=10**9)  # it only counts
    with AgentTools(memory, pipeline=system(default_system()), contract=WORKBENCH) as tools:
        asked = [(one.question, one.target) for one in labels.questions]
        kinds = {
            "search": [tools.memory_search(question) for question, _ in asked],
            "explanation": [tools.memory_explain(question) for question, _ in asked],
            "explanation of a file": [tools.memory_explain(*one) for one in asked],
            "explanation with more": [tools.memory_explain(*one, more=True) for one in asked],
        }
    refused = next((one for some in kinds.values() for one in some if "error" in one), None)
    if refused is not None:
        raise SystemExit(f"A question was not answered: {refused}")
    print(f"{'answers about ' + memory:32} {'median':>8} {'most':>8} {'estimate':>9} {'with more':>10}")
    for kind, answers in kinds.items():
        counts = [_count(read, one) for one in answers]
        estimate, more = max(map(tokens, answers)), sum("more" in one for one in answers)
        print(
            f"{kind:32} {statistics.median(counts):8.0f} {max(counts):8} {estimate:9} "
            f"{more:5} of {len(answers)}"
        )


def _count(read: object, answer: Answer) -> int:
    text = json.dumps(answer, ensure_ascii=False)
    pieces: Sequence[str] = read.tokenize(text)  # type: ignore[attr-defined]
    return len(pieces)


if __name__ == "__main__":
    main(*sys.argv[1:])
