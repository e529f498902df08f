"""The quality gate: its probe tells what stepping tells, a bundle keeps its record, and bad weights are refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from engines.manifest import CodebookQuality, Manifest, Quality, StageSampling, read_manifest
from export.__main__ import main
from export.build_door import Values
from export.bundle_manifest import GRAPHS
from export.errors import CheckpointError, ExportError, QualityError
from export.exporter import Export, export_checkpoint
from export.frame_graph import FramePlan
from export.inspect_bundle import judgement
from export.lowering import Precision
from export.ort_session import OrtSession
from export.payload import Payload
from export.probe_speech import Spoken, _until_its_end
from export.probe_texts import probe_ids
from export.progress import Silent, Unit
from export.quality import MOMENTS_FILE, PROBE_FILE, Prober, compare, log_softmax, measure, portions
from export.quality_gate import QualityGate, judge
from export.tensorrt import read_source
from export.text_side import load_tokenizer
from tests.tiny_checkpoint import write_checkpoint
from tests.tiny_spec import TinySpec


def greedy(manifest: Manifest) -> Manifest:
    """Sampling that always takes the likeliest code, without a penalty."""
    stage = StageSampling(do_sample=False, temperature=1.0, top_k=1, top_p=1.0)
    sampling = msgspec.structs.replace(manifest.sampling, talker=stage, predictor=stage, repetition_penalty=1.0)
    return msgspec.structs.replace(manifest, sampling=sampling)


class Full:
    """An unquantised tiny voice in a folder with both graphs."""

    def __init__(self, folder: Path, spec: TinySpec) -> None:
        checkpoint = write_checkpoint(spec, folder / "model")
        self.manifest = export_checkpoint(checkpoint, folder / "bundle")
        self.folder, self.texts = folder / "bundle", probe_ids(checkpoint, load_tokenizer(checkpoint))[:2]
        source = read_source(checkpoint, self.manifest.sampling.max_top_k, self.manifest.limits.max_positions)
        full = Precision.FP32
        plan = FramePlan(source.talker, source.model_file, full, full, source.max_top_k, source.max_positions)
        gate = QualityGate(plan, Payload())
        gate._payload.write(self.folder / GRAPHS.weights, lambda _: None)
        for graph, name in ((gate._frame, GRAPHS.frame), (gate._full_probe, PROBE_FILE), (gate._moments, MOMENTS_FILE)):
            (self.folder / name).write_bytes(graph.model(GRAPHS.weights).SerializeToString())
        self.table = np.load(self.folder / GRAPHS.text_table)
        self.codec = source.model_file.read("talker.model.codec_embedding.weight")
        self.gamma = source.model_file.read("talker.model.layers.0.input_layernorm.weight")
        self.predictor_gamma = source.model_file.read("talker.code_predictor.model.layers.0.input_layernorm.weight")

    def speak(self) -> tuple[Prober, list[Spoken]]:
        prober = Prober(self.folder, greedy(self.manifest), Silent())
        return prober, prober.speak(self.texts, self.table, self.codec)


@pytest.fixture(scope="module", params=[64, 48])
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Full:
    spec = TinySpec(seed=21, codebooks=5, predictor_hidden=request.param)
    return Full(tmp_path_factory.mktemp("quality"), spec)


def test_the_probe_chooses_what_stepping_chose(full: Full) -> None:
    prober, spoken = full.speak()
    codes = np.concatenate([one.codes for one in spoken])
    chosen = np.stack([book.argmax(axis=-1) for book in prober.choices(spoken)], axis=1)
    np.testing.assert_array_equal(chosen, codes)
    assert len(np.unique(codes)) > 20


def test_a_text_that_was_spoken_to_its_end_has_no_frame_more(full: Full) -> None:
    eos, pad = full.manifest.codec_ids.eos, np.full(2, 7, np.float32)
    codes = np.array([[1, eos], [2, 5], [eos, 3], [4, 4]])
    prompt, fed = np.zeros((3, 2), np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)
    for said, frames in ((codes, 2), (codes[:2], 2), (codes[3:], 1)):
        one = _until_its_end(full.manifest, prompt, prompt, said, fed, pad)
        np.testing.assert_array_equal(one.codes, said[:frames])
        np.testing.assert_array_equal(one.codec_rows, np.concatenate([prompt, fed[: frames - 1]]))
        np.testing.assert_array_equal(one.text_rows[3:], np.tile(pad, (frames - 1, 1)))
        assert one.first_row == 2


def test_the_same_weights_differ_in_nothing(full: Full) -> None:
    prober, spoken = full.speak()
    found = measure(prober, prober, spoken)
    assert (found.agreement, found.divergence) == (1.0, 0.0)
    assert found.passed
    assert len(found.codebooks) == full.manifest.frame.codebooks


def test_moments_are_those_of_what_a_matrix_was_given(full: Full) -> None:
    prober, spoken = full.speak()
    rows = np.concatenate([one.codec_rows + one.text_rows for one in spoken]).astype(np.float64)
    given = rows / np.sqrt((rows**2).mean(axis=1, keepdims=True) + 1e-6) * full.gamma
    moments = prober.moments(spoken)
    np.testing.assert_allclose(moments["talker.layers.0.attention.qkv"], given.T @ given, rtol=1e-4, atol=1e-3)
    predictor = moments["predictor.layers.0.attention.qkv"]
    frames = sum(len(one.codes) for one in spoken)
    unit = np.trace(predictor / (full.predictor_gamma[:, None] * full.predictor_gamma)) / len(predictor)
    assert unit == pytest.approx(frames * full.manifest.frame.codebooks, rel=1e-3)
    assert not any("head" in name for name in moments)


def test_no_run_puts_more_moments_out_than_memory_has_room_for(full: Full, monkeypatch: pytest.MonkeyPatch) -> None:
    prober, spoken = full.speak()
    whole, put_out = prober.moments(spoken), list[list[int]]()
    run = OrtSession.run

    def watched(session: OrtSession, values: Values, names: list[str] | None = None) -> Values:
        outputs = run(session, values, names)
        put_out.append([value.nbytes for value in outputs.values()])
        return outputs

    room = 2 * max(value.nbytes for value in whole.values())
    monkeypatch.setattr("export.quality.MOMENTS_BYTES", room)
    monkeypatch.setattr(OrtSession, "run", watched)
    again = prober.moments(spoken)
    assert all(np.array_equal(again[name], value) for name, value in whole.items())
    assert max(map(sum, put_out)) <= room
    assert len(put_out) < len(spoken) * len(whole), "several small ones share a run"


def test_logits_of_any_size_have_probabilities() -> None:
    far = np.array([[1000.0, 999.0], [-1000.0, -1001.0]], np.float32)
    np.testing.assert_allclose(np.exp(log_softmax(far)).sum(axis=-1), 1.0, rtol=1e-6)


def test_portions_keep_within_their_size() -> None:
    assert portions({"a": 3, "b": 3, "c": 9, "d": 1}, 6) == [["a", "b"], ["c"], ["d"]]


def test_compare_by_hand() -> None:
    even = np.log(np.array([[0.5, 0.5]], np.float32))
    skewed = np.log(np.array([[0.25, 0.75]], np.float32))
    found = compare(even, skewed)
    assert found.agreement == 0.0
    assert found.divergence == pytest.approx(0.5 * np.log(4 / 3), abs=1e-6)
    np.testing.assert_allclose(log_softmax(even + 7), even, atol=1e-6)


def test_a_bundle_below_the_gate_is_refused_and_forced(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(
        TinySpec(seed=22, logit_gain=9.0, codebooks=4, predictor_layers=1), tmp_path / "model"
    )
    with pytest.raises(QualityError, match=r"^int4 changes this voice too much.*--force"):
        export_checkpoint(checkpoint, tmp_path / "bundle", "int4")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    export_checkpoint(checkpoint, tmp_path / "bundle", "int4", force=True)
    quality = read_manifest(tmp_path / "bundle").quality
    assert quality is not None
    assert quality.forced
    assert not quality.passed
    assert PROBE_FILE not in {path.name for path in (tmp_path / "bundle").iterdir()}


@pytest.mark.parametrize(
    ("precision", "down", "named"),
    [("int8", "int4", "int8 with int4 down projections"), ("int4", "int8", "int4"), ("int8", None, "int8")],
)
def test_what_is_below_the_gate_is_named(precision: str, down: str | None, named: str) -> None:
    book = CodebookQuality(agreement=0.5, divergence=1.0)
    bad = Quality(
        reference="fp32", texts=1, frames=1, codebooks=(book,), least_agreement=0.9, most_divergence=0.1, forced=False
    )  # fmt: skip
    with pytest.raises(QualityError, match=f"^{named} changes this voice too much"):
        judge(bad, Precision(precision), None if down is None else Precision(down), force=False)


class Stages:
    """What an export told of its progress."""

    def __init__(self) -> None:
        self.totals: list[tuple[str, int]] = []
        self.done: list[int] = []

    def stage(self, name: str, total: int, unit: Unit = Unit.BYTES) -> Callable[[int], None]:
        place = len(self.totals)
        self.totals.append((f"{name}, {unit.value}", total))
        self.done.append(0)

        def advance(count: int) -> None:
            self.done[place] += count

        return advance


def test_every_stage_of_a_measured_export_comes_to_its_end(tiny_checkpoint: Path, tmp_path: Path) -> None:
    stages = Stages()
    export_checkpoint(tiny_checkpoint, tmp_path / "bundle", "int4", progress=stages, force=True)
    assert stages.done == [total for _, total in stages.totals]
    told = [name for name, _ in stages.totals]
    assert told == [
        "text table, bytes", "reference, bytes", "speaking, runs", "learning, runs", "weights, bytes", "speaking, runs",
        "comparing, runs", "comparing, runs", "checksums, bytes",
    ]  # fmt: skip


@pytest.mark.parametrize(("free", "measured"), [(None, True), (64 << 20, True), (1 << 20, False)])
def test_a_bundle_is_measured_where_the_memory_is_there(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    free: int | None, measured: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr("export.exporter.free_memory_bytes", lambda: free)
    assert main([str(tiny_checkpoint), str(tmp_path / "bundle"), "--precision", "int8"]) == 0
    assert (read_manifest(tmp_path / "bundle").quality is not None) is measured
    assert ("too little memory is free (--measure tries all the same)" in capsys.readouterr().out) is not measured


@pytest.mark.parametrize(
    ("option", "free", "says"),
    [
        ("--measure", 1 << 20, "of choices as in fp32"),
        ("--no-measure", 64 << 20, "what quantisation cost was not measured"),
    ],
)
def test_whoever_asks_has_it_measured_or_not_whatever_memory_there_is(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    option: str, free: int, says: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("export.exporter.free_memory_bytes", lambda: free)
    assert main([str(tiny_checkpoint), str(tmp_path / "bundle"), "--precision", "int8", option]) == 0
    measured, told = option == "--measure", capsys.readouterr().out
    assert (read_manifest(tmp_path / "bundle").quality is not None) is measured
    assert says in told
    assert measured or told.strip().endswith(says)


def test_a_disk_without_room_for_the_measurement_says_so(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("export.placing.shutil.disk_usage", lambda _: SimpleNamespace(free=2 << 20))
    with pytest.raises(ExportError, match=r"measuring it \d+ MiB more \(--no-measure\)"):
        export_checkpoint(tiny_checkpoint, tmp_path / "bundle", "int8")
    assert export_checkpoint(tiny_checkpoint, tmp_path / "bundle", "int8", measured=False).quality is None


def test_a_good_bundle_keeps_its_record_and_inspect_shows_it(tiny_checkpoint: Path, tmp_path: Path) -> None:
    quality = export_checkpoint(tiny_checkpoint, tmp_path / "bundle", "int8").quality
    assert quality is not None
    assert read_manifest(tmp_path / "bundle").quality == quality
    assert quality.agreement > 0.9
    command = [sys.executable, "-m", "export", "inspect", str(tmp_path / "bundle")]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"{quality.agreement:.1%}" in shown.stdout
    assert "Within the gate" in shown.stdout
    assert "custom_voice" in shown.stdout


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_the_default_voice_is_within_the_gate(default_checkpoint: Path, tmp_path: Path, precision: str) -> None:
    quality = export_checkpoint(default_checkpoint, tmp_path / "bundle", precision, measured=True).quality
    assert quality is not None
    assert quality.passed


def test_inspect_of_full_and_of_no_bundle(tiny_bundle: Path, tmp_path: Path) -> None:
    def run(path: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "export", "inspect", str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert "nothing was measured" in run(tiny_bundle).stdout
    bad = run(tmp_path)
    assert bad.returncode == 1
    assert "is not a voice bundle" in bad.stderr


def test_judgement_names_what_was_forced() -> None:
    book = CodebookQuality(agreement=0.5, divergence=1.0)
    quality = Quality(
        reference="fp32", texts=1, frames=1, codebooks=(book,), least_agreement=0.75, most_divergence=0.05, forced=True
    )
    assert "kept by --force" in judgement(quality)


def test_what_rounding_learns_from_is_not_measured(tiny_checkpoint: Path) -> None:
    learning, measured = Export(tiny_checkpoint, Precision.INT4, Precision.INT4, Silent(), 0).probes()
    told = probe_ids(tiny_checkpoint, load_tokenizer(tiny_checkpoint))
    assert measured == told, "what a bundle of another precision is measured by"
    assert not set(learning) & set(measured)
    assert len(learning) > len(measured)


def test_texts_of_a_voice_that_reads_phones_come_from_its_lexicon(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(TinySpec(), tmp_path / "model")
    (checkpoint / "lexicon.txt").write_text("the\tTH\nfox\tFX\n")
    tokenizer = load_tokenizer(checkpoint)
    assert tokenizer.decode(probe_ids(checkpoint, tokenizer)[0]) == "TH FX TH."
    (checkpoint / "lexicon.txt").write_bytes(b"caf\xe9\tKAFE\n")
    with pytest.raises(CheckpointError, match=r"lexicon\.txt: 'utf-8' codec can't decode"):
        probe_ids(checkpoint, tokenizer)
