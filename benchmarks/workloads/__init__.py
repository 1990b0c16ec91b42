"""What the suites measure, one file a workload: the same arithmetic, written for each library as its users write it.

A library is imported only in the process that measures it.
"""
