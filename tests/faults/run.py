"""Does the suite kill bugs? README.md, beside this, says how to run it and what came of it.

Seeded faults are put into checker, passes and emitters, one at a time, in a copy of the package. Lint and types look at
it; then the tests that run the changed line run against the copy, the quickest first, until one fails. What survives
is printed, and listed in out/faults/survivors.json: each is a hole in the suite, or changes nothing that anyone could
see (equivalent.txt).
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import sys
import tempfile
import time
from functools import cache
from itertools import groupby
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from operators import Fault, change, faults, one_line, with_fault  # noqa: E402
from reach import Reach, measure  # noqa: E402
from style import Style  # noqa: E402
from trial import Trial, copy_of_package, function_at, run  # noqa: E402

FOLDERS = ["dsl", "compiler", "backends"]
LEFT_OUT = ["dsl/catalogue/", "__init__.py"]  # pages of text
EQUIVALENT = HERE / "equivalent.txt"
Picked = tuple[int, str, Fault]  # its number, its file below the package, the fault


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--measure",
        nargs="*",
        metavar="TESTS",
        help="first: run the quick suite and note who runs what; later, add what these new tests run",
    )
    parser.add_argument("--count", type=int, default=120, help="faults (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (%(default)s)")
    parser.add_argument("--under", action="append", help=f"only there, for instance compiler/cost ({FOLDERS})")
    parser.add_argument("--score", action="store_true", help="every fault as likely: else rare kinds are as likely")
    parser.add_argument("--again", action="store_true", help="only those that survived the last time")
    parser.add_argument("--workers", type=int, default=1, help="trials at a time (%(default)s)")
    parser.add_argument("--limit", type=float, default=900, help="processor seconds for one fault (%(default)s)")
    options = parser.parse_args()
    if options.measure is not None:
        measure(options.measure, options.workers)
        return 0
    out = ROOT / "out" / "faults" / "survivors.json"
    picked = chosen(options.count, options.seed, options.under or FOLDERS, options.score)
    if options.again:
        before = {survivor["number"] for survivor in json.loads(out.read_text(encoding="utf-8"))}
        picked = [each for each in picked if each[0] in before]
    survivors = tried(picked, options.workers, options.limit)
    out.write_text(json.dumps(survivors, indent=2) + "\n", encoding="utf-8")
    found = len(picked) - len(survivors)
    print(f"{len(picked)} faults, {found} found ({found / max(len(picked), 1):.1%})")
    return 0 if picked and found >= 0.95 * len(picked) else 1


def chosen(count: int, seed: int, under: list[str], score: bool = False) -> list[Picked]:
    """So many faults, numbered: files by their length, then kinds of fault evenly, then places evenly.

    score: all faults evenly, as the score of a mutation tool counts them.
    """
    files = [path for folder in under for path in sorted((ROOT / folder).rglob("*.py")) or [ROOT / folder]]
    names = [str(path.relative_to(ROOT)) for path in files]
    names = [name for name in names if not any(part in name for part in LEFT_OUT)]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    all_of = {name: sorted(faults(texts[name], emits(name)), key=lambda fault: fault.what) for name in names}
    kinds = {name: [list(group) for _, group in groupby(all_of[name], lambda fault: fault.what)] for name in names}
    names = [name for name in names if all_of[name]]
    weights = [len(all_of[name]) if score else len(texts[name]) for name in names]
    rolls = random.Random(seed)
    equivalent = {tuple(line.split(" | ")[:4]) for line in EQUIVALENT.read_text(encoding="utf-8").splitlines()}
    picked: list[Picked] = []
    seen = set()
    while len(picked) < count:
        (name,) = rolls.choices(names, weights)
        fault = rolls.choice(all_of[name] if score else rolls.choice(kinds[name]))
        if (name, fault) not in seen:
            seen.add((name, fault))
            before, after = change(texts[name], fault, emits(name))
            if before != after and (name, fault.what, one_line(before), one_line(after)) not in equivalent:
                picked.append((len(seen), name, fault))
    return picked


def emits(name: str) -> bool:
    return name.startswith(("backends/", "compiler/ops/"))


@cache
def helpers() -> set[str]:
    """What generated code carries along: no test runs these lines, and a golden file of such code finds any change."""
    tree = ast.parse((ROOT / "backends" / "text" / "carried.py").read_text(encoding="utf-8"))
    lists = [node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)]
    return {f"backends/runtime/{ast.literal_eval(name)}.py" for names in lists for name in names.elts}


def tried(picked: list[Picked], workers: int, limit: float) -> list[dict[str, object]]:
    """The survivors."""
    reach = Reach()
    survivors: list[dict[str, object]] = []
    done = 0
    start = time.monotonic()

    def report(at: int, found: str | None) -> None:
        nonlocal done
        done += 1
        number, name, fault = picked[at]
        place = f"{number:3} {name}:{fault.lines.start} {fault.what}"
        print(f"{(time.monotonic() - start) / 60:5.1f} min {place}: {found or 'SURVIVES'}", flush=True)
        if found is None:
            before, after = change((ROOT / name).read_text(encoding="utf-8"), fault, emits(name))
            print(f"        {one_line(before)}  =>  {one_line(after)}", flush=True)
            entry = {"number": number, "file": name, "line": fault.lines.start, "what": fault.what}
            survivors.append(entry | {"before": before, "after": after})

    trials = [prepared(reach, name, fault, limit) for _, name, fault in picked]
    with tempfile.TemporaryDirectory() as folder:
        style = Style(copy_of_package(Path(folder)))
        run(trials, workers, style.finds, report)
        style.close()
    if done < len(picked):
        raise SystemExit("pytest broke off: what it printed says why")
    return survivors


def prepared(reach: Reach, name: str, fault: Fault, limit: float) -> Trial:
    text = (ROOT / name).read_text(encoding="utf-8")
    carried = name in helpers()
    tests = reach.of(["backends/text/carried.py", name]) if carried else reach.tests(name, fault.lines)
    function = None if reach.imports(name, fault.lines) else function_at(text, fault.lines)
    sound, faulty = (with_fault(text, fault, emits(name), sound=sound) for sound in (True, False))
    return Trial(
        name, sound, faulty, function, {test: reach.seconds[test] for test in tests}, goldens=not carried, limit=limit
    )


if __name__ == "__main__":
    sys.exit(main())
