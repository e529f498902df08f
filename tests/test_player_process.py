"""The daemon's hold on its player."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import player_process
from app.config import PlaybackConfig
from app.player_process import PlayerProcess
from app.player_wire import Ended, Look, Play, Present, Sounding, Taken, ToPlayer, pack
from tests.daemon_rig import play, turn_until


def present_then(script: str, tmp_path: Path) -> tuple[str, ...]:
    """A player that says it is there, and then does this."""
    (tmp_path / "present").write_bytes(pack(Present(absence=None)))
    return ("/bin/sh", "-c", f"cat '{tmp_path}/present'; {script}")


def test_a_player_that_ends_without_a_word_is_started_again_when_it_is_needed(tmp_path: Path) -> None:
    """As one does that dies in a sound library; it was waited for a minute, and nothing was played until then."""
    starts = tmp_path / "starts"
    command = ("/bin/sh", "-c", f"echo started >> '{starts}'")

    async def scenario() -> None:
        player = PlayerProcess(PlaybackConfig(), command)
        player.open()
        await turn_until(lambda: player.absence() and starts.exists() and len(starts.read_text().split()) >= 3)
        await player.close()

    play(scenario(), 20.0)


@pytest.mark.parametrize("cut", [False, True])
def test_a_playback_ends_once_where_the_player_closes_its_pipe_or_does_not_hear_of_its_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: bool
) -> None:
    monkeypatch.setattr(player_process, "_CUT_S", 0.01)
    script = "exec sleep 600" if cut else "head -c 5 >/dev/null; exec >&-; exec sleep 600"

    async def scenario() -> None:
        heard = list[Sounding | Taken | Ended]()
        player = PlayerProcess(PlaybackConfig(), present_then(script, tmp_path))
        await turn_until(lambda: player.absence() is None)
        player.play(24000, now=False, listener=heard.append)
        if cut:
            player.cut()
        await turn_until(lambda: heard and player._process is None)
        error = "the player has ended; try again"
        assert heard == [Ended(number=1, how="failed", error=error, underruns=0, gap_ms=0.0)]
        await player.close()

    play(scenario(), 20.0)


def test_the_player_is_not_ended_for_a_cut_that_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        player, killed = PlayerProcess(PlaybackConfig()), list[str]()
        monkeypatch.setattr(player, "_kill", lambda: killed.append("killed"))
        player._number, player._listener = 2, lambda _: None
        player._kill_if_still(1)  # the one before
        assert not killed
        player._kill_if_still(2)
        assert killed == ["killed"]
        player._listener = None  # it has ended meanwhile
        player._kill_if_still(2)
        assert killed == ["killed"]

    play(scenario())


def test_a_daemon_that_ends_takes_its_player_with_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        player = PlayerProcess(PlaybackConfig(), present_then("exec sleep 600", tmp_path))
        await turn_until(lambda: player.absence() is None)
        process = player._process
        assert process is not None
        await player.close()
        await turn_until(lambda: process.returncode is not None)
        player.open()
        assert player.absence() == "the player has ended"
        assert player._opening is None

    play(scenario(), 20.0)


def test_a_player_that_does_not_answer_any_more_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that was stopped, or hangs in a sound library: those who waited for the loudspeaker waited for ever."""
    monkeypatch.setattr(player_process, "_ASK_S", 0.01)

    async def scenario() -> None:
        heard = list[Sounding | Taken | Ended]()
        player = PlayerProcess(PlaybackConfig(), present_then("exec sleep 600", tmp_path))
        await turn_until(lambda: player.absence() is None)
        player.play(24000, now=False, listener=heard.append)
        await turn_until(lambda: heard and player._process is None)
        error = "the player has ended; try again"
        assert heard == [Ended(number=1, how="failed", error=error, underruns=0, gap_ms=0.0)]
        await player.close()

    play(scenario(), 20.0)


def test_a_player_that_answers_may_be_silent_for_as_long_as_it_likes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for text, or for its place among other programs."""
    monkeypatch.setattr(player_process, "_ASK_S", 0.01)
    begun = len(pack(Play(number=1, sample_rate_hz=24000, now=False)))
    look = len(pack(Look()))
    asked_again = f'[ "$(head -c {look} | wc -c)" -eq {look} ]'  # it ends with what it answers
    answers = f"head -c {begun} >/dev/null; while {asked_again}; do cat '{tmp_path}/present'; done"

    async def scenario() -> None:
        heard, asked = list[Sounding | Taken | Ended](), list[ToPlayer]()
        player = PlayerProcess(PlaybackConfig(), present_then(answers, tmp_path))
        await turn_until(lambda: player.absence() is None)
        monkeypatch.setattr(player_process, "_UNANSWERED", 500)  # a starved machine; the next look shows that it counts
        say = player._say

        def count(said: ToPlayer) -> None:
            asked.append(said)
            say(said)

        monkeypatch.setattr(player, "_say", count)
        player.play(24000, now=False, listener=heard.append)
        await turn_until(lambda: len(asked) > 5 and player._unanswered <= 1)
        assert not heard
        await player.close()

    play(scenario(), 20.0)
