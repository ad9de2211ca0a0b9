"""What is wrong with a foreign engine's legs: ids, filters, tokenizers and scores without IDF."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from workbench.terminal import text_of
from workbench_plugins.cases.model import Case, CaseLists, CaseMemory, CaseQuestion, CaseSystem, Expected
from workbench_plugins.cases.running import run_case
from workbench_plugins.diagnose.page import Diagnosis
from workbench_plugins.engines.lists import Asked, Pairs
from workbench_plugins.recorder.cases import cause_in_lists
from workbench_plugins.recorder.fusion_causes import plain_id
from workbench_plugins.recorder.recorded_index import TopK
from workbench_plugins.recorder.recording import Recorder, Recording, record

TEXTS = {
    "notes/tea.md": "the rooibos tea of the morning",
    "notes/bike.md": "the rear hub of the bike",
    "notes/oven.md": "the oven of the bakery",
    "notes/boat.md": "the boat of the harbour",
    "notes/door.md": "the door of the barn",
    "notes/lamp.md": "the the the lamp of the hall",
}


def words(
    score: Callable[[str, list[str]], float], limit: int, read: Callable[[str], str] = str.lower
) -> Asked:
    def ask(question: str, depth: int) -> Pairs:
        asked = read(question).split()
        found = {id_: score(text, asked) for id_, text in TEXTS.items()}
        best = sorted((one for one in found if found[one]), key=lambda one: (-found[one], one))
        return [(one, found[one]) for one in best[:depth]]

    return Asked(ask, TopK(cap=limit))


def near(first: list[str], limit: int) -> Asked:
    return Asked(
        lambda _, depth: [(one, 1 - place / 10) for place, one in enumerate(first)][:depth], TopK(cap=limit)
    )


def count(text: str, asked: list[str]) -> float:
    return float(sum(text.split().count(one) for one in asked))


def first_cause(recorder: Recorder, question: str, target: str) -> tuple[str, Diagnosis]:
    found = recorder.record(question).diagnose(target)
    assert found.causes
    return found.causes[0].description, found


def test_a_document_that_is_dropped_after_the_legs_is_named_with_its_rank() -> None:
    keyword = [("a", 8.0), ("b", 5.0), ("c", 4.5), ("d", 4.0)]
    vector = [("a", 0.8), ("c", 0.68), ("b", 0.66), ("e", 0.6)]
    fused = {id_: 0.0 for id_, _ in keyword + vector}
    for legs in (keyword, vector):
        for rank, (id_, _) in enumerate(legs, 1):
            fused[id_] += 1 / (60 + rank)
    answer = sorted(((id_, score) for id_, score in fused.items() if id_ != "a"), key=lambda one: -one[1])
    recording = record("tea", {"vector": vector, "keyword": keyword}, fused=answer)
    assert recording.description.endswith("which lacks documents of the fusion that gives its scores")
    first, *_ = recording.diagnose("a").causes
    assert (first.description, first.verified) == ("the engine drops a, which its legs return", True)
    assert first.evidence.endswith("It gives a the rank 1.")
    other = [(id_, score + 0.001 * place) for place, (id_, score) in enumerate(answer)]
    unknown = record(
        "tea", {"vector": vector, "keyword": keyword}, fused=sorted(other, key=lambda one: -one[1])
    )
    assert unknown.description.endswith("which no known fusion gives")
    assert not any("which its legs return" in one.description for one in unknown.diagnose("a").causes)


def test_a_document_is_named_that_one_leg_ranks_and_the_answer_lacks() -> None:
    """Such as a removal of duplicates by folder, in an engine of one list."""
    listed = [("a/1", 0.9), ("a/2", 0.8), ("b/1", 0.7), ("c/1", 0.6)]
    recording = record("tea", {"vector": listed}, fused=[listed[0], *listed[2:]])
    first, *_ = recording.diagnose("a/2").causes
    assert (first.description, first.verified) == ("the engine drops a/2, which its legs return", True)


@pytest.mark.parametrize(("rank", "named"), [(2, True), (4, False)])
def test_a_document_is_named_that_every_leg_ranks_before_a_result_whatever_the_fusion(
    rank: int, named: bool
) -> None:
    ids = ["a", "b", "c"]
    ids.insert(rank - 1, "tea")
    legs = {
        name: [(one, 1.0 - place / 10) for place, one in enumerate(ids)] for name in ("vector", "keyword")
    }
    fused = [("a", 7.3), ("b", 5.9), ("c", 5.1)]
    recording = record("tea", legs, fused=fused)
    assert recording.description.endswith("which no known fusion gives")
    found = [one for one in recording.diagnose("tea").causes if "leaves out" in one.description]
    assert [one.certain for one in found] == [True] * named
    if named:
        assert "the engine leaves out tea, though each leg ranks it before c" in found[0].description


def test_no_python_is_printed_that_needs_the_recording_s_pipeline() -> None:
    legs = {"vector": [("a", 0.9), ("tea", 0.8)], "keyword": [("a", 4.0), ("b", 3.0)]}
    found = record("tea", legs, fusion="rrf-60", floor=0.02, engine="acme").diagnose("tea")
    printed = text_of(found.view(), details=True)
    assert "1. In acme: engine_floor.floor = 0.016" in printed
    assert "pipeline =" not in printed
    assert "Python" not in printed
    assert [one["python"] for one in found.as_json()["fixes"]] == [None] * len(found.fixes)


def test_what_a_recorded_list_lacks_is_not_said_to_be_below_a_floor() -> None:
    legs = {"vector": [("a", 0.9), ("tea", 0.8)], "keyword": [("a", 4.0), ("b", 3.0)]}
    explained = str(record("tea", legs, fused=[("a", 9.0), ("b", 3.0)]).explain("tea"))
    assert "LEFT OUT OF THE LIST" in explained
    assert "floor" not in explained.lower()


def test_one_document_under_two_ids_is_named_and_repaired() -> None:
    recording = record(
        "tea",
        {
            "vector": [("./a", 0.9), ("./b", 0.8), ("./tea", 0.7)],
            "keyword": [("c", 3.0), ("d", 2.0), ("tea", 1.0)],
        },
        fusion="rrf-60",
        limit=2,
    )
    found = recording.diagnose("tea")
    assert "in two ways: ./tea and tea" in found.causes[0].description
    assert found.causes[0].verified


@pytest.mark.parametrize(
    ("ids", "wanted", "how"),
    [
        (("a#0", "b#3", "tea#1"), "tea", "as documents or as their chunks"),
        (("a.md", "b.md", "tea.md"), "tea", "with the ending"),
        (("my%20a", "b", "my%20tea"), "my tea", "in one case"),
    ],
)
def test_ids_of_chunks_endings_and_addresses_are_one_document(
    ids: tuple[str, ...], wanted: str, how: str
) -> None:
    vector = [(one, 0.9 - rank / 10) for rank, one in enumerate(ids)]
    legs = {"vector": vector, "keyword": [("c", 3.0), ("d", 2.0), (wanted, 1.0)]}
    cause = record("tea", legs, fusion="rrf-60", limit=2).diagnose(wanted).causes[0]
    assert cause.where == ("ids",)
    assert how in cause.repair


def test_chunks_of_one_document_in_one_leg_are_not_one_id() -> None:
    vector = [("tea#0", 0.9), ("tea#1", 0.8), ("b#0", 0.7)]
    legs = {"vector": vector, "keyword": [("c", 3.0), ("d", 2.0), ("tea", 1.0)]}
    found = record("tea", legs, fusion="rrf-60", limit=2).diagnose("tea")
    assert ("ids",) not in [one.where for one in found.causes]


def test_scores_of_two_scales_are_named() -> None:
    legs = {"vector": [("tea", 0.9), ("a", 0.4)], "keyword": [("x", 30.0), ("y", 20.0)]}
    cause = record("tea", legs, fusion="milvus-weighted-raw", limit=1).diagnose("tea").causes[0]
    assert "the least of the keyword leg is more than the most of the vector leg" in cause.description
    assert "the least part of the keyword leg is 10, and the most of the vector leg 0.45" in cause.evidence


def test_one_list_for_all_questions_is_named() -> None:
    legs = {"vector": near([one for one in TEXTS if "tea" not in one] + ["notes/tea.md"], 2)}
    told, _ = first_cause(Recorder("acme", legs, limit=2, texts=TEXTS), "rooibos tea", "notes/tea.md")
    assert "the same list for every question" in told


def test_a_filter_after_the_first_k_is_named() -> None:
    kept = ["notes/boat.md", "notes/tea.md"]
    others = [one for one in TEXTS if one not in kept]

    def ask(question: str, depth: int) -> Pairs:
        every = [*others, *(kept if "sea" in question else kept[::-1])][:depth]
        return [(one, 1 - rank / 10) for rank, one in enumerate(every) if one in kept]

    legs = {"vector": Asked(ask, TopK(cap=4))}
    told, found = first_cause(Recorder("acme", legs, limit=3, texts=TEXTS), "rooibos tea", "notes/tea.md")
    assert "it takes its nearest 4 first and filters them then" in told
    assert found.causes[0].verified
    assert "asked for 4 it brings 0, and asked for everything 2" in found.causes[0].evidence


def test_a_filter_of_the_vector_leg_is_named() -> None:
    shown = ["notes/oven.md", "notes/boat.md", "notes/door.md"]
    legs = {"vector": near(shown, 10), "keyword": words(count, 10)}
    told, _ = first_cause(
        Recorder("acme", legs, "rrf-60", limit=2, texts=TEXTS), "boat oven tea", "notes/lamp.md"
    )
    assert "a filter, or its index, leaves documents out" in told


def test_another_tokenizer_is_named() -> None:
    every = [one for one in TEXTS if one != "notes/tea.md"] + ["notes/tea.md"]
    legs = {"vector": near(every, 3), "keyword": words(count, 10, read=str.upper)}
    told, _ = first_cause(
        Recorder("acme", legs, "rrf-60", limit=3, texts=TEXTS), "rooibos tea", "notes/tea.md"
    )
    assert "another tokenizer" in told


def test_scores_without_idf_are_named() -> None:
    legs = {"keyword": words(count, 10)}
    told, found = first_cause(Recorder("acme", legs, limit=1, texts=TEXTS), "the rooibos", "notes/tea.md")
    assert "no IDF" in told
    assert "Modifier.IDF" in found.causes[0].repair


def test_no_repair_of_a_recorded_engine_is_a_stage_of_another_system() -> None:
    recording = record("tea", {"vector": [("a", 0.9), ("tea", 0.7)]}, floor=0.8)
    found = recording.diagnose("tea")
    for cause in found.causes:
        assert "order" not in cause.where
    for fix in found.fixes:
        assert type(fix.pipeline["order"]) is type(found.pipeline["order"])


def test_ids_are_compared_without_what_differs() -> None:
    assert plain_id("./Notes//Tea.md") == plain_id("notes\\tea.md") == "notes/tea.md"


FOUND_BY_WORDS = ["tickets.md", "fees.md", "bank.md", "van.md", "hosts.md", "ines.md", "oona.md", "lamps.md"]
NEAREST = ["bank.md", "donations.md", "fees.md", "van.md", "lamps.md", "tickets.md", "chairs.md"]


def fused_by_ranks(*legs: Pairs) -> list[tuple[str, float]]:
    sums: dict[str, float] = {}
    for leg in legs:
        for rank, (id_, _) in enumerate(leg, 1):
            sums[id_] = sums.get(id_, 0.0) + 1 / (60 + rank)
    return sorted(sums.items(), key=lambda one: (-one[1], one[0]))[:6]


def test_a_folder_before_the_ids_of_one_leg_is_named() -> None:
    keyword = [(f"notes/{id_}", 9.0 - rank) for rank, id_ in enumerate(FOUND_BY_WORDS)]
    vector = [(id_, 0.7 - rank / 50) for rank, id_ in enumerate(NEAREST)]
    fused = fused_by_ranks(keyword, vector)
    recording = record("how much is a ticket", {"keyword": keyword, "vector": vector}, fused)
    assert recording.agrees
    first = recording.diagnose("tickets.md").causes[0]
    assert first.where == ("ids",)
    assert "notes/tickets.md and tickets.md" in first.description


def test_one_id_that_is_another_without_its_folder_may_be_another_document() -> None:
    keyword = [("bike/README.md", 9.0), ("bike/hub.md", 5.0), ("bike/tube.md", 4.0)]
    vector = [("pot.md", 0.8), ("tea.md", 0.7), ("README.md", 0.6)]
    recording = record("where to begin", {"keyword": keyword, "vector": vector}, fusion="rrf-60", limit=2)
    assert all(one.where != ("ids",) for one in recording.diagnose("README.md").causes)


def by_relative_scores(alpha: float) -> Recording:
    """A recorded engine that adds min-max scores and returns six."""
    keyword = [(id_, 6.0 - rank / 2) for rank, id_ in enumerate(FOUND_BY_WORDS)]
    vector = [("voice-care.md", 0.81), *((id_, 0.7 - rank / 50) for rank, id_ in enumerate(NEAREST))]
    sums: dict[str, float] = {}
    for weight, leg in ((1 - alpha, keyword), (alpha, vector)):
        most, least = leg[0][1], leg[-1][1]
        for id_, score in leg:
            sums[id_] = sums.get(id_, 0.0) + weight * (score - least) / (most - least)
    fused = sorted(sums.items(), key=lambda one: (-one[1], one[0]))[:6]
    return record("I have lost my voice", {"keyword": keyword, "vector": vector}, fused)


def test_a_weight_of_zero_is_inferred_from_the_recorded_scores_and_named() -> None:
    recording = by_relative_scores(0.0)
    assert recording.agrees
    found = recording.diagnose("voice-care.md")
    assert found.causes[0].where == ("fusion",)
    assert "0 × vector" in found.causes[0].description


@pytest.mark.parametrize("fusion", [None, "rrf-60"])
def test_what_was_recorded_is_true_where_no_fusion_gives_it(fusion: str | None) -> None:
    known = by_relative_scores(0.137)
    legs = {leg: list(known.recorder.legs[leg].ask(known.question, 10)) for leg in ("keyword", "vector")}
    recording = record(known.question, legs, known.fused, fusion=fusion)
    assert "voice-care.md" not in dict(recording.fused)
    assert recording.trace.paths() == [id_ for id_, _ in recording.fused]
    explained = str(recording.explain("voice-care.md"))
    assert "RETURNED" not in explained.split("\n")[1]
    assert "the recorded list" in explained
    found = recording.diagnose("voice-care.md")
    assert not found.fixes
    assert not any(cause.verified for cause in found.causes)


def test_the_mend_of_a_distance_that_counts_as_a_score_is_the_one_that_brings_the_file() -> None:
    near = [("a", 0.31), ("b", 0.35), ("c", 0.47), ("d", 0.52), ("e", 0.60), ("f", 0.83)]
    rank = [("b", 0.098), ("a", 0.076), ("c", 0.060), ("e", 0.045)]

    def scaled(pairs: list[tuple[str, float]]) -> dict[str, float]:
        low, high = min(one for _, one in pairs), max(one for _, one in pairs)
        return {id_: (one - low) / (high - low) for id_, one in pairs}

    mine, theirs = scaled(near), scaled(rank)
    sums = {id_: 0.5 * mine.get(id_, 0) + 0.5 * theirs.get(id_, 0) for id_ in mine}
    fused = sorted(sums.items(), key=lambda one: -one[1])[:3]
    found = record("insurance", {"keyword": rank, "vector": near}, fused=fused).diagnose("a")
    assert found.causes[0].description == (
        "vector leg: its scores are turned round: its first document counts least"
    )
    assert found.causes[0].verified
    assert "Repair, by hand: count a smaller number as a better one" in found.text


def test_a_repair_that_was_tried_in_vain_is_no_repair() -> None:
    rising = [("a", 0.1), ("b", 0.2), ("c", 0.3), ("tea", 0.35), ("d", 0.4), ("e", 0.5), ("f", 0.6)]
    found = record("tea", {"vector": rising}, limit=2).diagnose("tea")
    upside_down = [one for one in found.causes if "upside down" in one.description]
    assert [one.refuted for one in upside_down] == [True]
    assert found.causes[0] not in upside_down
    assert "Repair, by hand: turn the order" not in found.text
    assert "tried, and not enough: turn the order of its list" in found.text
    assert "too few questions to tell" in found.text
    assert "95 % interval" not in found.text


def test_a_leg_that_joins_all_words_is_named_from_its_list_and_the_texts() -> None:
    far = [("notes/bike.md", 0.9), ("notes/oven.md", 0.8), ("notes/boat.md", 0.7)]
    found = record("rooibos tea supplier", {"vector": far, "keyword": []}, fusion="rrf-60", texts=TEXTS)
    assert "wants all words of the question at once (AND)" in found.diagnose("notes/tea.md").headline


def test_a_list_with_other_documents_than_those_with_all_words_is_not_called_and() -> None:
    lists = {"vector": [("notes/bike.md", 0.9)], "keyword": [("notes/oven.md", 1.0)]}
    found = record("rooibos tea supplier", lists, fusion="rrf-60", texts=TEXTS).diagnose("notes/tea.md")
    assert "(AND)" not in found.text


def test_a_check_that_the_engine_cannot_answer_is_told_and_ends_no_diagnosis() -> None:
    question = "rooibos tea of the morning"
    recorded = {question: [("notes/bike.md", 1.0)]}
    legs = {"keyword": Asked(lambda asked, _: recorded[asked]), "vector": near(["notes/oven.md"], 3)}
    found = Recorder("acme", legs, "rrf-60", texts=TEXTS).record(question).diagnose("notes/tea.md")
    printed = " ".join(found.text.split())
    assert "could not be asked: acme has no answer to “" in printed
    assert "its search raises KeyError in <lambda> (test_recorder_causes.py:" in printed


TWO_LISTS = {"vector": [("a", 0.9), ("b", 0.8)], "keyword": [("b", 4.0), ("c", 3.0)]}


@pytest.mark.parametrize(
    ("limit", "told"), [(6, "after 2, before the limit of 6. A depth"), (2, "after 2. A")]
)
def test_lists_that_end_before_the_file_say_what_to_ask_the_engine(limit: int, told: str) -> None:
    recording = record("tea", TWO_LISTS, fusion="rrf-60", limit=limit)
    first, *_ = recording.diagnose("notes/tea.md").causes
    assert first.where == ("vector_leg", "keyword_leg")
    assert first.description.startswith(
        "no leg lists the file; the vector list ends after 2 and the keyword "
    )
    assert told in first.description
    assert first.repair.startswith("ask the engine for more of each leg")
    assert (first.verified, first.certain) == (False, True)


def test_a_file_that_a_leg_lists_is_not_said_to_be_beyond_the_lists() -> None:
    recording = record("tea", TWO_LISTS, fusion="rrf-60", limit=1)
    assert not any("no leg lists" in one.description for one in recording.diagnose("c").causes)


def test_a_case_of_lists_without_its_file_says_where_the_lists_end() -> None:
    lists = CaseLists(vector={"a": 0.9}, keyword={"b": 4.0})
    asked = CaseQuestion(question="tea", expect=Expected(found="notes/tea.md"))
    system = CaseSystem(name="engine-rrf-60", limit=6)
    case = Case(case=1, title="short", system=system, questions=[asked], memory=CaseMemory(lists=lists))
    (told, *_) = cause_in_lists(run_case(case))
    assert "no leg lists the file; the keyword list ends after 1 and the vector list ends after 1" in told


def told_of(vector: dict[str, float], keyword: dict[str, float]) -> list[str]:
    asked = CaseQuestion(question="colic at night", expect=Expected(found="colic", within=1))
    lists, system = CaseLists(vector=vector, keyword=keyword), CaseSystem(name="weaviate-relative")
    case = Case(case=1, title="far", system=system, questions=[asked], memory=CaseMemory(lists=lists))
    return cause_in_lists(run_case(case))


def test_distances_that_a_case_takes_for_scores_are_named_by_their_order() -> None:
    """The order in which a list was recorded says which number is the best."""
    words = {"rota": 4.9, "colic": 3.8, "rules": 2.2}
    near = {"colic": 0.21, "foal": 0.38, "rota": 0.71}
    cause, repair = told_of(near, words)
    assert cause.startswith("Cause: vector leg: its list begins with the smallest number, as distances do")
    assert "1 - the number for each number of the vector list" in repair
    falling = dict(sorted(near.items(), key=lambda one: -one[1]))
    assert not any("as distances do" in line for line in told_of(falling, words))
    in_vain = {"rota": 0.21, "foal": 0.38, "colic": 0.71}
    assert not any("as distances do" in line for line in told_of(in_vain, words))


def test_a_case_whose_lists_write_ids_in_two_ways_says_so() -> None:
    vector = {"foal": 0.8, "colic": 0.75, "rota": 0.6}
    cause, repair = told_of(vector, {"colic#0": 4.9, "rules#0": 2.2})
    assert cause == "Cause: ids: the lists write the id of one document in two ways: colic and colic#0"
    assert repair.startswith(
        "Repair: write the ids in one way in both lists, as documents or as their chunks"
    )
    two_chunks = told_of(vector, {"colic#0": 4.9, "colic#1": 2.2})
    assert not any("two ways" in line for line in two_chunks)
