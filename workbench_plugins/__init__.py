"""The features: each folder adds systems, commands or results to the workbench, and can be taken out.

The one module beside the folders, `rerank`, is what several features share.
"""
