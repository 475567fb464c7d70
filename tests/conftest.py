"""What all tests share: repeatable property tests, quiet logs, and the folder of shared models."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Paddle reads it when it is first imported, in this process and in those that tests start.
os.environ.setdefault("GLOG_minloglevel", "2")

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of models and data that are too big for the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("SPOKESHAVE_SHARED", beside))
    if not folder.is_dir():
        pytest.skip(f"needs the shared models: no folder {folder}; name it in SPOKESHAVE_SHARED")
    return folder
