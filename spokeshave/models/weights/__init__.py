"""Trained weights into nets: from `.pdparams` and `.safetensors` files, and folders of one file each."""

from spokeshave.models.weights.loading import load_weights
from spokeshave.models.weights.reading import read_weights

__all__ = ["load_weights", "read_weights"]
