"""What the command shows on standard error while it waits for its input: `progress.py HSACO FILE`."""

import os
import pty
import subprocess
import sys
import time


def run(program, content, wait, on_terminal):
    here, there = pty.openpty() if on_terminal else os.pipe()
    process = subprocess.Popen(
        [program, "ls", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=there,
        env={**os.environ, "TERM": "xterm"},
    )
    time.sleep(wait)
    process.communicate(content)
    assert process.returncode == 0
    os.write(there, b"END")
    shown = b""
    while not shown.endswith(b"END"):
        shown += os.read(here, 65536)
    return "shown" if b"objects" in shown else "nothing" if shown == b"END" else repr(shown)


program = sys.argv[1]
content = open(sys.argv[2], "rb").read()
print("terminal, long:", run(program, content, 3, True))
print("terminal, short:", run(program, content, 0, True))
print("file, long:", run(program, content, 3, False))
