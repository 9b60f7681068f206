#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/mutate: what it changes in a source, and what it leaves alone."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOOL = pathlib.Path(__file__).resolve().parents[2] / 'tools/mutate'


def load():
    loader = importlib.machinery.SourceFileLoader('mutate', str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('mutate', loader))
    loader.exec_module(module)
    return module


class Sites(unittest.TestCase):
    def setUp(self):
        self.mutate = load()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.mutate.TREE = pathlib.Path(self.folder.name)

    def changes(self, code, name='x.cpp'):
        (self.mutate.TREE / name).write_text(code)
        return [(old, new) for _, old, new in self.mutate.sites(name)]

    def test_numbers(self):
        self.assertEqual(self.changes('double a = 0.68;'), [('0.68', '0.85')])
        self.assertEqual(self.changes('int a = 2;'), [('2', '3')])
        self.assertEqual(self.changes("int a = 1'000;"), [("1'000", '1250')])
        self.assertEqual(self.changes('Seconds a = f(3e-6);'), [('3e-6', '3.75e-06')])

    def test_operators_and_words(self):
        self.assertEqual(self.changes('return a < b && c;'), [('<', '<='), ('&&', '||')])
        self.assertEqual(self.changes('x = a *\n    b;'), [('*', '/')])
        self.assertEqual(self.changes('std::min(a, b)'), [('std::min', 'std::max')])
        self.assertEqual(self.changes('bool a = true;'), [('true', 'false')])

    def test_what_is_no_code_stays(self):
        for code in ('// 1 < 2', '"1 < 2"', '/* 3\n 4 */', '#define A 1', 'static_assert(a == 1);',
                     'std::vector<int> a;', 'const T* a;', 'T&& a', "char a = '1';", 'int x1;'):
            self.assertEqual(self.changes(code), [], code)

    def test_neutral_members_stay(self):
        self.assertEqual(self.changes('  double cost = 0, speedup = 1;  ///< x\n', 'x.h'), [])
        self.assertEqual(self.changes('  double spread = 1.5;\n', 'x.h'), [('1.5', '1.875')])

    def test_a_fitted_number_is_found_by_its_key(self):
        entry = {'name': 'n', 'file': 'f', 'pattern': '"spread": ([0-9.]+)', 'factor': 0.5}
        self.assertEqual(self.mutate.named_place(entry, '{"spread": 1.3}'), (11, '1.3', '0.65'))
        with self.assertRaises(SystemExit):
            self.mutate.named_place(entry, '{}')

    def test_named_mistakes_fit_the_sources(self):
        self.mutate.TREE = TOOL.parents[1]
        names = [mutant.name for mutant in self.mutate.named_mutants()]
        self.assertGreaterEqual(len(names), 10)

    def test_a_mutant_changes_one_place_and_goes_away(self):
        code = 'int f() { return 2 * 2; }\n'
        (self.mutate.TREE / 'src').mkdir()
        (self.mutate.TREE / 'src/x.cpp').write_text(code)
        mutant = self.mutate.Mutant('src/x.cpp', code.rindex('2'), '2', '3')
        mutant.apply()
        self.assertEqual((self.mutate.TREE / 'src/x.cpp').read_text(), 'int f() { return 2 * 3; }\n')
        mutant.revert()
        self.assertEqual((self.mutate.TREE / 'src/x.cpp').read_text(), code)
        self.assertEqual(mutant.key(), 'src/x.cpp|int f() { return 2 * 2; }|1|2|3')

    def test_a_run_that_never_ends_is_ended(self):
        self.assertEqual(self.mutate.run(['sleep', '60'], 0.2)[0], 124)


if __name__ == '__main__':
    unittest.main()
