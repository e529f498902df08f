"""The PyTorch stage of `scripts/gpu_check`.

Purpose: know when its time began before PyTorch is loaded, which may take long from a cold disk. Knows: arguments.
Does not know: PyTorch. `--smoke` runs tiny sizes on the processor.
"""

from __future__ import annotations

import argparse
import time


def main() -> None:
    """Measure what there is time for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget-s", type=float, default=90.0)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, on the processor")
    options = parser.parse_args()
    ends = time.monotonic() + options.budget_s
    from scripts.gpu_torch_measure import measure

    measure(ends, smoke=options.smoke)


if __name__ == "__main__":
    main()
