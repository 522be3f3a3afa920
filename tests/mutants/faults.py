"""Planted faults: read from faults/<layer>.toml, checked against the sources, put into a copy of them.

A fault is a table [[fault]] with
  id     its name, the value of PATCHBENCH_MUTANT that switches it on
  file   the source it lies in, of the layer that the list is named after
  find   text that the file holds exactly once: an expression, or with `statement = true` whole statements
  put    what stands there when the fault is on
  why    what goes wrong for whoever uses the program
  tests  regular expression of whole ctest names: the tests that should catch it
and, where it applies, `smoke = true` (one of the selection of .ci/run), `survives` (why no test can catch it) and
`also`, a list of further places {file, find, put, statement} that change together with the first.
Several faults may lie in one place, when they name the same text.
"""

import dataclasses
import re
import tomllib

LAYERS = ("base", "config", "network", "plan", "record", "image", "device", "comm", "engine", "run", "measure", "report", "doctor", "app")
# Of a variable: what follows could not see it behind the braces of a statement.
DECLARATION = re.compile(r"(const|constexpr|auto|static|bool|int|double|size_t|int64_t|std::\w+)\b[^;=(]*[ &*]\w+\s*=[^;]*;$")


class Refused(Exception):
    """A list of faults that is not what it should be; the message names the fault and the reason."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a fault lies and what stands there when it is on."""
    id: str
    file: str
    find: str
    put: str = ""
    statement: bool = False


@dataclasses.dataclass(frozen=True)
class Fault:
    id: str
    layer: str
    places: tuple
    why: str
    tests: str
    smoke: bool = False
    survives: str = ""


KEYS = {"id": str, "file": str, "find": str, "put": str, "statement": bool, "also": list, "why": str, "tests": str,
        "smoke": bool, "survives": str}
PLACE_KEYS = ("file", "find", "put", "statement")


def load_faults(folder):
    """All faults of the lists in `folder`, layer by layer."""
    lists = sorted(folder.glob("*.toml"), key=lambda file: LAYERS.index(file.stem) if file.stem in LAYERS else -1)
    faults = []
    for file in lists:
        if file.stem not in LAYERS:
            raise Refused(f"{file}: '{file.stem}' is no layer; the lists are named after {', '.join(LAYERS)}")
        try:
            tables = tomllib.loads(file.read_text(encoding="utf-8")).get("fault", [])
        except tomllib.TOMLDecodeError as error:
            raise Refused(f"{file}: {error}") from error
        faults += [make_fault(file, table) for table in tables]
    if not faults:
        raise Refused(f"{folder}: holds no fault")
    return faults


def make_fault(file, table):
    """A fault of the list `file`, checked as far as its table tells."""
    name = f"{file.name}, {table.get('id', 'a fault without id')}"
    check_keys(name, table, KEYS)
    for key in ("id", "file", "find", "why", "tests"):
        if not table.get(key, "").strip():
            raise Refused(f"{name}: '{key}' is missing")
    if not re.fullmatch(r"[a-z0-9-]+", table["id"]):
        raise Refused(f"{name}: an id has lower-case letters, digits and hyphens")
    try:
        re.compile(table["tests"])
    except re.error as error:
        raise Refused(f"{name}: 'tests' is no regular expression: {error}") from error
    first = {key: table[key] for key in PLACE_KEYS if key in table}
    places = tuple(make_place(name, table["id"], file.stem, place) for place in [first, *table.get("also", [])])
    rest = {key: table[key] for key in ("id", "why", "tests", "smoke", "survives") if key in table}
    return Fault(layer=file.stem, places=places, **rest)


def make_place(name, fault_id, layer, table):
    check_keys(name, table, {key: KEYS[key] for key in PLACE_KEYS})
    place = Place(id=fault_id, **table)
    if not place.file.startswith((f"src/{layer}/", f"include/patchbench/{layer}/")):
        raise Refused(f"{name}: {place.file} is no file of the layer {layer}")
    if place.find == place.put or not (place.put.strip() or place.statement):
        raise Refused(f"{name}: 'put' changes nothing, or leaves an expression out")
    if not place.statement and (place.find.rstrip().endswith(";") or place.put.rstrip().endswith(";")):
        raise Refused(f"{name}: a text that ends with ';' needs statement = true")
    if place.statement and DECLARATION.match(place.find.strip()):
        raise Refused(f"{name}: defines a variable, which what follows could not see: take an expression")
    for text in (place.find.strip(), place.put.strip()):
        if place.statement and text and not text.endswith((";", "}")):
            raise Refused(f"{name}: a whole statement ends with ';' or '}}': {text!r}")
        if not place.statement and re.search(r"^[?:](?!:)|(?<!:)[?:]$", text):
            raise Refused(f"{name}: the '?' and ':' of a condition belong to one expression: {text!r}")
        if not is_balanced(text):
            raise Refused(f"{name}: a bracket that opens in a text closes in it: {text!r}")
        if not place.statement and not is_expression(text):
            raise Refused(f"{name}: is no expression that could stand in brackets; take more of it: {text!r}")
    return place


