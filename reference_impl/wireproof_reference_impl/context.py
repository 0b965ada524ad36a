"""The context of a call: what a core is busy with when it calls what a fault changes."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, cast

from wireproof_reference_impl.overrides import Original, Override, Owner, around


class Context:
    """What a core is busy with: the arguments of the calls in progress, the innermost of a type.

    A subclass has an attribute for each type of `kinds`, which is None outside of such calls.
    """

    kinds: ClassVar[Mapping[type, str]] = {}
    looked_into: ClassVar[tuple[type, ...]] = ()
    """The types of arguments whose first item counts, too."""

    @contextmanager
    def busy_with(self, arguments: Sequence[object]) -> Generator[None]:
        """Have these arguments in the context for a while."""
        before = vars(self).copy()
        vars(self).update(self.see(arguments))
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)

    def see(self, arguments: Sequence[object]) -> dict[str, object]:
        """Return the arguments of known types by attribute, of each type the first."""
        seen: dict[str, object] = {}
        for argument in arguments:
            inner = (
                cast(Sequence[object], argument)[:1] if type(argument) in self.looked_into else ()
            )
            for found in (argument, *inner):
                for kind, name in self.kinds.items():
                    if isinstance(found, kind):
                        seen.setdefault(name, found)
        return seen

    def entering(self, owner: Owner, name: str) -> Override:
        """Return an override that has the arguments of a function in the context while it runs."""
        return around(owner, name, self.run)

    def run(self, original: Original, *arguments: object, **named: object) -> object:
        """Do what an overridden function does, with its arguments in the context."""
        with self.busy_with(arguments):
            return original(*arguments, **named)
