#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Help of every command: no line is wider than the terminal, every command has an example, and every
example is a command line that the program understands (files that it names need not exist).

usage: help_test.py ROOFTILE
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
WIDTHS = (60, 80, 120, 160)


def run(arguments, columns=100, cwd=None):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith('ROOFTILE_')}
    environment.update(COLUMNS=str(columns), NO_COLOR='1', LC_ALL='C')
    return subprocess.run([PROGRAM, *arguments], env=environment, cwd=cwd, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def subcommands(path):
    """What the lists of the help of `path` name, each with its own subcommands."""
    text = run(['help', *path]).stdout
    usage = text.split('Usage:')[1].split('\n\n')[0]
    found = []
    if ' COMMAND' in usage or ' KIND' in usage:
        for name in re.findall(r'(?m)^  ([a-z]+) +\S', text.split('\nExamples:')[0]):
            found.append([*path, name])
    for name in re.findall(rf'(?m)^ +rooftile {" ".join(path)} ([a-z]+) \[options\]$', usage):
        found.append([*path, name])
    return found


def all_commands():
    commands = [[]]
    for path in commands:
        commands += subcommands(path)
    return commands


def examples(text):
    joined = text.replace('\\\n', ' ')
    return [' '.join(line.split()) for line in joined.splitlines() if line.startswith('  rooftile ')]


def main():
    failures = []
    commands = all_commands()
    if len(commands) < 20:
        failures.append(f'only {len(commands)} commands were found: {commands}')
    tried = set()
    for path in commands:
        name = ' '.join(['rooftile', *path])
        for columns in WIDTHS:
            for line in run(['help', *path], columns).stdout.splitlines():
                if len(line) > columns:
                    failures.append(f'{name}: {len(line)} columns at {columns}: {line}')
        text = run(['help', *path]).stdout
        if text != run([*path, '--help']).stdout:
            failures.append(f'{name}: `help` and `--help` differ')
        own = examples(text)
        if not own:
            failures.append(f'{name}: its help has no example')
        if path and any(not example.startswith(name) for example in own[:1]):
            failures.append(f'{name}: its first example is of another command: {own[0]}')
        for columns in WIDTHS:
            if examples(run(['help', *path], columns).stdout) != own:
                failures.append(f'{name}: the examples differ at {columns} columns')
        tried.update(own)
    with tempfile.TemporaryDirectory() as folder:
        for example in sorted(tried):
            words = shlex.split(example.split(' | ')[0])[1:]
            if words[0] == 'characterize' and not any(w.startswith('--from') for w in words):
                continue  # would measure for a minute
            if '--count' in words:
                words[words.index('--count') + 1] = '1'
            done = run(words, cwd=folder)
            if done.returncode not in (0, 1) or 'internal' in done.stderr:
                failures.append(f'{example}: exit {done.returncode}: {done.stderr}')
    print('\n'.join(failures))
    print(f'{len(commands)} commands, {len(tried)} examples, {len(failures)} failures')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
