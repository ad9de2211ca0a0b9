"""Results of other engines: read, written, compared with ours, searched for what is missing, and linted."""

from __future__ import annotations
