"""Rewrites: pure functions graph -> graph, one per file. The graph is valid before and after each.

passes        those between the checked graph and code, in order; each can be left out

ragged        each example of a batch has its own length: what is padding is left out (`ragged_ops`, the ops with rules
              of their own; `ragged_lengths`; `ragged_infinite`, what could spoil gradients)
exact         what is made of whole numbers alone is marked: it is not rounded to the type of the model
constants     truth values known at build time are put into the blocks that they are passed to; masks `true` vanish
guard         what a choice does not take is made harmless, so that its gradient is a number
split_passes  a repeat gets a body for each kind of pass where truths hang on the pass's number
attention     softmax(Q K' ..) V becomes one op, which PyTorch has a fused kernel for
place_masks   masks of positions go to the attention that they belong to, and are never made
spend_logits  a cross-entropy computes in the memory of its logits, where nothing else reads them
join_maps     a step does the learned maps of one value as one product, with weights laid out for few rows
dead          nodes that nothing reads go
"""
