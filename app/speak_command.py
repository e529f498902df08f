"""The command line of `speak`.

Purpose: options and arguments → `Wishes`, and the questions that need no engine (`--version`, `--list-voices`,
`--list-devices`, `--device-info`). Knows: typer, the names and help of the options, which of them exclude each other.
Does not know: how speech is made. What a voice can do is the engine's to judge.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from app.config import Config, load_config
from app.wishes import FileFormat, Wishes
from engines.contract import Layout, Sampling
from engines.voice_files import voice_info

_app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def run(arguments: list[str]) -> int:
    """Run with these arguments and return the exit code. Raises what went wrong.

    The parser only returns what is to be done; it would swallow a broken pipe if it did it itself.
    """
    try:
        result = _app(args=arguments, prog_name="speak", standalone_mode=False)
    except typer.Exit as end:
        return int(end.exit_code)
    except Exception as error:
        show = getattr(error, "show", None)  # the parser's own errors know how to show themselves
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", 2))
    return result() if callable(result) else int(result or 0)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib import metadata

        print(f"speakd {metadata.version('speakd')}")
        raise typer.Exit


@_app.command(context_settings={"help_option_names": ["-h", "--help"]})
def speak(
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            show_default=False,
            help="What to say; without it, or as '-', standard input is spoken as it arrives.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write .wav, .flac or .raw; '-' is standard output."),
    ] = None,
    file_format: Annotated[
        FileFormat | None, typer.Option("--format", help="Format of the output, where its name does not tell.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sound device to play through: name, part of it, or number.")
    ] = None,
    list_devices: Annotated[bool, typer.Option("--list-devices", help="Show the sound devices.")] = False,
    device_info: Annotated[
        bool, typer.Option("--device-info", help="Show what the model runs on, why, and how that device is.")
    ] = False,
    voice: Annotated[str | None, typer.Option(metavar="NAME", help="Speaker of the voice model.")] = None,
    list_voices: Annotated[bool, typer.Option("--list-voices", help="Show the speakers and languages.")] = False,
    language: Annotated[str | None, typer.Option(metavar="NAME", help="Language of the text, or 'auto'.")] = None,
    instruct: Annotated[
        str, typer.Option(metavar="TEXT", help="How to speak, in words, for models that take it.")
    ] = "",
    layout: Annotated[Layout, typer.Option(help="Where the text stands in the model's prompt.")] = Layout.AUTO,
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Same seed, same speech; else a random one.")
    ] = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="Always take the likeliest code.")] = False,
    temperature: Annotated[float | None, typer.Option(metavar="X", help="Sampling temperature.")] = None,
    top_k: Annotated[int | None, typer.Option(metavar="K", min=1, help="Sample among the k likeliest codes.")] = None,
    top_p: Annotated[
        float | None, typer.Option(metavar="P", help="Sample among codes of this total probability.")
    ] = None,
    repetition_penalty: Annotated[float | None, typer.Option(metavar="X", help="Above 1: repeat less.")] = None,
    max_frames: Annotated[int | None, typer.Option(metavar="N", min=1, help="Most frames for each segment.")] = None,
    bundle: Annotated[Path | None, typer.Option(metavar="DIR", help="Voice model to speak with.")] = None,
    config_file: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Configuration file.")] = None,
    save_codes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also save the codes, .npy int32 [frames, codebooks].")
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize/--no-normalize", help="Write out numbers, dates, units as words first.")
    ] = True,
    stats: Annotated[
        bool, typer.Option("--stats", help="End with one JSON line: on stdout, or on stderr if the sound goes there.")
    ] = False,
    no_daemon: Annotated[bool, typer.Option("--no-daemon", help="Always speak in this process.")] = False,
    now: Annotated[
        bool, typer.Option("--now", help="Interrupt another speak on this device, instead of waiting for its end.")
    ] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> Callable[[], int]:
    """Speak TEXT, or standard input while it still comes, through the loudspeaker or into a file.

    Exit codes: 0 spoken, 1 failed (stderr says why), 2 wrong command line, 130 stopped by Ctrl-C; a file then holds
    what had been spoken.
    """
    if list_devices:
        return _list_devices
    config = load_config(config_file)
    directory = bundle or Path(config.voice.bundle)
    if list_voices:
        return lambda: _list_voices(directory, config)
    if device_info:
        return lambda: _show_device(directory, config)
    if output is None and file_format is not None:
        _refuse("--format goes with -o FILE")
    if output is not None and device is not None:
        _refuse("choose -o FILE or --device NAME, not both")
    if now and output is not None:
        _refuse("--now is about the loudspeaker; it does not go with -o FILE")
    if greedy and (temperature, top_k, top_p) != (None, None, None):
        _refuse("--greedy leaves nothing to sample: drop --temperature, --top-k and --top-p")
    if output is not None and save_codes is not None and Path(output).resolve() == save_codes.resolve():
        _refuse("-o and --save-codes name one file")
    if output == "-" and sys.stdout is not None and sys.stdout.isatty():
        _refuse("standard output is a terminal; redirect the sound, or give a file name")

    wishes = Wishes(
        words=None if text in (None, [], ["-"]) else text,  # a dash by itself has nothing to say
        output=output,
        file_format=file_format,
        device=device,
        bundle=directory,
        voice=voice or config.voice.speaker or None,
        language=language or config.voice.language,
        instruct=instruct,
        layout=layout,
        seed=seed,
        sampling=Sampling(
            greedy=greedy or None,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            repetition_penalty=repetition_penalty,
        ),
        max_frames=max_frames,
        save_codes=save_codes,
        normalize=normalize,
        stats=stats,
        daemon=not no_daemon,
        now=now,
    )

    def speak_them() -> int:
        from app.speak_run import run_speak  # the lists do without it

        return run_speak(wishes, config)

    return speak_them


def _refuse(message: str) -> NoReturn:
    print(f"speak: {message}", file=sys.stderr)
    raise typer.Exit(2)


def _list_devices() -> int:
    from app.devices import AudioSystem

    with AudioSystem() as system:
        devices = system.devices()
    for device in devices:
        mark = "  (default)" if device.is_default else ""
        print(f"{device.index:3d}  {device.name}  {device.channels} channels, {device.default_rate_hz} Hz{mark}")
    if not devices:
        print("speak: no sound device was found", file=sys.stderr)
        return 1
    return 0


def _show_device(bundle: Path, config: Config) -> int:
    from app.device_info import show_device  # asks libraries that speaking does without

    return show_device(bundle, config)


def _list_voices(bundle: Path, config: Config) -> int:
    info = voice_info(bundle)
    default = (config.voice.speaker or next(iter(info.speakers), "")).lower()
    for name in info.speakers:
        print(f"{name}{'  (default)' if name.lower() == default else ''}")
    if not info.speakers:
        print(f"speak: this {info.model_type} model has no named voices", file=sys.stderr)
    print(f"languages: {', '.join(info.language_choices)}")
    return 0
