"""Makes what pybind11-stubgen writes of TensorRT a file that a type checker can read.

Some of TensorRT's signatures have defaults that are no Python (`<Kind.NAME: 0>`) or stand in an order that is none.
Such a line becomes one that takes anything; every other signature stays as it is. TensorRT calls a type of its own
`bool`, so Python's is called by its full name; what else the checker dislikes in TensorRT's own types is not looked at.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Final

_DEF: Final = re.compile(r"(\s*)def (\w+)\(")
_MOST: Final = 200


def readable(text: str) -> tuple[str, int]:
    """The text with its unreadable lines replaced, and how many there were. Raises `SyntaxError` for other faults."""
    whole = re.sub(r"(->|:|\[|\||,) bool\b", r"\1 builtins.bool", text).replace("\nbool: builtins.bool", "\nbool:")
    head, _, rest = whole.partition("\n")
    lines = ["# mypy: ignore-errors", head, "import builtins", "__version__: builtins.str", *rest.splitlines()]
    for replaced in range(_MOST):
        try:
            ast.parse("\n".join(lines))
        except SyntaxError as error:
            at = (error.lineno or 1) - 1
            while at >= 0 and _DEF.match(lines[at]) is None:
                at -= 1
            found = _DEF.match(lines[at]) if at >= 0 else None
            if found is None:
                raise
            indent, name = found.groups()
            lines[at] = f"{indent}def {name}(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:"
        else:
            return "\n".join(lines) + "\n", replaced
    raise SyntaxError(f"more than {_MOST} signatures cannot be read")


def main() -> None:
    """Read the first file named, write the second."""
    source, target = map(Path, sys.argv[1:])
    text, replaced = readable(source.read_text())
    target.parent.mkdir(parents=True)
    target.write_text(text)
    print(f"{replaced} signatures of TensorRT are no Python and were left open")


if __name__ == "__main__":
    main()
