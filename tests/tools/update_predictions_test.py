#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/update_predictions: what it says about two tables."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
TOOL = pathlib.Path(__file__).resolve().parents[2] / 'tools/update_predictions'


def load():
    loader = importlib.machinery.SourceFileLoader('update_predictions', str(TOOL))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader('update_predictions', loader))
    loader.exec_module(module)
    return module


BEFORE = 'class,case,total_ms,limiter\ncnn,a,10,dram\ncnn,b,20,dram\nllm,c,5,dram\nllm,d,1,dram\n'


class Describe(unittest.TestCase):
    def lines(self, now):
        tool = load()
        return list(tool.describe('steps', tool.rows_of(BEFORE), tool.rows_of(now), 'total_ms'))

    def test_nothing_moved(self):
        self.assertEqual(self.lines(BEFORE), [])
        self.assertEqual(self.lines(BEFORE.replace('a,10', 'a,10.00001')), [])

    def test_largest_change_and_mean_per_class(self):
        lines = self.lines(BEFORE.replace('a,10', 'a,11').replace('c,5', 'c,4'))
        self.assertIn('2 of 4 changed, most `c`: total_ms 5 -> 4 (-20 %)', lines[0])
        self.assertIn('Mean per class: cnn +5 %, llm -10 %.', lines[1])

    def test_words_and_new_rows_are_named(self):
        lines = self.lines(BEFORE.replace('b,20,dram', 'b,20,l2').replace('llm,d', 'llm,e'))
        self.assertIn('limiter in 1', lines[0])
        self.assertIn('1 new cases, 1 removed', lines[1])


if __name__ == '__main__':
    unittest.main()
