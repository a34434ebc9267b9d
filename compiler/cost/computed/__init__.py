"""What rewrites make of scans and running sums, as the code of PyTorch computes it (backends/runtime/scans).

====================  ==============================================================================================
`shapes`              arrays without numbers, and what is done with them
`chunks`              a state that sums keys times values, in chunks
`running`             all values of a state, number by number
`cells`               recurrent networks by PyTorch's kernels
`kernels`             of a node, which of these it is
====================  ==============================================================================================
"""
