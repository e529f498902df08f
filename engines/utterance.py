"""One utterance under way, as its caller and the engine's two threads see it.

Purpose: take text in, hand sound out, carry the wish to stop, and end exactly once. Knows: the order in which text is
fed to the frames, the rings, the outcome. Does not know: slots, tensors, when anything runs.

Who writes what: any thread feeds text and stops; the talker's thread takes text, writes frames and says when it is
done; the codec's thread writes sound. What they share is behind one lock; `progress` has one writer per field.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from engines.contract import Codes, End, Layout, Outcome, Pace, SpeechRequest
from engines.errors import RequestError, SpeechError
from engines.manifest import TextIds
from engines.prompt import PromptBuilder, PromptPlan
from engines.ring import Ring
from engines.sampling import ResolvedSampling


@dataclass(slots=True)
class Progress:
    """What was done so far; each field has one writer."""

    frames: int = 0
    """Of the last attempt."""
    frame_at: float = 0.0
    """When the last frame was made, by the clock, seconds."""
    heard_from: float | None = None
    """When its first sample was there, by the clock, seconds; later by as much as sound or listener paused since."""
    waited_ms: float = 0.0
    prefill_ms: float = 0.0
    talker_ms: float = 0.0
    codes: Codes | None = None
    samples: int = 0
    first_audio_ms: float | None = None
    codec_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Stop:
    """How an utterance is to end, or did."""

    end: End
    error: str | None = None
    runaway: bool = False
    """Whether it had lost its text (`engines.runaway`)."""


class LiveUtterance:
    """See `engines.contract.Utterance`; the methods below the line are the engine's."""

    def __init__(
        self,
        request: SpeechRequest,
        plan: PromptPlan,
        sampling: ResolvedSampling,
        *,
        prompts: PromptBuilder,
        text_ids: TextIds,
        most_text: int,
        frames: Ring,
        pcm: Ring,
        wake: Callable[[], None],
        clock: Callable[[], float],
        number: int = 0,
    ) -> None:
        """`most_text`: bound of the text in ids. `wake` is rung when the engine should look again. `number` tells the
        utterances of one engine apart."""
        self.request, self.plan, self.sampling = request, plan, sampling
        self.number, self.frames = number, frames
        self.realtime = request.pace is Pace.REALTIME
        self.progress = Progress()
        self._prompts, self._text_ids, self._most_text = prompts, text_ids, most_text
        self._pcm = pcm
        self._outcome: Future[Outcome] = Future()
        self._wake, self._clock = wake, clock
        self._lock = threading.Lock()
        self._ids: list[int] = []
        self._taken = 0
        self._text_ended = False
        self._end_taken = False
        self._starved = False
        self._ready_at: float | None = None
        self._stopping: Stop | None = None
        self._talker_end: Stop | None = None
        self._attempt = 0
        self._lost = self._again = self._finished = False

    @property
    def pcm(self) -> Ring:
        """Where the sound comes out."""
        return self._pcm

    @property
    def outcome(self) -> Future[Outcome]:
        """Set exactly once."""
        return self._outcome

    def feed(self, ids: tuple[int, ...]) -> None:
        """Append body text ids. Raises `RequestError` after `end_of_text`, for unknown ids and for too much text.

        Text for an utterance that was stopped or has ended is dropped.
        """
        self._prompts.check_text(ids)
        with self._lock:
            if self._text_ended:
                raise RequestError("no text can follow the end of text; start another utterance")
            if len(self._ids) + len(ids) > self._most_text:
                raise RequestError(
                    f"the text has more than {self._most_text} tokens, the most that fit one utterance; split it"
                )
            self._ids.extend(ids)
            self._note_ready()
        self._wake()

    def end_of_text(self) -> None:
        """No more text will come; idempotent."""
        with self._lock:
            self._text_ended = True
            self._note_ready()
        self._wake()

    def cancel(self) -> None:
        """Stop at the next frame boundary; idempotent. Unread sound is dropped at once, even after the end."""
        with self._lock:
            if not self._finished:
                self._stopping = self._stopping or Stop(End.CANCELLED)
        self._pcm.cancel()  # after the wish: whoever finds the ring closed takes it for a failure otherwise
        self._wake()

    # -- the engine's side ------------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether there is text enough to start, or nothing to wait for."""
        with self._lock:
            return self._ready_at is not None

    @property
    def empty(self) -> bool:
        """Whether the text has ended before it began."""
        with self._lock:
            return self._text_ended and not self._ids

    @property
    def ready_at(self) -> float:
        """When it became `ready`, by the clock, seconds."""
        with self._lock:
            return self._clock() if self._ready_at is None else self._ready_at

    @property
    def text_length(self) -> int | None:
        """Number of text ids, once the text has ended."""
        with self._lock:
            return len(self._ids) if self._text_ended else None

    @property
    def starved(self) -> bool:
        """Whether the talker waits for text."""
        with self._lock:
            return self._starved

    @property
    def stopping(self) -> Stop | None:
        """The wish to stop, if there is one."""
        with self._lock:
            return self._stopping

    @property
    def talker_end(self) -> Stop | None:
        """How the talker left it; None while it is still talking."""
        with self._lock:
            return self._talker_end

    def stop(self, error: str) -> None:
        """End it with an error at the next frame boundary; a wish to stop that came before stands."""
        with self._lock:
            self._stopping = self._stopping or Stop(End.ERROR, error)
        self._wake()

    def take_prompt_ids(self) -> tuple[int, ...]:
        """The text the prompt is built of: all of it, or the first id."""
        with self._lock:
            self._taken = len(self._ids) if self.plan.layout is Layout.WHOLE else 1
            self._end_taken = self.plan.layout is Layout.WHOLE
            return tuple(self._ids[: self._taken])

    def has_text(self) -> bool:
        """Whether the text id of the next frame is known; it is `starved` from here on if not."""
        with self._lock:
            self._starved = self._taken == len(self._ids) and not self._text_ended
            return not self._starved

    def take_text_id(self) -> int:
        """The text id the next frame adds: the next token, the end once, then padding. Only where it `has_text`."""
        with self._lock:
            if self._taken < len(self._ids):
                self._taken += 1
                return self._ids[self._taken - 1]
            if not self._end_taken:
                self._end_taken = True
                return self._text_ids.eos
            return self._text_ids.pad

    def talker_left(self, stop: Stop) -> None:
        """The talker makes no more frames of it, unless it is tried again."""
        with self._lock:
            self._talker_end = stop

    # -- runaways: either thread says so, the codec's judges, the talker's begins again --------------------------------

    @property
    def lost(self) -> bool:
        """Whether it has run away; the talker makes no more frames of this attempt."""
        with self._lock:
            return self._lost

    @property
    def left(self) -> bool:
        """Whether the talker makes no more frames of it whatever comes: who is lost may yet be begun again."""
        with self._lock:
            return self._talker_end is not None and (self._stopping is not None or not self._lost)

    @property
    def attempt(self) -> int:
        """0, or 1 once it was begun again."""
        with self._lock:
            return self._attempt

    @property
    def again(self) -> bool:
        """Whether the talker should begin it again."""
        with self._lock:
            return self._again and self._stopping is None

    def lose(self) -> None:
        """It has run away. The talker calls it after its last frame, the codec's thread where the sound says so."""
        with self._lock:
            self._lost = True
        self._wake()

    def judge(self, heard: bool) -> None:
        """All there is to decode of a lost attempt is decoded: begin again, once, if nothing audible went out; or end.

        Without noise another attempt would say the same.
        """
        noisy = self.sampling.talker.noisy or self.sampling.predictor.noisy
        with self._lock:
            if self._again or self._stopping is not None:
                return
            if heard or self._attempt or not noisy:
                self._stopping = Stop(End.LIMIT, runaway=True)
            else:
                self._again = True
        self._wake()

    def begin_again(self) -> bool:
        """Forget the attempt: the text comes from its beginning, frames not taken are dropped. The talker's to call.
        False, and nothing is done, where it was stopped meanwhile: it may be over by now."""
        with self._lock:
            if self._stopping is not None:
                return False
            self._attempt += 1
            self._lost = self._again = False
            self._talker_end = None
            self.frames.drop()
        self.progress.frames = 0
        return True

    def finish(self, stop: Stop) -> None:
        """Close the sound and set the outcome; only the first call counts. Call it once every buffer is let go."""
        with self._lock:
            if self._finished:
                return
            self._finished = True
        self.frames.cancel()
        if stop.end is End.CANCELLED:
            self._pcm.cancel()
        else:
            self._pcm.close(None if stop.error is None else SpeechError(stop.error))
        done = self.progress
        outcome = Outcome(
            end=stop.end, error=stop.error, frames=done.frames, samples=done.samples, waited_ms=done.waited_ms,
            prefill_ms=done.prefill_ms, first_audio_ms=done.first_audio_ms, talker_ms=done.talker_ms,
            codec_ms=done.codec_ms, codes=None if done.codes is None else done.codes[: done.frames],
        )  # fmt: skip
        self._outcome.set_result(outcome)

    def _note_ready(self) -> None:
        started = bool(self._ids) and self.plan.layout is Layout.STREAMING
        if self._ready_at is None and (self._text_ended or started):
            self._ready_at = self._clock()
