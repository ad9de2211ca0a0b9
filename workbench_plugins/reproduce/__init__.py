"""From a pasted bug report to a case: what it says, the smallest memory that shows it, and a verdict."""

from __future__ import annotations
