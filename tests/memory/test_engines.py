"""The local model in other backends and precisions: the same vectors nearly, another identity always."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.commands import Run
from tests.conftest import PROJECT, SAMPLE
from tests.home import Home
from workbench.errors import InputError
from workbench.memory.embedding import engines
from workbench.memory.embedding.engines import PIECES_A_BATCH, ModelVariant, batches, cpu_flags, cpu_has
from workbench.memory.embedding.local import (
    PACKAGED_MODEL,
    LocalEmbedder,
    Truncated,
    local_embedder,
    packaged_model,
)
from workbench.memory.embedding.torch_engine import TorchEngine
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench_plugins.openvino.openvino_engine import RANGES, OpenVinoEngine
from workbench_plugins.recommended.words import for_signs, word_vectors

EVERY = [
    ModelVariant("torch"),
    ModelVariant("torch", "bf16"),
    ModelVariant("openvino"),
    ModelVariant("openvino", "bf16"),
    ModelVariant("openvino", "int8"),
]
LEAST = {"fp32": 1 - 1e-6, "bf16": 0.9995, "int8": 0.97}


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Paragraphs of the sample memory, texts four times as long as the window, and other scripts."""
    files = sorted((SAMPLE / "memory" / "reference").glob("*.md"))
    long = [file.read_text(encoding="utf-8")[:4_000] for file in files]
    return [*long, *long[0].split("\n\n")[:4], "naïve façade ☕", "日本語のメモ", "x" * 900]


Vectors = Callable[[ModelVariant], NDArray[np.float32]]


@pytest.fixture(scope="module")
def vectors(texts: list[str]) -> Vectors:
    """What a variant makes of the texts; each is computed once."""
    return cache(lambda variant: LocalEmbedder(variant=variant).embed(texts, "passage").vectors)


@pytest.mark.parametrize("variant", EVERY, ids=str)
def test_a_revision_names_what_opens_the_index_again(variant: ModelVariant) -> None:
    embedder = LocalEmbedder(reading=Truncated(), variant=variant)
    again = local_embedder(PACKAGED_MODEL, embedder.revision)
    assert again is not None
    assert again.revision == embedder.revision
    assert local_embedder(PACKAGED_MODEL, embedder.revision.replace("truncated", "skimmed")) is None
    assert again.variant == (ModelVariant() if variant.precision == "fp32" else variant)


def test_fp32_is_one_revision_and_every_other_precision_of_a_backend_has_its_own() -> None:
    assert LocalEmbedder().revision == "53aa51172d14/windowed"  # that existing indexes have
    assert [LocalEmbedder(variant=one).revision.split("/")[1:-1] for one in EVERY] == [
        [], ["torch-bf16"], [], ["openvino-bf16"], ["openvino-int8-2"]
    ]  # fmt: skip


