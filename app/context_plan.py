"""What a client wishes for, checked before anything is begun.

Purpose: hold a wish against the voices (`plan`): a `Plan` can be fulfilled, anything else is refused by its name.
Knows: voices, formats, what goes together in a message. Does not know: sessions, sockets, how speech is made.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from app.audio_format import AudioFormat, FormatError, choose
from app.messages import ContextStart, Format, SamplingWishes
from app.protocol_errors import ProtocolError
from app.voices import Voice, VoiceError, VoiceTable
from engines.contract import Pace, Sampling, SpeechRequest
from engines.errors import RequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A wish that was found possible."""

    voice: Voice
    audio: AudioFormat
    request: SpeechRequest
    instruct: str
    local: bool
    """Played here, instead of sent."""
    now: bool


def plan(message: ContextStart, voices: VoiceTable) -> Plan:
    """Check a wish against one table of voices. Raises `ProtocolError`."""
    try:
        voice = voices.find(message.voice)
        info = voice.model.info
        audio = choose(message.format.encoding, message.format.sample_rate, info.sample_rate_hz)
    except VoiceError as error:
        raise ProtocolError("unknown_voice", str(error)) from None
    except FormatError as error:
        raise ProtocolError("bad_format", str(error)) from None
    language = (message.language or voices.language_of(voice)).lower()
    if language not in info.language_choices:
        known = ", ".join(info.language_choices)
        raise ProtocolError("unknown_language", f"'{voice.name}' speaks {known}, not '{language}'")
    if message.instruct and not info.takes_instruct:
        raise ProtocolError("bad_request", f"'{voice.name}' takes no 'instruct'; leave it out")
    if message.play is not None and message.format != Format():
        raise ProtocolError("bad_request", "what is played here is not sent: leave 'format' out")
    if message.now and message.play is None:
        raise ProtocolError("bad_request", "'now' is about the loudspeaker: it goes with 'play'")
    seed = message.sampling.seed
    request = SpeechRequest(
        voice=voice.speaker,
        language=language,
        sampling=_sampling(message.sampling),
        seed=secrets.randbits(31) if seed is None else seed,
        max_frames=message.max_frames,
        initial_codec_chunk_frames=message.initial_codec_chunk_frames,
        pace=Pace(message.pace),
    )
    try:
        voice.model.engine.check(request)
    except RequestError as error:
        raise ProtocolError("bad_request", str(error)) from None
    return Plan(
        voice=voice,
        audio=audio,
        request=request,
        instruct=message.instruct or "",
        local=message.play is not None,
        now=message.now,
    )


def _sampling(wishes: SamplingWishes) -> Sampling:
    greedy = wishes.temperature == 0.0
    return Sampling(
        greedy=greedy or None,
        temperature=None if greedy else wishes.temperature,
        top_k=wishes.top_k,
        top_p=wishes.top_p,
        repetition_penalty=wishes.repetition_penalty,
    )
