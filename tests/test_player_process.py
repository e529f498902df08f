"""The daemon's hold on its player."""

from __future__ import annotations

from pathlib import Path

from app.config import PlaybackConfig
from app.player_process import PlayerProcess
from tests.daemon_rig import play, turn_until


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
