"""`speak` at once: a plain text, said by a daemon that runs, on its own loudspeaker.

Purpose: have the first sample in the device before a person notices that anything had to start. A bare interpreter
(`python -I -S`) runs this while the whole command would still be importing, and leaves to that, untouched, what it does
not know: other options, other voices, no daemon, no loudspeaker. It imports only what a bare interpreter has or finds
in no time, and what takes longer while the daemon works. Knows: the protocol as far as it says it. Does not know:
sockets (`quick_talk`), sound, TOML, the other options.
"""

from __future__ import annotations

import os
import select
import sys

from app import client_places, quick_options
from app.quick_talk import Talk, Unable, find_daemon, frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from app.text_room import Relay

_PIECE = 4096
"""Characters of one message, or a sixteenth of its bound where that is less: a character may take 12 bytes."""
_READ_BYTES = 65536
_INTERRUPTED = 128 + 15
"""Exit code: somebody with `--now` wanted to be heard."""
_WHOLE = """import _signal as s, sys; s.getsignal(2) is s.SIG_IGN or s.signal(2, s.SIG_DFL)
s.pthread_sigmask(s.SIG_UNBLOCK, (2,)); sys.path[:] = [sys.argv.pop(1), *filter(None, sys.path)]
from app.cli import main; main()"""
"""The whole command of this very checkout: what pip wrote into `.venv/bin` names the place where it was set up."""


class Failed(Exception):  # noqa: N818
    """It failed for good; the message is one sentence."""


def main(arguments: list[str], root: str) -> NoReturn:
    """For `scripts/speak`: speak, or become the whole command. Ctrl-C ends it at once: the daemon falls silent then."""
    import _signal  # type: ignore[import-not-found]

    if (code := speak(arguments, root)) is not None:
        os._exit(code)
    setup = root + "/scripts/setup"
    nowhere = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    child = os.posix_spawn(setup, [setup], os.environ, file_actions=nowhere)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        os._exit(code if code > 0 else 128 - code)
    _signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGINT,))  # while its interpreter starts, Ctrl-C waits
    os.execv(python := root + "/.venv/bin/python", [python, "-c", _WHOLE, root, *arguments])


def speak(arguments: list[str], root: str) -> int | None:
    """Speak, and return the exit code; None where the whole command must do it. Nothing has happened then."""
    try:
        wishes = quick_options.parse(arguments)
        if wishes is None or (not wishes.words and (sys.stdin is None or os.isatty(0))):
            return None
        voice = client_places.configured_voice(root + "/config.toml", root)
        if voice is None:
            return None
        return _Conversation(find_daemon(voice["fingerprint"]), wishes, voice).run()
    except Unable:
        return None
    except Failed as error:
        import contextlib

        line = " ".join(str(error).split())
        with contextlib.suppress(OSError):  # nobody may be reading stderr; the exit code must do then
            os.write(2, f"speak: {line}\n".encode(errors="replace"))
        return 1


