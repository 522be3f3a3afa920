"""Stands between a rank and the process that runs the network, so that nothing which an adapter starts outlives either:
the kernel can tell a process that its parent has ended, but not its grandchildren."""

import ctypes
import os
import signal

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
END = signal.SIGRTMIN  # from the rank, or from the kernel when the rank has ended; batch systems send others
WATCHED = {signal.SIGCHLD, END}


def end_with(parent, number):
    """The kernel sends signal `number` to this process when the thread that started it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)


def guard(rank, inherited):
    """Returns in a new process. This one keeps none of the descriptors `inherited` and ends as the new one does, or
    when the rank ends. Before, it kills all that came from the new one: they become its own children."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    end_with(rank, END)
    guardian = os.getpid()
    worker = os.fork()
    if worker == 0:
        end_with(guardian, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        return
    for descriptor in inherited:
        os.close(descriptor)
    status = wait_for(worker)
    kill_children()
    end_as(status)


def wait_for(worker):
    """The status with which it ended, or that of a killed one at a signal from the rank."""
    status = None
    while status is None:
        if signal.sigwait(WATCHED) == END:
            return signal.SIGKILL
        status = reap().get(worker)
    return status


def reap():
    """The children that have ended, with their status."""
    ended = {}
    try:
        while (found := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            ended[found[0]] = found[1]
    except ChildProcessError:  # there are no more
        pass
    return ended


def kill_children():
    """Also those that come while others end."""
    while found := children():
        for child in found:
            os.kill(child, signal.SIGKILL)
        os.waitpid(-1, 0)


def children():
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and parent_of(name) == os.getpid()]


def parent_of(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:  # it has just ended
        return 0


def end_as(status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))