def without_literals(text):
    return re.sub(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'""", "0", text)


def is_balanced(text):
    """Whether each bracket outside of literals has its counterpart."""
    closing = {")": "(", "]": "[", "}": "{"}
    opened = []
    for bracket in re.findall(r"[()\[\]{}]", without_literals(text)):
        if bracket not in closing:
            opened.append(bracket)
        elif not opened or opened.pop() != closing[bracket]:
            return False
    return not opened


def is_expression(text):
    """False for a part of one, for several, and for what begins as a statement or a list."""
    bare = without_literals(text)
    while bare != (inner := re.sub(r"[(\[{][^()\[\]{}]*[)\]}]", "0", bare)):
        bare = inner
    begins_otherwise = re.match(r"(if|for|while|else|return|const|auto)\b|[.,/|=]|&&|[<>!]=", bare)
    begins_list = text.startswith("{")
    ends_early = re.search(r"(?<!\+)\+$|(?<!-)-$|[,*/%=&|<>(]$", bare)
    return not (begins_otherwise or begins_list or ends_early or "," in bare)


def check_keys(name, table, known):
    for key, value in table.items():
        if key not in known:
            raise Refused(f"{name}: unknown key '{key}'; known are {', '.join(known)}")
        if not isinstance(value, known[key]):
            raise Refused(f"{name}: '{key}' is of another kind than it should be")


def check_faults(faults, root):
    """Throws Refused with every fault that does not fit the sources under `root`."""
    ids = [fault.id for fault in faults]
    wrong = [f"{name}: there are two of this id" for name in sorted(set(ids)) if ids.count(name) > 1]
    places = [place for fault in faults for place in fault.places]
    for file in sorted({place.file for place in places}):
        here = [place for place in places if place.file == file]
        text = (root / file).read_text(encoding="utf-8") if (root / file).is_file() else None
        misfits = [f"{place.id}: {file} {problem}" for place in here if (problem := misfit(place, text))]
        wrong += misfits or overlaps(here, text)
    if wrong:
        raise Refused("\n".join(wrong))


def misfit(place, text):
    if text is None:
        return "is not there"
    count = text.count(place.find)
    if count == 1 and re.search(r"(::|->|\.)$", text[:text.index(place.find)]):
        return f"has the text to find behind '::', '.' or '->': take the whole name: {place.find.strip()!r}"
    if count == 0:
        return f"does not hold the text to find any more: {place.find.strip()!r}"
    return f"holds the text to find {count} times, not once: {place.find.strip()!r}" if count > 1 else ""


def overlaps(places, text):
    """Places of one file whose texts share a part without being the same."""
    spans = sorted({(text.index(place.find), place.find) for place in places})
    return [f"{', '.join(place.id for place in places if place.find in (one, other))}: their texts overlap and differ"
            for (begin, one), (next_begin, other) in zip(spans, spans[1:]) if begin + len(one) > next_begin]


def plant(text, places, header):
    """`text` with the faults of all `places`, each of which sleeps until the environment names it."""
    by_text = {}
    for place in places:
        by_text.setdefault(place.find, []).append(place)
    for find, here in sorted(by_text.items(), key=lambda item: text.index(item[0]), reverse=True):
        begin = text.index(find)
        text = text[:begin] + switched(find, here) + text[begin + len(find):]
    return f'#include "{header}"\n{text}'


def switched(find, places):
    """The text of one place: the faults, and what stood there before."""
    if len({place.statement for place in places}) > 1:
        raise Refused(f"{', '.join(place.id for place in places)}: one text is a statement and an expression")
    if places[0].statement:
        chain = " else ".join(f'if (mutant_is_on<"{place.id}">()) {{ {place.put} }}' for place in places)
        return f"{{ {chain} else {{ {find} }} }}"
    chain = "".join(f'mutant_is_on<"{place.id}">() ? ({place.put}) : ' for place in places)
    return f"({chain}({find}))"