class _Conversation:
    """One text, one context, from its first word to its last sample."""

    def __init__(self, talk: Talk, wishes: quick_options.QuickWishes, voice: dict[str, str]) -> None:
        self._talk, self._wishes, self._voice = talk, wishes, voice
        self._relay: Relay | None = None
        """Of standard input, once the daemon has said what a context takes."""
        self._to_read = False
        """Standard input is to be read: nobody does yet, and the daemon is ready for it."""
        self._heard = False
        """Something was heard, or read: from here on this process must see it through."""
        self._error = ""
        self._speaking = False
        """Our context has started, and is not done."""
        self._cancelled = False
        """It was not we who did it."""

    def run(self) -> int:
        """Returns the exit code. Raises `Unable`, `Failed`."""
        try:
            self._talk.send(self._opening())
            while (code := self._read_and_listen() if self._to_read else self._listen()) is None:
                pass
            if not code and self._relay is not None and self._relay.unreadable:
                raise Failed(self._relay.unreadable)
            return code
        except (Unable, ImportError, KeyError, ValueError):
            if self._heard:
                raise Failed("the daemon has gone") from None
            raise Unable from None
        finally:
            self._talk.close()

    def _opening(self) -> bytes:
        from _json import encode_basestring_ascii as quoted

        values, voice = self._wishes.values, self._voice
        name = values.get("voice") or voice["speaker"]
        fields = f',"play":"local","language":{quoted(values.get("language") or voice["language"])}'
        fields += f',"voice":{quoted(name)}' if name else ""
        fields += f',"instruct":{quoted(values["instruct"])}' if "instruct" in values else ""
        fields += f',"sampling":{{"seed":{int(values["seed"])}}}' if "seed" in values else ""
        fields += ',"now":true' if self._wishes.now else ""
        return frame("context.start", fields) + (
            self._text(" ".join(self._wishes.words)) + frame("end") if self._wishes.words else b""
        )

    def _text(self, text: str) -> bytes:
        from _json import encode_basestring_ascii as quoted

        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        return b"".join(frame("text", f',"text":{quoted(piece)},"sequence":0') for piece in pieces)

    def _listen(self) -> int | None:
        """Take what the daemon says; the exit code once all is said."""
        for event in self._talk.hear():
            kind = event["type"]
            if self._cancelled:
                if kind == "ready":
                    return _INTERRUPTED
            elif kind == "context.started":
                self._speaking = True
                self._to_read = not self._wishes.words and not self._heard
                self._heard = self._heard or self._to_read
            elif kind == "playback":
                self._heard = self._heard or event["state"] != "waiting"
            elif kind == "ready" and not self._wishes.words:
                from app.text_room import Relay

                limits = event["limits"]
                self._relay = Relay(limits["text_characters"], min(limits["message_bytes"] // 16, _PIECE))
                self._relay.begin()
            elif kind == "error" and event["code"] not in ("context_ended", "unknown_context"):
                self._fail(event)
            elif kind == "text.ack" and self._relay is not None:
                self._relay.taken()
            elif kind == "context.done" and (code := self._done(event)) is not None:
                return code
        return self._listen() if self._cancelled else None

    def _done(self, event: dict[str, Any]) -> int | None:
        """A context is over; the exit code if it was the last one."""
        self._speaking = False
        if event["outcome"] == "cancelled":
            self._cancelled = True
            self._talk.ask()  # a daemon that ends will not answer, one where somebody is more urgent will
            return None
        if self._error:
            raise Failed(self._error)
        if not (event["frames"] or self._heard):
            raise Unable
        if self._relay is None or self._relay.done(event["frames"]):
            return 0
        if again := self._relay.again():
            end = frame("end") if self._relay.written else b""
            self._talk.send(self._opening() + b"".join(map(self._text, again)) + end)
        return None

    def _fail(self, event: dict[str, Any]) -> None:
        """The daemon says that something is wrong; of a context that was refused it says nothing else."""
        if event["code"] == "idle" and self._relay is not None:
            self._relay.ending = True
            return
        if not self._heard:
            raise Unable
        self._error = self._error or str(event["message"])
        if not self._speaking:
            raise Failed(self._error)

    def _read_and_listen(self) -> int | None:
        """Standard input as it comes, while the daemon speaks; then only the daemon."""
        from app.text_input import TextDecoder, TextInputError

        self._to_read = False
        relay, decoder, data = self._relay, TextDecoder(), b"?"
        if relay is None:
            raise Unable  # it did not greet us
        poll = select.poll()
        poll.register(self._talk.socket.fileno(), select.POLLIN)
        poll.register(0, select.POLLIN)
        while data:
            ready = dict(poll.poll())
            if self._talk.socket.fileno() in ready and (code := self._listen()) is not None:
                return code
            if 0 not in ready:
                continue
            try:
                data = os.read(0, _READ_BYTES)
                text = decoder.feed(data) if data else decoder.finish()
            except TextInputError as error:
                raise Failed(str(error)) from None
            except OSError as error:
                raise Failed(f"cannot read standard input: {error.strerror}") from None
            if (code := self._tell(relay, text)) is not None:
                return code
        relay.written = True
        if relay.open:
            self._talk.send(frame("end"))
        return None if relay.open else 0

    def _tell(self, relay: Relay, text: str) -> int | None:
        """Put text into the context, and into others behind it; the exit code where the daemon has ended it all."""
        while text or relay.ending:
            if relay.ending:
                if (code := self._listen()) is not None:
                    return code
                continue
            if not relay.open:
                relay.begin()
                self._talk.send(self._opening())
            piece, text, full = relay.put(text)
            self._talk.send(self._text(piece) + (frame("end") if full else b""))
        return None
