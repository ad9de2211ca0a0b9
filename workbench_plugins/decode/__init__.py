"""Which published formula makes the numbers of a report?"""