@pytest.mark.parametrize(("has_bf16", "places"), [(True, (0, 1, 3, 3, 4)), (False, (0, 1, 2, 3, 4))])
def test_signs_are_computed_in_bf16_where_openvino_and_the_processor_have_it(
    has_bf16: bool, places: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench_plugins.recommended.words.cpu_has", lambda _: has_bf16)
    signs = [for_signs(LocalEmbedder(variant=one)).variant for one in EVERY]
    assert signs == [EVERY[place] for place in places]


def test_openvino_computes_by_default_and_torch_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(LocalEmbedder().engine, OpenVinoEngine)
    monkeypatch.setitem(sys.modules, "openvino", None)
    assert LocalEmbedder().backend == "torch"
    assert LocalEmbedder(variant=ModelVariant(precision="int8")).backend == "openvino"


def test_without_the_feature_torch_computes_and_its_backend_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = LocalEmbedder(variant=ModelVariant("openvino", "int8")).revision
    monkeypatch.setattr(engines.BACKENDS, "rows", {})
    assert isinstance(LocalEmbedder().engine, TorchEngine)
    assert local_embedder(PACKAGED_MODEL, made) is None
    with pytest.raises(InputError, match=r"no backend 'openvino'.*\n.*torch"):
        ModelVariant("openvino")
    with pytest.raises(InputError, match="no precision 'int8'"):
        ModelVariant(precision="int8")


def test_new_ranges_would_be_another_model() -> None:
    digest = hashlib.sha256(RANGES.read_bytes()).hexdigest()
    assert digest[:12] == "7fd6d28f1fbd", "indexes were made with the old ranges: rename the precision"


def test_a_variant_that_does_not_exist_is_refused() -> None:
    none = {"torch has no precision int8": ("torch", "int8"), "no precision 'fp8'": ("torch", "fp8")}
    for problem, variant in (none | {"no backend 'tensorrt'": ("tensorrt", "fp32")}).items():
        with pytest.raises(InputError, match=problem):
            ModelVariant(*variant)  # type: ignore[arg-type]


def test_openvino_runs_the_packaged_model_only() -> None:
    with pytest.raises(InputError, match="all-MiniLM-L6-v2 only, not 'other'"):
        LocalEmbedder("other", variant=ModelVariant("openvino"))
    with pytest.raises(InputError, match="all-MiniLM-L6-v2 only, not 'other'"):
        LocalEmbedder("other", variant=ModelVariant(precision="int8"))
    assert LocalEmbedder("other").backend == "torch"


def test_a_provider_has_no_precision(run: Run, home: Home) -> None:
    refused = run("index", home.root, "--model", "openai/text-embedding-3-small", "--precision", "bf16")
    assert refused.code == 2
    assert "leave --precision and --backend out" in refused.err


@pytest.mark.parametrize("variant", EVERY[1:], ids=str)
def test_variants_agree_with_torch(variant: ModelVariant, texts: list[str], vectors: Vectors) -> None:
    if not cpu_has(variant.precision):
        pytest.skip(f"this processor has no {variant.precision}")
    assert np.linalg.norm(vectors(variant), axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)
    assert (vectors(variant) * vectors(EVERY[0])).sum(axis=1).min() >= LEAST[variant.precision]


def test_in_fp32_both_backends_compute_one_identity(vectors: Vectors) -> None:
    backends = [ModelVariant(backend) for backend in ("torch", "openvino")]
    assert np.abs(np.subtract(*map(vectors, backends))).max() <= 2e-6
    odd = ["", " \n", "…", "[SEP] [MASK]", "tea " * 300, "a\0b", "ﷺ" * 200, "0 1 " * 500]
    torch, openvino = (LocalEmbedder(variant=one).embed(odd, "passage").vectors for one in backends)
    assert np.abs(torch - openvino).max() <= 2e-6
    assert all(a @ b >= 1 - 1e-6 for text, a, b in zip(odd, torch, openvino, strict=True) if text)


@given(st.lists(st.integers(0, 3 * PIECES_A_BATCH)), st.integers(1, 9))
def test_batches_hold_each_text_once_and_little_padding(lengths: list[int], size: int) -> None:
    made = list(batches(lengths, size))
    assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
    assert [lengths[place] for batch in made for place in batch] == sorted(lengths, reverse=True)
    for batch in made:
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= PIECES_A_BATCH
        assert len(batch) <= size


def test_the_flags_of_linux_are_read_for_both_kinds_of_processor(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(
        "processor\t: 0\nflags\t\t: fpu avx512_bf16 avx512_vnni\n\nprocessor\t: 1\nflags\t: fpu\n"
    )
    assert cpu_flags(file) == {"fpu", "avx512_bf16", "avx512_vnni"}
    file.write_text("processor\t: 0\nFeatures\t: fp asimd bf16 i8mm\n")
    assert cpu_flags(file) == {"fp", "asimd", "bf16", "i8mm"}
    assert cpu_flags(tmp_path / "absent") == frozenset()


def test_an_index_refuses_another_precision_than_made_it_and_opens_with_its_own(home: Home) -> None:
    made = LocalEmbedder(variant=ModelVariant("openvino", "int8"))
    place = home.file.with_name("fast.sqlite")
    index_folder(home.root, made, options=Options(index_path=place))
    with pytest.raises(InputError, match=r"openvino-int8-2/windowed.*not .*53aa51172d14/windowed"):
        index_folder(home.root, LocalEmbedder(), options=Options(index_path=place))
    with pytest.raises(InputError, match="another model"):
        open_index(home.root, LocalEmbedder(), index_path=place)
    with open_index(home.root, index_path=place) as index:
        assert index.embedder == made


def test_an_index_of_either_engine_in_fp32_is_used_by_both(home: Home) -> None:
    place = home.file.with_name("both.sqlite")
    index_folder(home.root, LocalEmbedder(variant=ModelVariant("torch")), options=Options(index_path=place))
    (home.root / "memory" / "new.md").write_text("A new note.")
    assert index_folder(home.root, options=Options(index_path=place)).embedded == 1
    with open_index(home.root, index_path=place) as index:
        assert index.embedder.backend == "openvino"  # type: ignore[attr-defined]
        assert index.embed("tea").shape == (384,)


def test_a_processor_without_int8_uses_fp32(run: Run, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "cpu_flags", lambda: frozenset({"sse4_2", "avx2"}))
    place = str(home.file.with_name("plain.sqlite"))
    made = run("index", str(home.root), "--index", place, "--precision", "int8")
    assert made.code == 0
    assert "int8 is not used: this processor" in made.err
    assert run("index", str(home.root), "--index", place).code == 0


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, OpenVinoEngine.__module__)
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(InputError, match=r"needs the package openvino.*\n.*\[fast\]"):
        LocalEmbedder(variant=ModelVariant("openvino")).embed(["tea"], "query")


@cache
def single_words(variant: ModelVariant, asked: tuple[str, ...]) -> list[Any]:
    return list(word_vectors(LocalEmbedder(variant=variant), asked, "query"))


@pytest.mark.parametrize("variant", EVERY[1:], ids=str)
def test_single_words_of_a_variant_agree_with_those_of_torch(variant: ModelVariant, texts: list[str]) -> None:
    if not cpu_has(variant.precision):
        pytest.skip(f"this processor has no {variant.precision}")
    asked = (*texts[-4:], "the of and", "Where is the key of the greenhouse?")
    exact, other = (single_words(one, asked) for one in (EVERY[0], variant))
    (alone,) = single_words(variant, asked[-1:])
    assert [one.words.shape for one in other] == [one.words.shape for one in exact]
    cosines = [(a.words * b.words).sum(axis=1).mean() for a, b in zip(exact, other, strict=True)]
    assert np.mean(cosines) >= LEAST[variant.precision]
    assert (alone.words * other[-1].words).sum(axis=1).min() >= LEAST[variant.precision]


@pytest.mark.parametrize("system", ["openclaw-2026.2.13", "recommended"])
def test_a_search_in_openvino_loads_neither_torch_nor_what_others_need(home: Home, system: str) -> None:
    place = home.file.with_name("fast.sqlite")
    index_folder(home.root, LocalEmbedder(), options=Options(index_path=place))
    code = (
        "import sys; from workbench.cli import main\n"
        f"sys.argv = ['workbench', 'search', 'tea', '--system', {system!r}, "
        f"'--memory', {str(home.root)!r}, '--index', {str(place)!r}]\n"
        "try: main()\n"
        "except SystemExit as end: print('code', end.code)\n"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'sklearn', 'pandas', 'plotly'}\n"
        "other = {'openvino_telemetry', 'openvino.tools', 'urllib.request', 'filelock', "
        "'workbench_plugins.openclaw.config'}\n"
        "ours = [one for one in sys.modules if one.startswith('workbench')]\n"
        "print('loaded', sorted((heavy | other) & set(sys.modules)), len(ours) <= 96 or ours)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-2:] == ["code 0", "loaded [] True"], done.stdout + done.stderr


@pytest.mark.parametrize(
    "text", ["", "tea", "tea " * 253, "tea " * 254, "tea " * 255, "[SEP] " * 300, "ありがとう" * 100]
)
def test_a_text_is_cut_off_as_the_tokenizer_itself_cuts_it(text: str) -> None:
    from tokenizers import Tokenizer

    engine = OpenVinoEngine(packaged_model())
    whole = Tokenizer.from_str(engine.tokenizer.to_str())
    whole.enable_truncation(256)
    (cut,) = engine.cut([text])
    assert cut.ids == whole.encode(text).ids
