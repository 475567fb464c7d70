"""Files and folders that appear whole or not at all, their checksums, a journal for work to be resumed."""

from spokeshave.files._disk import sync
from spokeshave.files.atomic import write_atomically
from spokeshave.files.folder import AtomicFolder
from spokeshave.files.journal import Journal
from spokeshave.files.sums import SUMS, check_sums, digest, sums_of, write_sums

__all__ = [
    "SUMS",
    "AtomicFolder",
    "Journal",
    "check_sums",
    "digest",
    "sums_of",
    "sync",
    "write_atomically",
    "write_sums",
]
