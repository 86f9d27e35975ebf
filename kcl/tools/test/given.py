"""What the command line hands to all tests: arguments, settings, packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kcl.records import dataclass
from kcl.secrecy.names import suggests_secret
from kcl.secrecy.rules import MASK
from kcl.tools.test.cases import Case
from kcl.tools.test.suites import Test


@dataclass(frozen=True, slots=True)
class Given:
    """`arguments` are texts as given to `-D`; `settings` and `packages` are absolute paths."""

    arguments: tuple[str, ...]
    settings: tuple[str, ...]
    packages: Mapping[str, str]
    secrets: tuple[str, ...]
    """What telling names were given: an assertion that fails shows what it compared."""

    def case(self, test: Test, covered: bool) -> Case:
        return Case(
            test.folder,
            test.files,
            test.name,
            covered,
            packages=self.packages,
            arguments=self.arguments,
            settings=self.settings,
        )

    def masked(self, text: str) -> str:
        for each in self.secrets:
            text = text.replace(each, MASK)
        return text


def secret_texts(options: object, telling: bool = False) -> Iterator[str]:
    """The texts and numbers below telling names."""
    match options:
        case dict():
            for name, value in options.items():
                yield from secret_texts(value, telling or suggests_secret(str(name)))
        case list():
            for value in options:
                yield from secret_texts(value, telling)
        case str() | int() | float() if telling and not isinstance(options, bool) and str(options):
            yield str(options)
        case _:
            pass
