#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests of the command line: checks them, or rewrites what they expect.

A case is a folder below tests/golden/ with

    cmd               arguments of rooftile, one shell-quoted command; lines may end in a backslash
    expected.txt      its standard output, byte by byte
    expected_err.txt  its standard error (optional: no file, nothing is compared)
    exit_code         its exit code (optional: 0)
    stdin.txt         its standard input (optional: empty)
    columns           widths of the terminal, "60 80 120 160" (optional: 100); with several of them the
                      outputs are expected_60.txt, expected_80.txt, ... (diagnostics in
                      expected_err_60.txt, ...), and no line may be wider
    hashes            keep the SHA-256 of its inputs, which must lie in the folder (optional)

and is run inside that folder, so that input files of the case can lie next to `cmd`. Version, commit
and hashes change with every commit or edited data file: they are masked in what is compared.

usage: tools/update_golden.py [--rooftile PROGRAM] [CASE...]          rewrite (review the diff!)
       tools/update_golden.py --check [--rooftile PROGRAM] [CASE...]  compare; exit 1 on a difference

A new case needs only `cmd`; `touch expected_err.txt` when its diagnostics matter.
"""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
GOLDEN = ROOT / 'tests/golden'
TIMEOUT_SECONDS = 120
PROGRAM_MASKS = [
    (rb'("version": ?)"\d+\.\d+\.\d+"', rb'\1"<version>"'),
    (rb'("commit": ?)(?:"[0-9a-f]{40}(?:-dirty)?"|null)', rb'\1"<commit>"'),
    (rb'(?m)^(from: rooftile) \d+\.\d+\.\d+(?: [0-9a-f]{12}(?:-dirty)?)?', rb'\1 <version>'),
]
HASH_MASKS = [
    (rb'("sha256": ?)"[0-9a-f]{64}"', rb'\1"<sha256>"'),
    (rb'(?m)\b(embedded|overlay|file|files):[0-9a-f]{12}(?=,|$)', rb'\1:<sha256>'),
]


def widths_of(case):
    path = case / 'columns'
    return [int(word) for word in path.read_text().split()] if path.exists() else [100]


def too_wide(text, width):
    return [line for line in text.decode(errors='replace').splitlines() if len(line) > width]


def run(program, case, width):
    """Standard output, standard error and exit code of one case, in a fixed environment."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith('ROOFTILE_')}
    environment.update(LC_ALL='C', NO_COLOR='1', TERM='dumb', COLUMNS=str(width))
    arguments = shlex.split((case / 'cmd').read_text().replace('\\\n', ' '))
    stdin = case / 'stdin.txt'
    done = subprocess.run([program, *arguments], cwd=case, env=environment, check=False,
                          input=stdin.read_bytes() if stdin.exists() else b'',
                          capture_output=True, timeout=TIMEOUT_SECONDS)
    return masked(done.stdout, case), done.stderr, done.returncode


def masked(text, case):
    for pattern, mask in PROGRAM_MASKS + ([] if (case / 'hashes').exists() else HASH_MASKS):
        text = re.sub(pattern, mask, text)
    return text


def difference(path, wanted, got):
    if wanted == got:
        return ''
    lines = difflib.unified_diff(wanted.decode(errors='replace').splitlines(keepends=True),
                                 got.decode(errors='replace').splitlines(keepends=True),
                                 f'{path} (expected)', 'got')
    return ''.join(line if line.endswith('\n') else line + '\n' for line in lines)


def files_of(case, output, stdout, stderr, code):
    """(path, wanted bytes, bytes it should hold) for everything a case compares."""
    paths = [(case / output, stdout)]
    diagnostics = case / output.replace('expected', 'expected_err')
    if diagnostics.exists():
        paths.append((diagnostics, stderr))
    if code != 0 or (case / 'exit_code').exists():
        paths.append((case / 'exit_code', f'{code}\n'.encode()))
    for path, got in paths:
        yield path, path.read_bytes() if path.exists() else b'', got


def main():
    parser = argparse.ArgumentParser(description='check or rewrite the golden tests')
    parser.add_argument('--check', action='store_true', help='compare instead of rewriting')
    parser.add_argument('--rooftile', default=str(ROOT / 'build/dev/rooftile'))
    parser.add_argument('cases', nargs='*', help='folders below tests/golden (default: all)')
    options = parser.parse_args()
    program = str(pathlib.Path(options.rooftile).resolve())
    cases = [GOLDEN / case for case in options.cases] or sorted(
        path.parent for path in GOLDEN.rglob('cmd'))
    failed = 0
    for case, width in [(case, width) for case in cases for width in widths_of(case)]:
        stdout, stderr, code = run(program, case, width)
        output = 'expected.txt' if len(widths_of(case)) == 1 else f'expected_{width}.txt'
        texts = [(path, difference(path.relative_to(GOLDEN), wanted, got), got)
                 for path, wanted, got in files_of(case, output, stdout, stderr, code)]
        wide = too_wide(stdout + stderr, width) if (case / 'columns').exists() else []
        if wide:
            print(f'{case.relative_to(GOLDEN)}: wider than {width} columns:', *wide, sep='\n')
            failed += 1
        for path, text, got in texts:
            if options.check:
                print(text, end='')
            elif text or not path.exists():
                path.write_bytes(got)
                print(f'wrote {path.relative_to(ROOT)}')
        if options.check and any(text for _, text, _ in texts):
            failed += 1
            if not list(case.glob('expected_err*.txt')):
                sys.stderr.write(stderr.decode(errors='replace'))
    if options.check:
        print(f'{len(cases) - failed} of {len(cases)} golden cases agree')
    return 1 if failed or not cases else 0


if __name__ == '__main__':
    sys.exit(main())
