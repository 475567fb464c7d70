"""What flows through a model: batches from files, arrays or readers, checked before they reach it."""

from spokeshave.data.batch import Batch
from spokeshave.data.feed import Feed, preflight
from spokeshave.data.handwritten import digits
from spokeshave.data.sources import open_data

__all__ = ["Batch", "Feed", "digits", "open_data", "preflight"]
