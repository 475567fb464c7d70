"""`spokeshave doctor`: is everything here that is needed, and is this machine good at INT8."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

import click

import spokeshave
from spokeshave.cli import _options, _output
from spokeshave.engines import EngineInfo, cpu_features, engines
from spokeshave.report import table

# The versions that the seams were tested with; a test holds the two lists together.
TESTED_PADDLE = ("3.3.1",)
PACKAGES = ("numpy", "onnx", "onnxruntime", "openvino")
NEEDED = ("paddle", "numpy", "onnx", "onnxruntime")
COSTS = {
    "avx2": "INT8 runs on narrow, old instructions and may be slower than float32",
    "avx512_vnni": "8-bit products take three instructions in place of one",
    "avx_vnni": "8-bit products take three instructions in place of one",
    "amx_int8": "no matrix unit for INT8: less speed, and nothing breaks",
    "asimddp": "8-bit products are widened to 16 bits first: INT8 gains little",
}
VNNI = ("avx512_vnni", "avx_vnni")


@dataclass(frozen=True)
class Health:
    """What the doctor found; the fields are the keys of its JSON."""

    versions: dict[str, str | None]
    tested_paddle: tuple[str, ...]
    paddle_is_tested: bool
    cpu: dict[str, bool]
    engines: tuple[EngineInfo, ...]
    missing: tuple[str, ...]


@click.command
@_options.as_json
def command(as_json: bool) -> None:
    """Shows versions, engines, and what this CPU has for INT8.

    Exit code 1 when a package is missing without which nothing runs.

    \b
    Example:
        spokeshave doctor

    \b
    JSON keys:
        versions          name of a package: its version, or null
        tested_paddle     the versions of Paddle that Spokeshave was tested with
        paddle_is_tested  whether the one that is installed is among them
        cpu               instruction set: whether this CPU has it
        engines           name, version or null, and the command that installs it
        missing           packages that are needed and not there
    """
    health = examine()
    if as_json:
        _output.echo_json(asdict(health))
    else:
        click.echo("\n\n".join((_versions(health), _cpu(health.cpu), _engines(health))))
    if health.missing:
        raise _output.does_not_hold(f"missing: {', '.join(health.missing)}")


def examine() -> Health:
    """Looks at what is installed and at the CPU; imports nothing of it."""
    found = engines()
    paddle = next(engine.version for engine in found if engine.name == "paddle")
    installed = {"paddle": paddle, **{name: _version(name, found) for name in PACKAGES}}
    return Health(
        {"python": platform.python_version(), "spokeshave": spokeshave.__version__, **installed},
        TESTED_PADDLE,
        paddle in TESTED_PADDLE,
        cpu_features(),
        found,
        tuple(name for name in NEEDED if installed[name] is None),
    )


def _version(name: str, found: tuple[EngineInfo, ...]) -> str | None:
    engine = next((engine for engine in found if engine.name == name), None)
    if engine is not None:
        return engine.version
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _versions(health: Health) -> str:
    rows = [(name, found or "-", _remark(name, health)) for name, found in health.versions.items()]
    return table(("package", "version", "remark"), rows)


def _remark(name: str, health: Health) -> str:
    if name in health.missing:
        return "missing, and needed"
    if name != "paddle":
        return "not installed" if health.versions[name] is None else ""
    tested = ", ".join(health.tested_paddle)
    return "tested" if health.paddle_is_tested else f"not tested; tested with {tested}"


def _cpu(cpu: dict[str, bool]) -> str:
    if not cpu:
        return "CPU: this system does not say which instructions it has."
    return table(("cpu", "has it", "remark"), [(name, has, _cost(name, cpu)) for name, has in cpu.items()])


def _cost(name: str, cpu: dict[str, bool]) -> str:
    if cpu[name]:
        return ""
    has_other = name in VNNI and any(cpu.get(other) for other in VNNI)
    return "not needed, the other VNNI is there" if has_other else COSTS[name]


def _engines(health: Health) -> str:
    rows = [(e.name, e.is_installed, "" if e.is_installed else e.install) for e in health.engines]
    return table(("engine", "installed", "to install"), rows)
