"""Training of the default voice: the only place that may import torch. Nothing here is needed to speak."""
