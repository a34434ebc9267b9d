"""What a model that is split over devices takes beside the rest: collectives, with their gradients."""
