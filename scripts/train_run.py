"""What scripts/train_voice runs: a voice is made (`export.train`), then measured (`scripts.eval_run`).

Knows: how many sentences a budget is worth. Does not know: how anything is done.
"""

from __future__ import annotations

from typing import Final

from export.train.__main__ import main as make
from export.train.sentences import sentences
from scripts import eval_run

_BUDGET_S_A_SENTENCE: Final = 20.0  # hearing one takes about a second and a half
_LEAST: Final = 12


def main() -> None:
    """Make and measure; what is there already is not made again."""
    job = make()
    every = len(sentences())
    count = min(max(_LEAST, round(job.budget / _BUDGET_S_A_SENTENCE)), every)
    page = job.folder / "voice.html"
    eval_run.main(["--voice", str(job.folder / "bundle"), "--sentences", str(count), "--closed", "--page", str(page)])


if __name__ == "__main__":
    main()
