"""What a graph costs, as exact polynomials of its sizes: parameters, multiply-adds, bytes, memory, sequential steps.

====================  ==============================================================================================
`polynomials`         exact polynomials over sizes, and how they are written
`scope`               the sizes of a graph's axes, in terms of those of the model
`bands`               what masks made of indices keep, and how many pairs that is
`work`                what one op takes
`walk`                a graph walked, its blocks nested: the parts of the bill
`computed`            what scans and running sums take that are not done op by op
`lowered`             a graph walked as it is computed
`memory`              what is alive at once, and what is saved for the gradient
====================  ==============================================================================================
"""
