"""Writes ctrf.json and comment.md beside cases.xml (JUnit) and gate.json: `python report.py FOLDER`.

The comment is empty if no case fails and no question changed. What notes say stands in code spans alone.
"""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

CONTROL = dict.fromkeys(range(32), " ")


def tests_of(file):
    """The tests of a JUnit file in CTRF's form (https://ctrf.io): name, status, and milliseconds."""
    found = []
    for one in ElementTree.parse(file).iter("testcase"):
        kinds = {child.tag for child in one}
        status = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        told = next((child.get("message") or child.text or "" for child in one), "")
        test = {"name": one.get("name", ""), "status": status, "suite": one.get("classname", "")}
        found.append({**test, "duration": round(1000 * float(one.get("time", 0))), "message": told[:2000]})
    return found


def ctrf(tests):
    """The report as CTRF has it."""
    counts = {name: sum(one["status"] == name for one in tests) for name in ("passed", "failed", "skipped")}
    summary = {"tests": len(tests), **counts, "pending": 0, "other": 0, "start": 0, "stop": 0}
    return {"results": {"tool": {"name": "pytest"}, "summary": summary, "tests": tests}}


def span(text):
    """A text as a code span of Markdown in one line."""
    return f"`{str(text).translate(CONTROL).replace('`', chr(39))[:200]}`"


def comment(tests, gate):
    """The failing cases and the changed questions, in Markdown; empty if there are none."""
    failed = [one for one in tests if one["status"] == "failed"]
    lines = [f"- {span(one['suite'])} fails: {span(one['name'])}" for one in failed]
    for one in gate.get("flipped", []) + gate.get("controls", []):
        was, now = ("found", "lost") if one in gate["flipped"] else ("silent", "answered")
        before, after = (was, now) if one["lost"] else (now, was)
        lines.append(f"- {span(one['question'])} was {before}, and is {after}")
    head = "The search answers differently." if gate.get("passes", True) else "The gate does not pass."
    return "\n".join([f"**{head}**", "", *lines, ""]) if lines else ""


def main(folder):
    """Reads what is there, and writes both reports."""
    tests = tests_of(folder / "cases.xml") if (folder / "cases.xml").exists() else []
    said = (folder / "gate.json").read_text("utf-8") if (folder / "gate.json").exists() else ""
    gate = json.loads(said) if said.strip() else {}
    (folder / "ctrf.json").write_text(json.dumps(ctrf(tests), indent=1), "utf-8")
    (folder / "comment.md").write_text(comment(tests, gate), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
