"""Files and folders that appear whole or not at all, their checksums, a journal for work to be resumed."""

from spokeshave.files._disk import sync
from spokeshave.files.atomic import Data, write_atomically, write_together
from spokeshave.files.folder import AtomicFolder, check_replaceable
from spokeshave.files.journal import Journal
from spokeshave.files.sums import SUMS, check_sums, digest, sums_of, sums_text, write_sums

__all__ = [
    "SUMS",
    "AtomicFolder",
    "Data",
    "Journal",
    "check_replaceable",
    "check_sums",
    "digest",
    "sums_of",
    "sums_text",
    "sync",
    "write_atomically",
    "write_sums",
    "write_together",
]
