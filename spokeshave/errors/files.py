"""Errors of files: what cannot be read or written, what would be lost, what is not as it was written."""

from spokeshave.errors._base import UserError


class CannotWrite(UserError, OSError):
    """A file or folder could not be written. Nothing half-written has its name.

    ## Why
    The disk or a quota is full, the folder is not ours to write, the filesystem is read-only, or
    something of another kind has that name.

    ## What to do
    Make room, or write to another place with `--output`. What was there before is whole.
    """

    code = "cannot-write"
    says = "Cannot write {path}: {why}."
    next_step = "Nothing half-written is left; make room or choose another place."
    path: str
    why: str


class CannotRead(UserError, OSError):
    """A file or folder could not be read.

    ## Why
    It does not exist, is not ours to read, or is of another kind than expected.

    ## What to do
    Check the path and its permissions.
    """

    code = "cannot-read"
    says = "Cannot read {path}: {why}."
    next_step = "Check the path and its permissions."
    path: str
    why: str


class FolderHoldsOtherFiles(UserError, FileExistsError):
    """A folder that was to be replaced holds a file that was not written by an earlier run.

    ## Why
    A result replaces its whole folder. Files that the folder's own `SHA256SUMS` does not list are
    somebody's, and replacing the folder would delete them.

    ## What to do
    Move the file away, or choose another folder with `--output`.
    """

    code = "folder-holds-other-files"
    says = "{path} holds {file!r}, which its SHA256SUMS does not list; replacing the folder would delete it."
    next_step = "Move it away or choose another folder."
    path: str
    file: str


class FileOutsideFolder(UserError, ValueError):
    """Checksums were to be written for a file that does not lie in or below their folder.

    ## Why
    A list of checksums travels with its folder, so that it may only name files that travel with it.

    ## What to do
    Copy the file into the folder first.
    """

    code = "file-outside-folder"
    says = "{path} does not lie in {folder}, whose checksums are written."
    next_step = "Copy it into the folder first."
    path: str
    folder: str


class ChecksumWrong(UserError, ValueError):
    """A file is missing, or is not the one that was written.

    ## Why
    It was edited, cut short on its way (a copy or download that broke off), deleted, or belongs to
    another run than its `SHA256SUMS`.

    ## What to do
    Copy or make the folder again. If the file was edited on purpose, write the sums again with
    `sha256sum`.
    """

    code = "checksum-wrong"
    says = "{path} is missing or is not the file that {sums} lists."
    next_step = "Copy or make the folder again."
    path: str
    sums: str


class SumsMalformed(UserError, ValueError):
    """A list of checksums is not what `sha256sum` writes.

    ## Why
    It was edited, cut short, has lines twice, names files outside its folder, or is another kind of
    file. An empty list is refused too: it would vouch for nothing.

    ## What to do
    Copy or make the folder again, or write the list again with `sha256sum`.
    """

    code = "sums-malformed"
    says = "{path} is not a list of SHA-256 sums: line {line} {why}."
    next_step = "Copy or make the folder again."
    path: str
    line: int
    why: str


class JournalDamaged(UserError, ValueError):
    """A line in the middle of a journal cannot be read.

    ## Why
    A kill can only cut the last line short, which is dropped quietly. Anything else was edited or
    damaged, and work might be taken for done that is not.

    ## What to do
    Repair or delete that line, or delete the journal to begin from the start.
    """

    code = "journal-damaged"
    says = "Line {line} of the journal {path} cannot be read."
    next_step = "Repair or delete the line, or delete the journal to begin from the start."
    path: str
    line: int


class ValueNotRecordable(UserError, TypeError):
    """A value was to be recorded in a journal that JSON cannot hold.

    ## Why
    A resumed run must read what the first one wrote. Objects of unknown classes, NaN and infinity
    have no form in JSON that reads back the same.

    ## What to do
    Record plain data: numbers, text, lists, dicts, dataclasses; None in place of NaN.
    """

    code = "value-not-recordable"
    says = "The value for {key!r} cannot be recorded: {why}."
    next_step = "Record plain data, and None in place of NaN."
    key: str
    why: str
