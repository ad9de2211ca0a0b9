"""Runs all-MiniLM-L6-v2 in OpenVINO, without torch: the extra `fast`."""
