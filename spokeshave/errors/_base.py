"""What every error of Spokeshave is: facts at the raise, words in the class, a page in its docstring."""

from __future__ import annotations

from typing import Any, ClassVar

from typing_extensions import dataclass_transform, get_annotations


@dataclass_transform(kw_only_default=True)
class SpokeshaveError(Exception):
    """The root: one `except SpokeshaveError` catches all that is raised on purpose.

    A subclass annotates its facts and fills `says` (one line, facts in braces) and `next_step`
    with them. Errors pickle, so that data workers can send them home.
    """

    code: ClassVar[str]
    says: ClassVar[str]
    next_step: ClassVar[str]

    def __init__(self, **facts: Any) -> None:
        wanted = fact_names(type(self))
        if set(facts) != set(wanted):
            raise TypeError(f"{type(self).__name__} takes the facts {wanted}, was given {sorted(facts)}")
        self.facts = facts
        self.__dict__.update(facts)
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """What was found and where, and what to do next, on one line."""
        return f"{self.says.format(**self.facts)} {self.next_step.format(**self.facts)}".strip()

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.facts)


class UserError(SpokeshaveError):
    """Something outside Spokeshave is not as it must be: a file, an argument, data, an engine."""


class InternalError(SpokeshaveError):
    """A promise of Spokeshave's own was broken: please report it with the text of the error."""


def fact_names(kind: type[SpokeshaveError]) -> tuple[str, ...]:
    """The names of the facts that an error takes, in the order of its class body."""
    names: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, SpokeshaveError):
            annotations = get_annotations(base)
            names.update(dict.fromkeys(n for n, a in annotations.items() if "ClassVar" not in str(a)))
    return tuple(names)


def _rebuild(kind: type[SpokeshaveError], facts: dict[str, Any]) -> SpokeshaveError:
    return kind(**facts)
