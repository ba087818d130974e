"""
The command of the signal tests. Writes its PID into the file LOG.pid and then the number of every
signal it gets, one a line, into LOG. SIGALRM ends it with status 21.
"""
import os
import signal
import sys

log = sys.argv[1]
wanted = set(range(1, signal.NSIG)) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP,
                                       signal.SIGCONT, signal.SIGCHLD, 32, 33}
# Waiting for signals instead of handling them: two that come together are seen as two.
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
with open(log + ".new", "w", encoding="ascii") as file:
    file.write(str(os.getpid()))
os.rename(log + ".new", log + ".pid")
while True:
    number = signal.sigwait(wanted)
    if number == signal.SIGALRM:
        sys.exit(21)
    os.write(fd, b"%d\n" % number)
