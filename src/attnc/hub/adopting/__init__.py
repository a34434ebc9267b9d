"""`attnc adopt`: from a PyTorch module of the user's own to a spec that computes the same.

It listens to one run (`trace`), says which weights are maps and norms (`uses`), which of them make attention
(`attention`), and how a stream of residuals runs through all of it (`reading`). Each finding is tried on the numbers
of that run; the spec that is written of them (`composing`) is then compared as a whole (`verifying`).
"""
