#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every error message of the runtime and the kernel library is provoked, and its text checked, by some test.

The messages are the formats in the sources: what pl_fail(), pl_fail_operand(), pl_error() and
pl_message_add() are given. A message counts as tested if

  * a host test made a call fail with it and found words in it (test_pallas told=FILE writes which), one of
    them a part of that format: a test that looks for the kernel's name alone would pass with any message; or
  * a test in the firmware looks for a text that is a part of it: a string of a test program, a pattern of
    zoo.toml or of the conformance cases.

A text is a part of a format if it can be laid over it, letters on letters and values on conversions; one
that would do for several formats is of none of them (say more of the message).

    messages.py TOLD...               the check
    messages.py --break TOLD...       the same with one message more, which nobody provokes: must fail
"""
import argparse
import functools
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Which argument of a function is the format.
FORMATS = {"pl_fail": 1, "pl_fail_operand": 2, "pl_error": 1, "pl_message_add": 0, "fail_line": 1}
SOURCES = ("firmware/pallas", "firmware/kernels")
PROGRAMS = ("tests/kernels/programs", "tests/firmware/programs", "tests/conformance/programs")
LEAST = 6  # letters that a text must share with a format; a shorter format all of its own
CONVERSION = re.compile(r"%[-0-9.*]*l*(?:p[A-Z]|[a-zA-Z%])")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')

ADDED = set()  # formats of what is added to messages, which have no entry of their own in what host tests tell


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def literal(text):
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m.group(1), m.group(1)), text)


def strings(text):
    """Strings in C text, with those that follow one another joined."""
    found, end = [], None
    for m in STRING.finditer(text):
        if end is not None and re.fullmatch(r"\s*", text[end:m.start()]):
            found[-1] += literal(m.group(1))
        else:
            found.append(literal(m.group(1)))
        end = m.end()
    return found


def arguments(text, at):
    """The arguments of the call whose bracket opens before `at`."""
    depth, start, found = 0, at, []
    while True:
        m = STRING.match(text, at)
        if m:
            at = m.end()
            continue
        c = text[at]
        if c in ",)" and depth == 0:
            found.append(text[start:at])
            start = at + 1
            if c == ")":
                return found
        depth += (c in "([{") - (c in ")]}")
        at += 1


def messages():
    """Format -> place, for all of them."""
    found = {}
    for folder in SOURCES:
        for path in sorted((ROOT / folder).glob("*.c")):
            text = without_comments(path.read_text())
            for m in re.finditer(r"\b(" + "|".join(FORMATS) + r")\(", text):
                args = arguments(text, m.end())
                at = FORMATS[m.group(1)]
                line = text.count("\n", 0, m.start()) + 1
                for format in strings(args[at]) if at < len(args) else []:
                    found.setdefault(format, f"{path.relative_to(ROOT)}:{line}")
                    if m.group(1) in ("pl_message_add", "fail_line"):
                        ADDED.add(format)
    return found


def letters(text):
    return len(re.sub(r"[^A-Za-z]", "", text))


@functools.cache
def trigrams(text):
    return {text[i:i + 3] for i in range(len(text) - 2)}


@functools.cache
def tokens_of(format):
    """Letters of a format, and for each conversion a pattern of what it may become."""
    pieces = CONVERSION.split(format)
    kinds = CONVERSION.findall(format)
    found = list(pieces[0])
    for kind, piece in zip(kinds, pieces[1:]):
        numeric = kind[-1] in "dux"
        found += [re.compile("[-0-9a-f]" if kind[-1] == "x" else "[-0-9]" if numeric else ".", re.S)] + list(piece)
    return found


def common(text, format):
    """The most letters that the text and the format share, one laid over the other; 0 if that cannot be.

    The text may begin and end anywhere within the message, and go on behind it (more may be added there).
    """
    if len(trigrams(text) & trigrams(format)) < 2:
        return 0
    tokens = tokens_of(format)
    n = len(tokens)

    def slip(state):  # a value may be over, or empty
        for j in range(n):
            if not isinstance(tokens[j], str):
                state[j + 1] = max(state[j + 1], state[j])
        return state
    before = [0] * (n + 1)
    for c in text:
        now = [-1] * (n + 1)
        for j in range(n):
            if before[j] < 0:
                continue
            if isinstance(tokens[j], str):
                if tokens[j] == c:
                    now[j + 1] = max(now[j + 1], before[j] + c.isalpha())
            elif tokens[j].match(c):
                now[j] = max(now[j], before[j])
        if before[n] > 0:
            now[n] = max(now[n], before[n])
        before = slip(now)
    return max(max(before), 0)


def inner(text):
    """Without status, kernel and operand in front, which are not of the format."""
    text = re.sub(r"^[A-Z]+: ", "", text)
    text = re.sub(r"^.*?(kernel|pipeline) \w+[^:]*: ", "", text)
    return re.sub(r"^(input|output|scratch|prefetch|scoped item) \d+: ", "", text)


def holds(text, format):
    """Whether the text has all of the format in it."""
    return re.search("".join(re.escape(t) if isinstance(t, str) else t.pattern + "+" for t in tokens_of(format)), text)


def enough(text, format):
    return common(inner(text), format) >= min(LEAST, letters(CONVERSION.sub("", format)))


def texts():
    """What tests in the firmware look for: (name of the program, text)."""
    for folder in PROGRAMS:
        for path in sorted((ROOT / folder).glob("*.[ch]")):
            text = without_comments(path.read_text())
            for body in re.findall(r"^static void \w*errors?\w*\(void\) \{\n(.*?)^\}", text, re.M | re.S):
                yield from ((path.stem, s) for s in strings(body))
    with open(ROOT / "tests/firmware/zoo.toml", "rb") as file:
        patterns = [p for case in tomllib.load(file)["case"] for p in case.get("output", [])]
    with open(ROOT / "tests/conformance/cases.toml", "rb") as file:
        patterns += [p for case in tomllib.load(file)["case"] for p in case.get("errors", [])]
    for pattern in patterns:
        for part in re.split(r"\.[*+]|\|", pattern):
            yield "", re.sub(r"\\(.)", r"\1", part)


def meant(program, text, formats):
    """The format that a text is of: the one that it shares most with, if there is one such."""
    best = sorted(((common(text, f), Path(place).stem.startswith(program or "-"), f) for f, place in formats.items()),
                  reverse=True)[:2]
    if best[0][0] >= min(LEAST, letters(CONVERSION.sub("", best[0][2]))) and best[0][:2] != best[1][:2]:
        return best[0][2]
    return None


def told(paths):
    for path in paths:
        for record in path.read_bytes().decode(errors="replace").split("\0\0"):
            if record:
                format, *words = record.split("\0")
                yield format, words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--break", dest="spoil", action="store_true")
    parser.add_argument("told", nargs="+", type=Path)
    args = parser.parse_args()
    wanted = messages()
    if args.spoil:
        wanted["nobody provokes this message, of %u words"] = "--break:1"
    wanted = {f: p for f, p in wanted.items() if letters(CONVERSION.sub("", f)) >= 4}  # no commas between values
    seen, looked_for = {}, set(texts())
    looked_for |= {(program, inner(text)) for program, text in looked_for}
    for format, words in told(args.told):
        seen.setdefault(format, set()).update(words)
    rest = {f: p.split(":")[0] for f, p in wanted.items() if f not in seen}
    covered = {meant(program, text, rest) for program, text in looked_for if letters(text) >= 4}
    added = {f: p for f, p in rest.items() if f in ADDED}
    for word in set().union(*seen.values()):  # of what was added to a message, host tests look for parts as well
        covered |= {meant("", word, added)} | {f for f in added if holds(word, f)}
    failed = passed = 0
    for format, place in wanted.items():
        ok = any(enough(word, format) for word in seen[format]) if format in seen else format in covered
        passed, failed = passed + ok, failed + (not ok)
        if not ok:
            state = "is provoked, and no test looks at its own words" if format in seen else "is provoked by no test"
            print(f"FAIL messages: {place}: \"{format.strip()}\" {state}")
    print(f"{'FAIL' if failed else 'PASS'} messages: {passed} are provoked and looked at, {failed} are not")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
