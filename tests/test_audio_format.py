"""Formats: every one is decoded again by somebody else's library, whatever the blocks."""

from __future__ import annotations

import io

import av
import numpy as np
import pytest
import soundfile as sf

from app.audio_format import ALAW, MEDIA_TYPES, MULAW, FormatError, choose, offers, open_encoder
from app.sink import to_pcm16
from engines.contract import Pcm

RATE = 24000
EVERY_SAMPLE = np.arange(-32768, 32768, dtype=np.int16)


def tone(seconds: float, rate: int = RATE, hz: float = 440.0) -> Pcm:
    return (0.5 * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def encoded(encoding: str, rate: int, pcm: Pcm, block: int = 1920) -> bytes:
    encoder = open_encoder(choose(encoding, rate, RATE))
    blocks = [encoder.encode(pcm[at : at + block]) for at in range(0, len(pcm), block)]
    return b"".join([*blocks, encoder.finish()])


def decoded(stream: bytes) -> tuple[Pcm, int]:
    """The sound of a file without a length, and its rate."""
    with av.open(io.BytesIO(stream)) as container:
        rate = container.streams.audio[0].rate
        to_float = av.AudioResampler("flt", "mono", rate)
        frames = [out for frame in container.decode(audio=0) for out in to_float.resample(frame)]
    return np.concatenate([frame.to_ndarray()[0] for frame in frames]), rate


def reference(subtype: str) -> bytes:
    file = io.BytesIO()
    sf.write(file, EVERY_SAMPLE, 8000, format="RAW", subtype=subtype)
    return file.getvalue()


def test_mulaw_is_libsndfiles() -> None:
    assert MULAW[EVERY_SAMPLE.view(np.uint16)].tobytes() == reference("ULAW")


def test_alaw_is_libsndfiles() -> None:
    """All but where a negative sample lies on an edge: G.711 takes the one's complement, libsndfile the magnitude."""
    ours = ALAW[EVERY_SAMPLE.view(np.uint16)]
    theirs = np.frombuffer(reference("ALAW"), np.uint8)
    edge = (EVERY_SAMPLE < 0) & (EVERY_SAMPLE % 16 == 0)
    assert np.array_equal(ours[~edge], theirs[~edge])
    assert np.array_equal(ours[edge], ours[np.flatnonzero(edge) + 1]), "an edge belongs to the step towards zero"


def test_samples_as_they_are() -> None:
    pcm = tone(0.3)
    assert encoded("pcm_s16le", RATE, pcm) == to_pcm16(pcm).astype("<i2").tobytes()
    assert encoded("pcm_f32le", RATE, pcm) == pcm.astype("<f4").tobytes()


@pytest.mark.parametrize("rate", [8000, 22050, 24000, 48000])
@pytest.mark.parametrize("encoding", ["wav", "flac", "opus"])
def test_files_play(encoding: str, rate: int) -> None:
    if encoding == "opus" and rate == 22050:
        pytest.skip("opus has no such rate")
    data, played_at = decoded(encoded(encoding, rate, tone(1.0)))
    assert played_at == (48000 if encoding == "opus" and played_at == 48000 else rate)
    assert abs(len(data) / played_at - 1.0) < 0.03
    middle = data[played_at // 4 : played_at // 2]
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle))))
    assert abs(np.argmax(spectrum) * played_at / len(middle) - 440.0) < 8
    assert 0.4 < np.abs(middle).max() < 0.6


@pytest.mark.parametrize("encoding", sorted(MEDIA_TYPES))
@pytest.mark.parametrize("rate", [8000, 24000])
def test_nothing_is_a_stream_too(encoding: str, rate: int) -> None:
    data = encoded(encoding, rate, np.empty(0, np.float32))
    assert bool(data) == (encoding in {"wav", "flac", "opus"})


def test_lossless_whatever_the_blocks() -> None:
    pcm = tone(0.5)
    for block in (100, 1920, 12000):
        data, _ = decoded(encoded("flac", RATE, pcm, block))
        assert np.array_equal(np.rint(data * 32768), to_pcm16(pcm))


@pytest.mark.parametrize("block", [160, 1920, 7777])
def test_another_rate_is_the_same_for_any_blocks(block: int) -> None:
    whole = encoded("pcm_f32le", 16000, tone(0.5), 12000)
    assert encoded("pcm_f32le", 16000, tone(0.5), block) == whole
    assert abs(len(whole) // 4 - 8000) <= 1


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 44100, 48000])
def test_another_rate_holds_back_little_and_always_the_same(rate: int) -> None:
    """Blocks are as long as they must be by what went into the filter; what it keeps longer is heard as a gap."""
    encoder = open_encoder(choose("pcm_s16le", rate, RATE))
    held_ms = []
    for number in range(1, 25):
        encoder.encode(tone(0.08))
        held_ms.append(80.0 * number - 1000.0 * encoder.samples / rate)
    assert max(held_ms) <= 25.5
    assert max(held_ms) - min(held_ms) < 0.5


def test_sound_leaves_compressed_streams_early() -> None:
    """A listener of opus or flac does not wait for a second of sound before the first bytes."""
    for encoding in ("opus", "flac"):
        encoder = open_encoder(choose(encoding, RATE, RATE))
        sizes = [len(encoder.encode(tone(0.08))) for _ in range(6)]
        assert sum(size > 0 for size in sizes) >= 2, (encoding, sizes)


@pytest.mark.parametrize(
    ("encoding", "rate", "most_ms"), [("flac", RATE, 20), ("flac", 8000, 47), ("flac", 44100, 47), ("opus", RATE, 60)]
)
def test_the_end_of_a_word_does_not_wait_for_the_next(encoding: str, rate: int, most_ms: float) -> None:
    """At `flushed` nothing more may come for long, and what the encoder holds is not heard until then."""
    encoder = open_encoder(choose(encoding, rate, RATE))
    stream, given, held_ms = b"", 0, []
    for samples in (7000, 2511, 1920, 3333, 1919, 960, 1000):
        stream += encoder.encode(tone(samples / RATE))
        given += samples
        heard, heard_rate = decoded(stream)
        held_ms.append(1000.0 * (given / RATE - len(heard) / heard_rate))
    assert max(held_ms) <= most_ms


@pytest.mark.parametrize(
    ("encoding", "rate", "says"),
    [("mp3", None, "pcm_s16le"), ("opus", 44100, "24000"), ("wav", 7999, "8000 to 48000"), ("wav", 96000, "8000")],
)
def test_refusals_say_what_there_is(encoding: str, rate: int | None, says: str) -> None:
    with pytest.raises(FormatError, match=says):
        choose(encoding, rate, RATE)


def test_defaults_and_offers() -> None:
    wanted = choose(None, None, RATE)
    assert (wanted.encoding, wanted.sample_rate_hz, wanted.light) == ("pcm_s16le", RATE, True)
    assert not choose("opus", None, RATE).light
    assert not choose("mulaw", 8000, RATE).light
    assert [offer.encoding for offer in offers()] == list(MEDIA_TYPES)
    opus = [48000, 24000, 16000, 12000, 8000]
    for offer in offers():
        rates = sorted(opus) if offer.encoding == "opus" else [8000, 48000]
        assert (sorted(offer.sample_rates), offer.any_rate) == (rates, offer.encoding != "opus")
