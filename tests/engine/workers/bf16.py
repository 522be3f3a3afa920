"""An adapter that also takes bf16, and says that it computes on a GPU: gives back the image channels of its input, and
says with which dtype and device it was loaded."""

DTYPES = ("fp32", "bf16")
DEVICES = ("cpu", "cuda")
COPY_NS = 0, 0
ARITHMETIC = ""


def load(model, options):
    def call(windows, out):
        global ARITHMETIC, COPY_NS
        ARITHMETIC = f"loaded for {options['dtype']} on {options['device']}"
        COPY_NS = (0, 0) if options["device"] == "cpu" else (1000, 2000)
        return windows[:, :out.shape[1]]

    return call
