"""What a bundle is, told to a person.

Purpose: `python -m export inspect BUNDLE`: the manifest's facts and the record of the quality measurement as text.
Knows: the manifest. Does not know: graphs, engines.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from engines.manifest import Manifest, Quality, StackSpec, read_manifest


def inspect(bundle: Path, console: Console) -> None:
    """Print what `manifest.json` says. Raises `BundleError` where there is none that can be read."""
    manifest = read_manifest(bundle)
    console.print(facts(bundle, manifest))
    if manifest.quality is None:
        console.print(
            "Quality: nothing was measured (nothing is quantised, or it was not wanted, or there was too little memory:"
            " --measure)."
        )
    else:
        console.print(quality_table(manifest.quality))
        console.print(judgement(manifest.quality))


def facts(bundle: Path, manifest: Manifest) -> Table:
    """One fact a line."""
    frame, made = manifest.frame, manifest.provenance
    size = sum(entry.bytes for entry in manifest.files.values())
    table = Table(title=str(bundle), title_justify="left", show_header=False, box=None)
    rows = {
        "model": f"{manifest.family}, {manifest.model_type.value}, {manifest.model_size}",
        "frame": f"{frame.frame_ms:g} ms, {frame.codebooks} codes of {frame.codebook_size}, {frame.sample_rate_hz} Hz",
        "talker": _stack(manifest.talker),
        "predictor": _stack(manifest.predictor),
        "precision": made.stored,
        "size": f"{size / 1e6:.1f} MB in {len(manifest.files)} files",
        "languages": ", ".join(manifest.languages),
        "speakers": ", ".join(manifest.speakers) or "none",
        "reads": manifest.front_end.kind.value,
        "licence": made.licence,
        "made by": f"{made.exporter} from {made.checkpoint}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _stack(stack: StackSpec) -> str:
    return (
        f"{stack.layers} layers of {stack.hidden}, {stack.heads} heads on {stack.kv_heads} of {stack.head_dim},"
        f" {stack.vocabulary} values"
    )


def quality_table(quality: Quality) -> Table:
    """One codebook a line."""
    table = Table(
        title=f"Against {quality.reference}, {quality.frames} frames of {quality.texts} texts, teacher forced",
        title_justify="left",
    )
    table.add_column("codebook", justify="right")
    table.add_column("same likeliest code", justify="right")
    table.add_column("divergence, nats", justify="right")
    for index, book in enumerate(quality.codebooks):
        table.add_row(str(index), f"{book.agreement:.1%}", f"{book.divergence:.5f}")
    table.add_row("mean", f"{quality.agreement:.1%}", f"{quality.divergence:.5f}", style="bold")
    return table


def judgement(quality: Quality) -> str:
    """The gate and what came of it, as one sentence."""
    gate = f"at least {quality.least_agreement:.0%} and at most {quality.most_divergence:g} nats"
    if quality.passed:
        return f"Within the gate ({gate})."
    return f"BELOW the gate ({gate}); {'kept by --force' if quality.forced else 'not for use'}."
