"""Deployment: a model for an engine, and the proof that it is still the same model."""

from typing import TYPE_CHECKING

from spokeshave.registry import lazily

if TYPE_CHECKING:
    from spokeshave.deploy.artifact import Artifact
    from spokeshave.deploy.exporting import check_exportable, export
    from spokeshave.deploy.verifying import Verdict, verify

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Artifact": "spokeshave.deploy.artifact",
        "Verdict": "spokeshave.deploy.verifying",
        "check_exportable": "spokeshave.deploy.exporting",
        "export": "spokeshave.deploy.exporting",
        "verify": "spokeshave.deploy.verifying",
    },
)

__all__ = ["Artifact", "Verdict", "check_exportable", "export", "verify"]
