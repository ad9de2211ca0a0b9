"""Bugs of OpenClaw that its later releases show."""

from __future__ import annotations

from workbench_plugins.engines.museum import Reports
from workbench_plugins.openclaw.ranking import SEPTEMBER_NAMES, Recency
from workbench_plugins.openclaw.releases import DECAY, FEBRUARY_15, WEIGHED

TOLD = Reports(__file__)
AGED = FEBRUARY_15.with_changes(WEIGHED, DECAY).asking(min_score=0.0)

SEPTEMBER = AGED.with_stage(Recency(names=SEPTEMBER_NAMES))

DATES_IN_SUBFOLDERS = TOLD.stored("openclaw-dates-in-subfolders", AGED, (), {"pipeline": SEPTEMBER}.items())
