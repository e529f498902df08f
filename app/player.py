"""The player: a process that plays for the daemon.

Purpose: take sound through a pipe and play it, one playback after the other, with the device kept open for a while. A
process of its own, because sound libraries abort, hang and write where they like: none of that may reach a daemon that
serves others. It ends when the pipe does. Knows: `SpeakerSink`, the place in front of the device that other programs of
this user share. Does not know: text, engines, clients, which context is next.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

import msgspec

from app.config import PlaybackConfig
from app.kept_audio import KeptAudio
from app.loudspeaker import Loudspeaker
from app.player_wire import (
    Cut,
    End,
    Ended,
    FromPlayer,
    How,
    Look,
    Play,
    Present,
    Sounding,
    Taken,
    pack,
    read_to_player,
)
from app.promptness import be_prompt
from app.sink import SinkError
from app.speaker import SpeakerSink
from engines.contract import Pcm

_LOOK_S: Final = 0.02
"""Between two looks whether another program has left the place."""


class Playing:
    """One playback. `run` ends with what became of it; sound is fed meanwhile."""

    def __init__(
        self, wish: Play, settings: PlaybackConfig, audio: KeptAudio, send: Callable[[FromPlayer], None]
    ) -> None:
        self.number: Final = wish.number
        self._wish = wish
        self._settings = settings
        self._audio = audio
        self._send = send
        self._sound: asyncio.Queue[Pcm | SinkError | None] = asyncio.Queue()
        """Bounded by the daemon, which sends no more than was taken."""
        self._unheard: list[Pcm] | None = []
        """What was given to the device before its first sample sounded: another try needs it."""
        self._sink: SpeakerSink | None = None
        self._loop = asyncio.get_running_loop()

    def feed(self, pcm: Pcm | None) -> None:
        """More sound; None is the end of it."""
        self._sound.put_nowait(pcm)

    def look(self) -> None:
        """To be called now and then: with no sound to hand over, nobody would notice that the device never opens."""
        failure = self._sink.not_opened() if self._sink is not None else None
        if failure is not None:
            self._sound.put_nowait(failure)

    async def run(self) -> None:
        """Play all of it. Raises `SinkError`; when cancelled, falls silent at once."""
        device = self._settings.device or None
        place = Loudspeaker(device, now=self._wish.now)
        try:
            while not place.try_take():
                await asyncio.sleep(_LOOK_S)
            try:
                await self._play(device)
            except SinkError:
                if self._unheard is None or self.hangs:
                    raise
                self._audio.forget()  # the device may be another one by now
                await self._play(device)
        finally:
            place.leave()

    @property
    def hangs(self) -> bool:
        """When `run` has ended: the device keeps the playing thread."""
        return self._sink is not None and self._sink.hangs

    def underruns(self) -> tuple[int, float]:
        """Gaps, and their length in milliseconds."""
        if self._sink is None:
            return 0, 0.0
        heard = self._sink.statistics()
        return heard.underruns, heard.gap_ms

    async def _play(self, device: str | None) -> None:
        sink = self._sink = SpeakerSink(
            self._wish.sample_rate_hz,
            self._settings,
            device=device,
            eager=True,
            system=self._system,
            on_first=self._sounds,
        )
        try:
            for pcm in list(self._unheard or ()):
                await sink.write(pcm)
            while (block := await self._sound.get()) is not None:
                if isinstance(block, SinkError):
                    raise block
                if self._unheard is not None:
                    self._unheard.append(block)
                try:
                    await sink.write(block)
                finally:
                    self._send(Taken(number=self.number, samples=len(block), underruns=self.underruns()[0]))
            self._sound.put_nowait(None)  # should it all have to be said again
            await sink.finish()
        except BaseException:
            await sink.stop()
            raise

    def _system(self) -> KeptAudio:
        """Called first on the playing thread."""
        be_prompt()
        return self._audio

    def _sounds(self, at_s: float) -> None:
        """Called on the playing thread."""
        with contextlib.suppress(RuntimeError):  # the loop is gone
            self._loop.call_soon_threadsafe(self._heard, at_s)

    def _heard(self, at_s: float) -> None:
        self._unheard = None
        device = (self._sink.statistics().device if self._sink else None) or ""
        self._send(Sounding(number=self.number, device=device, at_s=at_s))


class Player:
    """The process."""

    def __init__(
        self,
        settings: PlaybackConfig,
        send: Callable[[FromPlayer], None],
        audio: KeptAudio | None = None,
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        self._settings = settings
        self._send = send
        self._leave = leave
        self._audio = audio or KeptAudio()
        self._playing: Playing | None = None
        self._work: asyncio.Task[None] | None = None
        self._release: asyncio.TimerHandle | None = None
        self._interrupted = False
        self._absence: str | None = None
        """As it was found last: while a device plays it cannot be looked for."""

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Until the daemon leaves."""
        self._absence = self._audio.absence()
        self._send(Present(absence=self._absence))
        try:
            while True:
                await self._on(await read_to_player(reader))
        except asyncio.IncompleteReadError:
            pass
        finally:
            await self._cut()

    def interrupt(self) -> None:
        """Another program wants the device now."""
        self._interrupted = True
        if self._work is not None:
            self._work.cancel()

    async def _on(self, said: Play | End | Cut | Look | Pcm) -> None:
        if isinstance(said, Look):
            if self._playing is None:
                self._absence = self._audio.absence()
            else:
                self._playing.look()
            self._send(Present(absence=self._absence))
        elif isinstance(said, Play):
            await self._cut()
            self._begin(said)
            await asyncio.sleep(0)  # cancelled before it has begun, it would end without a word
        elif isinstance(said, Cut):
            if self._playing is not None and self._playing.number == said.number:
                await self._cut()
        elif self._playing is not None:
            self._playing.feed(None if isinstance(said, End) else said)

    def _begin(self, wish: Play) -> None:
        if self._release is not None:
            self._release.cancel()
        self._interrupted = False
        self._playing = Playing(wish, self._settings, self._audio, self._send)
        self._work = asyncio.ensure_future(self._play(self._playing))

    async def _play(self, playing: Playing) -> None:
        error: str | None = None
        how: How = "played"
        try:
            await playing.run()
        except asyncio.CancelledError:
            how = "interrupted" if self._interrupted else "cut"
        except SinkError as failure:
            how, error = "failed", str(failure)
        except Exception as failure:
            how, error = "failed", f"internal error in the player ({type(failure).__name__}: {failure})"
        underruns, gap_ms = playing.underruns()
        self._playing = self._work = None
        self._send(Ended(number=playing.number, how=how, error=error, underruns=underruns, gap_ms=gap_ms))
        if playing.hangs:  # nothing but the end of the process frees that thread, and no device can be opened beside it
            self._leave(1)
        self._release = asyncio.get_running_loop().call_later(self._settings.release_s, self._audio.release)

    async def _cut(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait((self._work,))


async def _main(settings: PlaybackConfig, output: int) -> None:
    def send(message: FromPlayer) -> None:
        data = pack(message)
        with contextlib.suppress(BrokenPipeError):  # the end of the other pipe says the same
            while data:
                data = data[os.write(output, data) :]

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    be_prompt()
    player = Player(settings, send)
    loop.add_signal_handler(signal.SIGTERM, player.interrupt)
    await player.run(reader)


def main() -> None:
    """Run the player; its settings are the first argument, as JSON."""
    settings = msgspec.json.decode(sys.argv[1], type=PlaybackConfig)
    output = os.dup(1)
    os.dup2(2, 1)  # what libraries print is not for the daemon
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(settings, output))
    os._exit(0)  # a driver that hangs keeps a thread


if __name__ == "__main__":
    main()
