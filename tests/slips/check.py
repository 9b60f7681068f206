#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Slips that users make: three zeros too many, a missing key, a wrong unit, swapped columns.

slips.toml is a table of slips; each one changes one input file and names what must be said about it:

    name      of the slip, unique
    file      the input that is changed: a file of inputs/, or one of FROM_CATALOGUE below
    edits     [[from, to], ...]: texts to replace, each found exactly once, or
    times     [column, factor]: a column of a CSV file to multiply, or
    swap      [column, column]: two columns of a CSV file whose names are exchanged, or
    drop      column of a CSV file to remove, or
    replace   the whole new text of the file
    command   arguments of rooftile; it runs in a folder with a copy of all inputs
    exit      exit code (optional: 1; a warning has 0)
    unchanged exit code of the command on the unchanged inputs (optional: 0)
    message   what stdout or stderr must say, spaces and line breaks aside

The same command on the unchanged inputs must not say it.

usage: check.py --rooftile PROGRAM [NAME...]
"""
import argparse
import csv
import io
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TIMEOUT_SECONDS = 120
LEAST_SLIPS = 50

# Copies of shipped files under names of the user's own.
FROM_CATALOGUE = {
    'gpu.json': ('data/gpus/nvidia_h100_sxm5_80gb.json',
                 [('"id": "h100-sxm"', '"id": "my-h100"'),
                  ('"aliases": ["NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM 80GB", "H100 SXM5", '
                   '"H100"],', '"aliases": [],')]),
    'overlay/gpus/mine.json': ('data/gpus/nvidia_h100_sxm5_80gb.json',
                               [('"id": "h100-sxm"', '"id": "my-h100"'),
                                ('"NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM 80GB", "H100 SXM5", '
                                 '"H100"', '')]),
    'system.json': ('data/systems/nvidia_dgx_h100.json', []),
}


def replaced(text, edits):
    for old, new in edits:
        if text.count(old) != 1:
            sys.exit(f'"{old}" is there {text.count(old)} times')
        text = text.replace(old, new)
    return text


def with_columns(text, change):
    """The CSV text after `change(header, rows)`."""
    rows = list(csv.reader(io.StringIO(text)))
    header, rows = change(rows[0], rows[1:])
    out = io.StringIO()
    csv.writer(out, lineterminator='\n').writerows([header, *rows])
    return out.getvalue()


def multiplied(column, factor):
    def change(header, rows):
        at = header.index(column)
        for row in rows:
            row[at] = repr(float(row[at]) * factor)
        return header, rows
    return change


def swapped(first, second):
    def change(header, rows):
        a, b = header.index(first), header.index(second)
        header[a], header[b] = header[b], header[a]
        return header, rows
    return change


def dropped(column):
    def change(header, rows):
        at = header.index(column)
        return header[:at] + header[at + 1:], [row[:at] + row[at + 1:] for row in rows]
    return change


def changed(text, slip):
    if 'edits' in slip:
        return replaced(text, slip['edits'])
    if 'times' in slip:
        return with_columns(text, multiplied(*slip['times']))
    if 'swap' in slip:
        return with_columns(text, swapped(*slip['swap']))
    if 'drop' in slip:
        return with_columns(text, dropped(slip['drop']))
    return slip['replace']


def lay_out(folder):
    shutil.copytree(HERE / 'inputs', folder, dirs_exist_ok=True)
    for name, (source, edits) in FROM_CATALOGUE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(replaced((ROOT / source).read_text(), edits))


def run(program, command, folder):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith('ROOFTILE_')}
    environment.update(LC_ALL='C', NO_COLOR='1', TERM='dumb', COLUMNS='100')
    done = subprocess.run([program, *shlex.split(command)], cwd=folder, env=environment,
                          capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS,
                          stdin=subprocess.DEVNULL)
    return ' '.join((done.stdout + done.stderr).split()), done.returncode


def problem_of(slip, program):
    """What is wrong with the answer to a slip; empty when nothing is."""
    message, expected = ' '.join(slip['message'].split()), slip.get('exit', 1)
    with tempfile.TemporaryDirectory(prefix='rooftile_slips_') as name:
        folder = pathlib.Path(name)
        lay_out(folder)
        text, code = run(program, slip['command'], folder)
        if code != slip.get('unchanged', 0) or message in text:
            return f'without the slip: exit {code}: {text[:300]}'
        path = folder / slip['file']
        path.write_text(changed(path.read_text(), slip))
        text, code = run(program, slip['command'], folder)
    if code != expected:
        return f'exit {code}, expected {expected}: {text[:300]}'
    if message not in text:
        return f'does not say "{message}": {text[-600:]}'
    return ''


def main():
    parser = argparse.ArgumentParser(description='every slip is named')
    parser.add_argument('--rooftile', default=str(ROOT / 'build/dev/rooftile'))
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    slips = tomllib.loads((HERE / 'slips.toml').read_text())['slip']
    names = [slip['name'] for slip in slips]
    if len(set(names)) != len(names) or len(slips) < LEAST_SLIPS:
        sys.exit(f'{len(slips)} slips with {len(set(names))} names')
    failed = 0
    for slip in slips:
        if options.names and slip['name'] not in options.names:
            continue
        problem = problem_of(slip, str(pathlib.Path(options.rooftile).resolve()))
        if problem:
            failed += 1
            print(f'{slip["name"]}: {problem}')
    print(f'{len(slips)} slips, {failed} not named')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
