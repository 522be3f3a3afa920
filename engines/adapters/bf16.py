"""How bf16 was computed: what the notes of a point say. A framework may compute in fp32 on a processor that has no bf16
instructions, and only some of them say so."""

import re

INSTRUCTIONS = ("amx_bf16", "avx512_bf16", "bf16")  # flags of x86 processors, and of ARM
LAYERS = re.compile(r"= (\w+)\[[^\]]*\]\S* convolution\(")  # in the text of XLA: the type of the result


def processor_text(file="/proc/cpuinfo"):
    """What the processor has: "with avx512_bf16", "on a processor without bf16 instructions"."""
    with open(file) as lines:
        flags = next((line.split() for line in lines if line.startswith(("flags", "Features"))), ())
    found = [name for name in INSTRUCTIONS if name in flags]
    return f"on a processor with {found[0]}" if found else "on a processor without bf16 instructions"


def count_text(types):
    """Of the types of layers: "3 of 5 convolutions in bf16, the others in f32"."""
    in_bf16 = sum(each == "bf16" for each in types)
    others = sorted({each for each in types if each != "bf16"})
    text = f"{in_bf16} of {len(types)} convolutions in bf16"
    return text + (f", the others in {' and '.join(others)}" if others else "")


def xla_text(compiled):
    """What XLA made of a graph, by its text. Operations on bf16 values become such on fp32 values whose results are
    rounded to bf16 where the backend has none of its own."""
    return f"XLA computes {count_text(LAYERS.findall(compiled))}"
