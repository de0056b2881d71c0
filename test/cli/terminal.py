"""Runs a command on a terminal of 80 columns and 24 lines: what comes on stdin is typed, what it shows goes to stdout, and its exit code is the exit code (-N: signal N)."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

child, screen = pty.fork()
if child == 0:
    # as a shell starts it, whatever this process ignores
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # waits until the terminal has its size
    sys.stdin.readline()
    os.execvp(sys.argv[1], sys.argv[1:])

signal.signal(signal.SIGTERM, lambda *_: (os.killpg(child, signal.SIGKILL), os._exit(1)))
fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
settings = termios.tcgetattr(screen)
# keys are not shown, but for what the command shows of them
settings[3] &= ~termios.ECHO
termios.tcsetattr(screen, termios.TCSANOW, settings)
os.write(screen, b"\n")

typed = sys.stdin.fileno()
sources = [screen, typed]
while screen in sources:
    for source in select.select(sources, [], [])[0]:
        try:
            data = os.read(source, 65536)
        except OSError:  # the terminal, when the last process on it has ended
            data = b""
        if not data:
            sources.remove(source)
        elif source == typed:
            os.write(screen, data)
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

_, status = os.waitpid(child, 0)
code = os.waitstatus_to_exitcode(status)
print(f"\nexit {code}", file=sys.stderr)
