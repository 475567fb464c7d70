"""Which engines are installed, and what this machine has for INT8; nothing is imported to find out."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

X86_FEATURES = ("avx2", "avx512_vnni", "avx_vnni", "amx_int8")
ARM_FEATURES = ("asimddp",)

# An engine comes in several packages: the plain one is the one to install.
_PACKAGES = (
    ("paddle", ("paddlepaddle", "paddlepaddle-gpu"), "pip install paddlepaddle"),
    ("onnxruntime", ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino"), "pip install onnxruntime"),
    ("openvino", ("openvino",), "pip install 'spokeshave[openvino]'"),
)


@dataclass(frozen=True)
class EngineInfo:
    """An engine, its version or None where it is missing, and the command that installs it."""

    name: str
    version: str | None
    install: str

    @property
    def is_installed(self) -> bool:
        """Whether a package of it is there."""
        return self.version is not None


def engines() -> tuple[EngineInfo, ...]:
    """All engines that Spokeshave runs, installed or not."""
    return tuple(EngineInfo(name, _version(packages), install) for name, packages, install in _PACKAGES)


def cpu_features(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, bool]:
    """Which instructions that speed INT8 up this CPU has; empty where the system does not say (not Linux).

    >>> all(isinstance(has, bool) for has in cpu_features().values())
    True
    """
    try:
        text = cpuinfo.read_text(errors="replace")
    except OSError:
        return {}
    flags = _flags(text)
    return {name: name in has for names, has in flags for name in names}


def _flags(text: str) -> list[tuple[tuple[str, ...], set[str]]]:
    """The features to look for on this kind of CPU, and those of its first core."""
    wanted = {"flags": X86_FEATURES, "Features": ARM_FEATURES}
    for line in text.splitlines():
        key, _, rest = line.partition(":")
        if key.strip() in wanted:
            return [(wanted[key.strip()], set(rest.split()))]
    return []


def _version(packages: tuple[str, ...]) -> str | None:
    for package in packages:
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return None
