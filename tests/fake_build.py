"""`python -m export build` with a fake TensorRT, as a program of its own for tests."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import cast

from export.__main__ import parser
from export.build_command import build_or_list
from export.build_door import EngineBuilder
from export.errors import ExportError
from tests.fake_builder import FakeBuilder


def has_tensorrt() -> bool:
    """Whether the real one is installed, in the Python that runs the tests."""
    return find_spec("tensorrt") is not None


def load() -> EngineBuilder:
    return cast("EngineBuilder", FakeBuilder())


if __name__ == "__main__":
    try:
        build_or_list(parser().parse_args(sys.argv[1:]), load)
    except ExportError as error:
        sys.exit(str(error))
