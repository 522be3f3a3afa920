"""An engine that fails as its option says: what the tests of src/engine/worker need. Otherwise it gives back the image
channels of its input."""

import os
import pathlib
import signal
import sys
import time

PACKAGES = ()


def fail(how, options):
    if how == "crash":
        print("a line before it\n" * 100 + "the last line of a crash", file=sys.stderr, flush=True)
        os.abort()
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "orphan":
        if os.fork() == 0:
            os.read(3, 1)  # holds the socket until the rank closes its end
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "hang":
        print("waiting for nothing", file=sys.stderr, flush=True)
        time.sleep(1000)
    elif how == "wait":
        while not os.path.exists(options["go"]):
            time.sleep(0.01)
    elif how == "raise":
        raise ValueError("the engine dislikes\nthese windows")
    elif how == "surrogate":
        raise ValueError("cannot read a\udcff.bin")  # so Python names a file that is not UTF-8
    elif how == "primitive":
        raise RuntimeError("Status: 1, message: could not create a primitive")  # so TensorFlow names oneDNN's want of memory
    elif how == "memory":
        return bytearray(1 << 34)  # beyond the limit
    elif how == "chatter":
        print("x" * 200_000, file=sys.stderr, flush=True)  # more than a pipe holds
    return None


def start_another(file, is_apart):
    """A process that goes on by itself, in a session of its own if `is_apart`."""
    process = os.fork()
    if process == 0:
        if is_apart:
            os.setsid()
        time.sleep(1000)
        os._exit(0)
    pathlib.Path(file).write_text(str(process))


def tell(options):
    """Writes the number of this process where the option says, when it is about to fail or to wait."""
    if "reached" in options:
        pathlib.Path(options["reached"]).write_text(str(os.getpid()))


def load(model, options):
    if "fork" in options:
        start_another(options["fork"], "apart" in options)
    if "pid" in options:
        pathlib.Path(options["pid"]).write_text(str(os.getpid()))
    if "load" in options:
        tell(options)
        fail(options["load"], options)
    calls = 0

    def call(windows, out):
        nonlocal calls
        calls += 1
        out[...] = 0  # which leaves the windows as they are
        if calls == int(options.get("from", 1)):
            tell(options)
        if calls >= int(options.get("from", 1)):
            fail(options.get("call"), options)
        if options.get("call") == "shape":
            return windows[:, :, :-1]
        if "burn" in options:
            begin = time.process_time()
            while time.process_time() - begin < float(options["burn"]):
                pass
        return windows[:, :out.shape[1]]

    return call
