"""The guests: each folder adds systems, commands or results to the workbench, and can be taken out.

The modules beside the folders are what several guests share, and none of them is part of the heart.
"""
