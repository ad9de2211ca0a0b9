"""OpenVINO computes the packaged model where it is installed: the same vectors, and a start without torch."""
