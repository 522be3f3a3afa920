"""An engine without a network: what is left is the hand-over between the rank and its process."""


def load(model, options):
    return lambda windows, out: None
