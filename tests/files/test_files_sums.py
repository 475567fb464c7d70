"""Checksums in the format of `sha256sum`."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest

from spokeshave.errors.files import CannotRead, ChecksumWrong, FileOutsideFolder, SumsMalformed
from spokeshave.files import SUMS, check_sums, digest, sums, sums_of, write_sums

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
STRANGE = [
    "b c",
    "a\\n",
    "new\nline",
    "return\r",
    "ümlaut",
    " lead",
    "*star",
    "\\",
    "sub/x",
    os.fsdecode(b"\xff"),
]


def make(folder: Path, names: list[str]) -> list[Path]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode("utf-8", "surrogateescape"))
    return [folder / name for name in names]


def test_a_digest_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "abc").write_bytes(b"abc")
    assert digest(tmp_path / "empty") == EMPTY
    assert digest(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_a_digest_reads_all_pieces(tmp_path: Path, beyond: int) -> None:
    data = bytes(range(256)) * (2 * sums.CHUNK_BYTES // 256) + b"x"
    data = data[: 2 * sums.CHUNK_BYTES + beyond]
    (tmp_path / "large").write_bytes(data)
    assert digest(tmp_path / "large") == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(CannotRead) as caught:
        digest(tmp_path / name)
    assert isinstance(caught.value, OSError)
    assert pickle.loads(pickle.dumps(caught.value)).facts == caught.value.facts
    with pytest.raises(CannotRead):
        sums_of(tmp_path / name)


def test_the_list_is_what_sha256sum_writes(tmp_path: Path) -> None:
    write_sums(tmp_path / SUMS, make(tmp_path, ["b", "a/c", "a.b"]))
    wanted = [(name, hashlib.sha256(name.encode()).hexdigest()) for name in ("a.b", "a/c", "b")]
    assert (tmp_path / SUMS).read_text() == "".join(f"{found}  {name}\n" for name, found in wanted)
    assert sums_of(tmp_path / SUMS) == dict(wanted)


def test_strange_names_come_back(tmp_path: Path) -> None:
    write_sums(tmp_path / SUMS, make(tmp_path, STRANGE))
    assert set(sums_of(tmp_path / SUMS)) == set(STRANGE)
    check_sums(tmp_path / SUMS)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs sha256sum, to be read by it")
def test_sha256sum_reads_our_list_and_we_read_its(tmp_path: Path) -> None:
    # Not the carriage return: versions of sha256sum before 9 do not escape it.
    names = [name for name in STRANGE if "\r" not in name]
    write_sums(tmp_path / SUMS, make(tmp_path, names))
    subprocess.run(["sha256sum", "--strict", "--quiet", "-c", SUMS], cwd=tmp_path, check=True)
    for binary in ([], ["--binary"]):
        theirs = subprocess.run(
            ["sha256sum", *binary, "--", *names], cwd=tmp_path, check=True, capture_output=True
        )
        (tmp_path / "theirs").write_bytes(theirs.stdout)
        assert sums_of(tmp_path / "theirs") == sums_of(tmp_path / SUMS)


def test_the_list_travels_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_sums(Path("one", SUMS), make(Path("one"), ["a", "b/c"]))
    (tmp_path / "one").rename(tmp_path / "two")
    check_sums(tmp_path / "two" / SUMS)


def test_a_file_elsewhere_cannot_be_listed(tmp_path: Path) -> None:
    make(tmp_path, ["in/a", "out/b"])
    with pytest.raises(FileOutsideFolder):
        write_sums(tmp_path / "in" / SUMS, [tmp_path / "out/b"])
    assert not (tmp_path / "in" / SUMS).exists()


@pytest.mark.parametrize("change", ["edit", "cut", "delete"])
def test_a_file_that_is_not_the_one_listed_is_found(tmp_path: Path, change: str) -> None:
    files = make(tmp_path, ["a", "sub/bcd"])
    write_sums(tmp_path / SUMS, files)
    check_sums(tmp_path / SUMS)
    if change == "delete":
        files[1].unlink()
    else:
        files[1].write_bytes({"edit": b"sub/bce", "cut": b"sub/bc"}[change])
    with pytest.raises(ChecksumWrong) as caught:
        check_sums(tmp_path / SUMS)
    assert caught.value.facts == {"path": str(files[1]), "sums": str(tmp_path / SUMS)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        f"{EMPTY}  a",
        f"{EMPTY}  a\n\n",
        f"{EMPTY} a\n",
        f"{EMPTY}  \n",
        f"{EMPTY[1:]}  a\n",
        f"{EMPTY}0  a\n",
        f"{EMPTY.upper()}  a\n",
        f"{EMPTY}  a\r\n",
        f"{EMPTY}  a\\b\n",
        f"\\{EMPTY}  a\\b\n",
        f"\\{EMPTY}  a\\\n",
        f"{EMPTY}  a\0\n",
        f"{EMPTY}  /etc/passwd\n",
        f"{EMPTY}  ../a\n",
        f"{EMPTY}  a/../../b\n",
        f"{EMPTY}  .\n",
        f"{EMPTY}  a\n{EMPTY}  a\n",
        f"{EMPTY}  a\n{EMPTY}  ./a\n",
        f"# a comment\n{EMPTY}  a\n",
        f"SHA256 (a) = {EMPTY}\n",
    ],
)
def test_a_malformed_list_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").touch()
    (tmp_path / SUMS).write_bytes(text.encode())
    with pytest.raises(SumsMalformed):
        sums_of(tmp_path / SUMS)
    with pytest.raises(SumsMalformed):
        check_sums(tmp_path / SUMS)


def test_the_malformed_line_is_named(tmp_path: Path) -> None:
    (tmp_path / SUMS).write_text(f"{EMPTY}  a\n{EMPTY}  b\nrubbish\n")
    with pytest.raises(SumsMalformed, match="line 3") as caught:
        sums_of(tmp_path / SUMS)
    assert caught.value.facts["line"] == 3
