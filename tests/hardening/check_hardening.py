#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a program lacks a defence that cmake/hardening.cmake promises; reads it with readelf.

usage: check_hardening.py [--linked-only] PROGRAM

--linked-only leaves out what only optimised builds have (canaries, checked calls).
"""
import argparse
import re
import subprocess
import sys


def readelf(program, *options):
    return subprocess.run(['readelf', '--wide', *options, program], check=True, capture_output=True,
                          text=True, env={'LC_ALL': 'C', 'PATH': '/usr/bin:/bin'}).stdout


def missing(program, linked_only):
    """The defences that a program lacks."""
    header = readelf(program, '--file-header')
    segments = readelf(program, '--program-headers')
    dynamic = readelf(program, '--dynamic')
    called = set(re.findall(r'UND (\w+)', readelf(program, '--dyn-syms')))
    defences = {
        'PIE': re.search(r'Type:\s+DYN', header) and re.search(r'FLAGS_1\).*\bPIE\b', dynamic),
        'RELRO': 'GNU_RELRO' in segments,
        'BIND_NOW': re.search(r'BIND_NOW|FLAGS_1\).*\bNOW\b', dynamic),
        'stack that cannot be executed': re.search(r'GNU_STACK(?:\s+0x\w+){5}\s+RW\s', segments),
        'no folder in RPATH': not re.search(r'\((RPATH|RUNPATH)\)', dynamic),
    }
    if not linked_only:
        checked = {name for name in called if re.fullmatch(r'__\w+_chk', name)}
        defences['stack protector'] = '__stack_chk_fail' in called
        defences['FORTIFY'] = checked
    return [name for name, present in defences.items() if not present]


def main():
    parser = argparse.ArgumentParser(description='check the defences of a program')
    parser.add_argument('--linked-only', action='store_true')
    parser.add_argument('program')
    options = parser.parse_args()
    lacking = missing(options.program, options.linked_only)
    for name in lacking:
        print(f'{options.program}: error: no {name}')
    if not lacking:
        print(f'{options.program}: hardened')
    return 1 if lacking else 0


if __name__ == '__main__':
    sys.exit(main())
