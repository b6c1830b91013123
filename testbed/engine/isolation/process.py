"""The process in which a user's editor works, as the command sees it: questions go in, answers come out."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Lock
from typing import Any

from corpus.errors import InputError
from testbed.run.watch import report_touched

HOME = Path(__file__).parents[3]
WORKER = "testbed.engine.isolation.worker"


class EditorProcess:
    """A process that imports one editor.

    Args:
        name: my_module:MyEditor.
    """

    def __init__(self, name: str) -> None:
        self.name, self._lock = name, Lock()
        path = os.pathsep.join(filter(None, (str(HOME), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-m", WORKER, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )

    def ask(self, what: str, **question: Any) -> dict[str, Any]:
        """What the process answers to a question.

        What it has read and changed meanwhile counts as if it had happened here.

        Raises:
            InputError: the editor fails, or its process has ended.
        """
        # Command lines are read without JAX, until one names such an editor.
        from testbed.engine.isolation.messages import receive, send

        process = self._process
        assert process.stdin
        assert process.stdout
        try:
            with self._lock:
                send(process.stdin, {"what": what} | question)
                answer = receive(process.stdout)
            report_touched(answer["read"], answer["changed"])
        except (EOFError, BrokenPipeError):
            raise InputError(f"editor {self.name} has ended its process (code {process.wait()})") from None
        except (ValueError, KeyError) as error:
            raise InputError(f"editor {self.name} answers in no known form ({error})") from None
        if "error" in answer:
            raise InputError(answer["error"])
        return answer

    def end(self) -> None:
        """Let the process end; it waits for questions no more."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream
            stream.close()
        self._process.kill()
        self._process.wait()
