"""Rerankers: models and services that read the question and a text together, behind one protocol."""
