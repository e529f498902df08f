"""What people are told of a bundle, by values."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import msgspec
from rich.console import Console, RenderableType

from engines.manifest import FileEntry, ModelType, write_manifest
from export.inspect_bundle import facts, inspect, judgement, quality_table
from tests import fake_voice
from tests.test_manifest import quality


def shown(what: RenderableType) -> list[str]:
    console = Console(file=StringIO(), width=200)
    console.print(what)
    assert isinstance(console.file, StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_facts_are_a_line_each() -> None:
    manifest = fake_voice.manifest()
    files = {"a": FileEntry(bytes=1_500_000, sha256=""), "b": FileEntry(bytes=700_000, sha256="")}
    made = msgspec.structs.replace(manifest.provenance, precision="int4", down_precision="int8")
    manifest = msgspec.structs.replace(manifest, files=files, provenance=made)
    stack, frame = manifest.talker, manifest.frame
    width = f"1 layers of {stack.hidden}, 1 heads on 1 of 2, {stack.vocabulary} values"
    assert shown(facts(Path("voices/fake"), manifest)) == [
        "voices/fake",
        "model fake, custom_voice, 1b7",
        f"frame 80 ms, 3 codes of {frame.codebook_size}, 50 Hz",
        f"talker {width}",
        f"predictor {width}",
        "precision int4, down projections int8",
        "size 2.2 MB in 2 files",
        "languages english, Chinese, sichuan",
        "speakers Ann, Bao",
        "reads text",
        "licence none",
        "made by test from none",
    ]
    assert "speakers none" in shown(facts(Path("voices/fake"), fake_voice.manifest(ModelType.BASE)))


def test_a_measurement_is_judged_by_its_own_gate() -> None:
    good, bad = quality((0.8, 0.03), (0.9, 0.01)), quality((0.5, 0.03))
    assert judgement(good) == "Within the gate (at least 75% and at most 0.05 nats)."
    assert judgement(bad) == "BELOW the gate (at least 75% and at most 0.05 nats); not for use."
    forced = msgspec.structs.replace(bad, forced=True)
    assert judgement(forced) == "BELOW the gate (at least 75% and at most 0.05 nats); kept by --force."
    lines = shown(quality_table(good))
    assert lines[0] == "Against fp32, 10 frames of 1 texts, teacher forced"
    assert [line.replace("│", "").split() for line in lines if "%" in line] == [
        ["0", "80.0%", "0.03000"], ["1", "90.0%", "0.01000"], ["mean", "85.0%", "0.02000"],
    ]  # fmt: skip


def test_what_was_not_measured_says_why(tmp_path: Path) -> None:
    for measured in (None, quality((0.8, 0.03))):
        write_manifest(tmp_path, msgspec.structs.replace(fake_voice.manifest(), quality=measured))
        console = Console(file=StringIO(), width=200)
        inspect(tmp_path, console)
        assert isinstance(console.file, StringIO)
        told = console.file.getvalue()
        assert ("nothing was measured" in told) is (measured is None)
        assert ("Within the gate" in told) is (measured is not None)
