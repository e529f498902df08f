"""The talker thread's work: from text that has come to frames of codes.

Purpose: seat utterances, prefill their prompts piece by piece, and step all that can step, frame after frame. One
`tick` is at most one piece's rows and one step, so long prompts cannot starve those who are speaking. Knows: prompts,
sampling noise, when an utterance ends or must wait. Does not know: the codec, sound, callers.

With `ahead` the next frame is launched before the codes of the last one are looked at, so that a device never waits for
the host. What those codes say then comes one frame late: whoever has ended, was lost or stopped has one more frame
under way, which is discarded when it lands. Whose next text has not come cannot be launched ahead, and sits that frame
out. Prompts begin and go on with nothing in flight.

An utterance rests, without harm to the others, while its ring of frames is full, its next text has not come, or others
need their frames more (`engines.turn_pacing`).
An error while one utterance is prepared or prefilled is its own; an error in a step, which runs several, is the
engine's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engines.bundle import Bundle
from engines.contract import End
from engines.costs import CostModel
from engines.errors import DeviceLostError
from engines.prompt import Prompt, PromptBuilder
from engines.runaway import LoopDetector, RunawayTally
from engines.sampling import GumbelNoise
from engines.scheduler import Scheduler
from engines.stages import TalkerStage
from engines.timing import Timeline, Work
from engines.turn import Flight, Turn
from engines.turn_pacing import TurnPacing
from engines.utterance import LiveUtterance, Stop

_LEAST_TOKENS = 2  # code-0 tokens before an utterance may end, as in the official generation loop


class TalkerLoop:
    """See the module's text. Everything here runs on one thread."""

    def __init__(
        self,
        bundle: Bundle,
        talker: TalkerStage,
        scheduler: Scheduler,
        costs: CostModel,
        pacing: TurnPacing,
        *,
        loop_frames: int,
        timeline: Timeline,
        tally: RunawayTally,
        frames_ready: Callable[[], None],
        clock: Callable[[], float],
        ahead: bool = False,
    ) -> None:
        """`loop_frames`: how long a loop may last, 0 for ever.

        `frames_ready` is called when the codec may have something to do. `ahead`: launch before handling codes.
        """
        self._loop_frames, self._timeline, self._tally = loop_frames, timeline, tally
        self._manifest = bundle.manifest
        self._text_table = bundle.text_table
        self._prompts = PromptBuilder(bundle)
        self._talker, self._scheduler, self._costs, self._pacing = talker, scheduler, costs, pacing
        self._frames_ready, self._clock, self._ahead = frames_ready, clock, ahead
        self._turns: dict[int, Turn] = {}
        self._flight: Flight | None = None
        self._landings, self._landed_at = 0, float("-inf")

    def tick(self) -> float | None:
        """Do one piece and one step; returns 0 when there is more to do, None when it must wait for the bell."""
        began, landings = self._clock(), self._landings
        self._let_go()
        self._begin_lost_ones_again()
        seated = self._seat()
        prefilled = self._prefill()
        stepped = self._step()
        if self._landings > landings:
            self._costs.step_took(1000.0 * (self._clock() - began))
        return 0.0 if seated or prefilled or stepped else None

    def _let_go(self) -> None:
        """Take leave of those who were stopped."""
        for utterance in self._scheduler.waiting():
            if stop := utterance.stopping:
                self._scheduler.leave(utterance)
                utterance.finish(stop)
        for turn in list(self._turns.values()):
            if stop := turn.utterance.stopping:
                self._end(turn, stop)

    def _begin_lost_ones_again(self) -> None:
        for slot, utterance in self._scheduler.seated():
            if utterance.again:
                self._drain()
                if utterance.begin_again():
                    self._turns[slot] = self._begin(slot, utterance)  # what could be built once can be built again
                    self._tally.retried += 1

    def _seat(self) -> bool:
        """Give free slots to those who have text; whether there were any. Some leave at once, so look again after."""
        admitted = self._scheduler.admit()
        if admitted:
            self._drain()
        for slot, utterance in admitted:
            if stop := self._take_seat(slot, utterance):
                self._scheduler.leave(utterance)
                utterance.finish(stop)
        return bool(admitted)

    def _take_seat(self, slot: int, utterance: LiveUtterance) -> Stop | None:
        """Begin its turn; or how it ends at once."""
        if utterance.empty:
            return Stop(End.END)
        now = self._clock()
        utterance.progress.waited_ms = 1000.0 * (now - utterance.ready_at)
        self._timeline.add(Work.WAIT, utterance.ready_at, now, (slot,), 0, utterance.number)
        try:
            self._turns[slot] = self._begin(slot, utterance)
        except DeviceLostError:
            raise
        except Exception as error:
            return Stop(End.ERROR, f"the prompt could not be made: {error}")
        return None

    def _begin(self, slot: int, utterance: LiveUtterance) -> Turn:
        """Lay out the prompt and make the slot ready."""
        prompt = self._prompts.build(utterance.plan, utterance.take_prompt_ids())
        limits, wished = self._manifest.limits, utterance.request.max_frames
        room = self._talker.positions - len(prompt.codec_rows) + 1  # the prompt's last row already yields a frame
        most = min(limits.max_frames, room, wished or limits.max_frames)
        if utterance.request.keep_codes:
            utterance.progress.codes = np.empty((most, self._manifest.frame.codebooks), dtype=np.int32)
        self._talker.begin(slot, utterance.sampling)
        utterance.progress.frame_at = self._clock()  # patience begins here
        noise = GumbelNoise(utterance.sampling, utterance.attempt)
        return Turn(slot, utterance, prompt, noise, LoopDetector(self._loop_frames), most)

    def _prefill(self) -> bool:
        """Run one piece of the first prompt that is not in yet, and short ones after it while its rows allow.

        Not where those who speak would run dry meanwhile; for some ticks, that is, after which it is run all the same.
        Returns whether there was any, run or not.
        """
        waiting = [(turn, turn.prompt) for turn in self._turns.values() if turn.prompt is not None]
        if not waiting:
            return False
        rows_in_all = 0
        for turn, prompt in waiting:
            rows = min(len(prompt.codec_rows) - turn.rows_done, self._talker.piece_rows)
            if rows_in_all and rows_in_all + rows > self._talker.piece_rows:
                break
            # who got a prompt in just now may sound already
            if not self._pacing.prompt_fits(rows, self._turns.values(), self._clock(), first=not rows_in_all):
                break
            self._drain()
            self._run_piece(turn, prompt, rows)
            rows_in_all += rows
        self._pacing.prompts_ran(rows_in_all)
        return True

    def _run_piece(self, turn: Turn, prompt: Prompt, rows: int) -> None:
        """Run the next so many rows of a turn's prompt."""
        piece = slice(turn.rows_done, turn.rows_done + rows)
        last = piece.stop == len(prompt.codec_rows)
        if last:
            self._set_choice(turn)
        began = self._clock()
        try:
            made = self._talker.prefill(turn.slot, prompt.codec_rows[piece], prompt.text_rows[piece], last=last)
        except DeviceLostError:
            raise
        except Exception as error:
            self._end(turn, Stop(End.ERROR, f"the prompt could not be run: {error}"))
            return
        ended = self._clock()
        took_ms = 1000.0 * (ended - began)
        self._timeline.add(Work.PREFILL, began, ended, (turn.slot,), rows, turn.utterance.number)
        self._costs.prompt_took(rows, took_ms)
        turn.rows_done = piece.stop
        turn.utterance.progress.prefill_ms += took_ms
        turn.utterance.progress.talker_ms += took_ms
        if last:
            turn.prompt = None
        if made:
            turn.launched += 1
            self._take_frame(turn)

    def _step(self) -> bool:
        """Launch one frame of everyone who can go on, and land the one before, or this one; whether there was any."""
        before, launched = self._flight, self._launch()
        self._flight = launched
        if before is not None:
            self._land(before)
        if not self._ahead:
            self._drain()
        return before is not None or launched is not None

    def _launch(self) -> Flight | None:
        able = [turn for _, turn in sorted(self._turns.items()) if self._can_step(turn)]
        live = self._pacing.steps(able, self._clock())
        if not live:
            return None
        for turn in live:
            if not turn.first:
                self._talker.text_row(turn.slot)[:] = self._text_table[turn.utterance.take_text_id()]
            self._set_choice(turn)
        flight = Flight(tuple(live), self._clock())
        self._talker.launch(flight.slots)
        for turn in live:
            turn.launched += 1
            turn.in_flight += 1
        return flight

    def _land(self, flight: Flight) -> None:
        """Wait for a frame and hand its codes on, but for those who have left since."""
        self._talker.collect()
        ended, slots = self._clock(), flight.slots
        began = max(flight.began, self._landed_at)  # the device does one after the other
        self._landings, self._landed_at = self._landings + 1, ended
        took_ms = 1000.0 * (ended - began)
        self._costs.step_ran(slots[-1] + 1 - slots[0], took_ms)
        self._timeline.add(Work.STEP, began, ended, slots, len(slots))
        for turn in flight.turns:
            turn.in_flight -= 1
            if self._turns.get(turn.slot) is turn and not turn.utterance.lost:
                turn.utterance.progress.talker_ms += took_ms
                self._take_frame(turn)

    def _drain(self) -> None:
        """Land what is in flight."""
        flight, self._flight = self._flight, None
        if flight is not None:
            self._land(flight)

    def _can_step(self, turn: Turn) -> bool:
        """Whether a turn has room for a frame, and its next text."""
        if not turn.room:
            return False
        if not turn.first and not turn.utterance.has_text():
            self._frames_ready()  # no frame will follow soon: what was gathered should be heard
            return False
        return True

    def _set_choice(self, turn: Turn) -> None:
        """Set what the next run samples by."""
        turn.noise.fill(turn.launched, self._talker.noise(turn.slot))
        self._talker.forbid_end(turn.slot, turn.launched < _LEAST_TOKENS)

    def _take_frame(self, turn: Turn) -> None:
        """Hand on the codes of a turn's last run, or end the turn."""
        codes = self._talker.codes(turn.slot)
        if codes[0, 0] == self._manifest.codec_ids.eos:
            self._end(turn, Stop(End.END))
            return
        progress = turn.utterance.progress
        progress.frame_at = self._clock()
        turn.utterance.frames.write_nowait(codes)
        if progress.codes is not None:
            progress.codes[progress.frames] = codes[0]
        progress.frames += 1
        if progress.frames >= turn.most_frames:
            self._end(turn, Stop(End.LIMIT))
        elif turn.loop.saw(int(codes[0, 0])) or progress.frames >= turn.plausible_frames(self._manifest.limits):
            turn.utterance.lose()
        else:
            self._frames_ready()

    def _end(self, turn: Turn, stop: Stop) -> None:
        """The talker is done with a turn; the slot stays taken until the codec is done too."""
        del self._turns[turn.slot]
        self._talker.release(turn.slot)
        turn.utterance.talker_left(stop)
        self._frames_ready()
