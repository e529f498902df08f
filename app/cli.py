"""The entry point of `speak`: from here to an exit code, whatever happens on the way.

Purpose: `main`, which turns every end of a run into one clear line and an exit code, never a traceback. Knows: signals,
exit codes, standard streams. Does not know: options, engines, sound. It imports nothing heavy before Ctrl-C is in hand.

Exit codes: 0 spoken; 1 it failed, and stderr says why; 2 the command line is wrong; 130, 143, 129 stopped by Ctrl-C,
SIGTERM, SIGHUP; 141 the reader of standard output left.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from pathlib import Path
from typing import Final, NoReturn

from app import quick

TRACEBACK_VARIABLE: Final = "SPEAKD_TRACEBACK"
"""Environment variable: 1 shows where a failure comes from."""


def main() -> NoReturn:
    """Run `speak` with the arguments of this process."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from app.standard_streams import hold_open

        hold_open()
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # until sound is under way there is nothing to save
    try:
        code = quick.speak(sys.argv[1:], str(Path(__file__).resolve().parent.parent))
        if code is None:
            code = _run()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        code = 128 + signal.SIGPIPE
    except OSError as error:
        code = _fail(_unforeseen(error))
    with contextlib.suppress(OSError, AttributeError):
        sys.stderr.flush()
    os._exit(code)  # all is closed; taking the libraries down one by one would keep the shell waiting 0.1 to 0.5 s


def _run() -> int:
    if os.environ.get(TRACEBACK_VARIABLE) == "1":
        from app.speak_command import run

        return run(sys.argv[1:])
    try:
        from app.speak_command import run
        from engines.errors import SpeechError
    except ImportError as error:
        return _fail(f"the installation is not complete ({error}); run scripts/setup")
    try:
        return run(sys.argv[1:])
    except SpeechError as error:
        return _fail(str(error))
    except OSError:
        raise  # `main` tells; what standard output did not take (Python 3.14 keeps it) is not tried again
    except MemoryError:
        return _fail("out of memory; take a smaller voice, or one exported with --precision int8 or int4")
    except Exception as error:
        return _fail(_unforeseen(error))


def _unforeseen(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:  # of what was printed
        return f"cannot write standard output: {error.strerror}"
    kind = type(error).__name__
    return f"internal error ({kind}: {error}); {TRACEBACK_VARIABLE}=1 shows where it comes from"


def _fail(message: str) -> int:
    line = " ".join(message.split())
    with contextlib.suppress(OSError):  # nobody may be reading stderr; the exit code must do then
        print(f"speak: {line}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    main()
