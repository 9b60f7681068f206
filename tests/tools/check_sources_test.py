#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_sources on small trees of its own: what it must refuse and what it must not."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / 'tools/check_sources'
LICENCE = '// SPDX-License-Identifier: Apache-2.0\n'
TEMPORARY = '/' + 'tmp'  # spelled so that this file passes


def problems(name, text):
    """What the check says about a tree with one file; empty when it is fine."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, content in (('src/core/fine.cpp', LICENCE), (name, text)):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content, encoding='utf-8')
        done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True,
                              check=False)
        return done.stdout if done.returncode else ''


class FixedNames(unittest.TestCase):
    def refused(self, name, line):
        text = problems(name, LICENCE + line + '\n')
        self.assertIn(f'{name}:2: a fixed name below the temporary folder', text)

    def accepted(self, name, line):
        self.assertEqual(problems(name, LICENCE + line + '\n'), '')

    def test_fixed_names_are_refused_wherever_files_are_written(self):
        self.refused('tests/unit/core/x_test.cpp', f'std::ofstream("{TEMPORARY}/x");')
        self.refused('tests/unit/core/x_test.cpp', 'const auto p = testing::Temp' + 'Dir() + "x";')
        self.refused('bench/x_bench.cpp', 'std::filesystem::temp_' + 'directory_path() / "x"')
        self.refused('tests/browser/x.mjs', "const path = join(tmp" + "dir(), 'x');")
        self.refused('tests/golden/x/cmd', f'predict -o {TEMPORARY}/x.json')
        self.refused('tests/x.py', 'open(tempfile.gettemp' + "dir() + '/x')")
        self.refused('tools/x', 'log="${TMP' + 'DIR:-x}/log"')

    def test_names_that_the_system_picks_are_fine(self):
        self.accepted('tests/temporary_folder.h',
                      '#pragma once\nstd::filesystem::temp_' + 'directory_path()')
        self.accepted('tests/browser/x.mjs', "mkdtempSync(join(tmp" + "dir(), 'x-'));")
        self.accepted('tools/x', 'work=$(mktemp -d "${TMP' + 'DIR:-x}/x.XXXXXX")')
        self.accepted('tests/x.py', 'tempfile.TemporaryDirectory()')


class Equations(unittest.TestCase):
    def test_torn_ones_are_refused(self):
        for lines in ('// total = kernels +\n// idle', '/// (H100: 66.9 TFLOP/s =\n/// 132 x 256 x 1.98 GHz)',
                      '  // dilation (r - 1) + 1\n  // + output padding'):
            self.assertIn('an equation is torn', problems('src/core/x.cpp', LICENCE + lines + '\n'))
        for lines in ('// sum:\n//   a +\n//     b', '// a = b + c\n// d = e', '// C++\n// and more',
                      'int a = 1 +\n2;'):
            self.assertEqual(problems('src/core/x.cpp', LICENCE + lines + '\n'), '')


class TunedNumbers(unittest.TestCase):
    def test_the_model_has_none_in_its_code(self):
        for line in ('constexpr double kEfficiency = 0.68;', 'return time + 30e-6;',
                     'double attained = 0.82;  // of the pins'):
            self.assertIn('is a number of the model', problems('src/cost/x.cpp', LICENCE + line + '\n'))
        for name, line in (('src/cost/x.cpp', 'const double half = x / 2.0;  // about 0.82'),
                           ('src/cost/x.cpp', 'say("1.5 times");'),
                           ('src/report/x.cpp', 'constexpr double kMargin = 0.5;')):
            self.assertEqual(problems(name, LICENCE + line + '\n'), '')

    def test_the_list_is_of_numbers_that_are_there(self):
        text = problems('tools/numbers_in_code.tsv', 'src/cost/x.cpp\t0.5\tstructural\thalf of it\n')
        self.assertIn('has no 0.5 any more', text)
        self.assertIn('needs path, number, kind and reason',
                      problems('tools/numbers_in_code.tsv', 'src/cost/x.cpp\t0.5\tguess\thalf\n'))


class InstructionSets(unittest.TestCase):
    def test_code_does_not_ask_for_them_by_name(self):
        for line in ('return gpu.isa == "6.0";', 'if (isa.starts_with("gfx94")) {',
                     'return gpu.isa.find("10.") != npos;'):
            self.assertIn('asks for an instruction set by name',
                          problems('src/cost/x.cpp', LICENCE + line + '\n'))
        for name, line in (('src/hardware/architecture.cpp', 'if (isa.starts_with("gfx")) {'),
                           ('src/calibration/x.cpp', 'if (family != gpu.isa) {'),
                           ('tests/unit/x.cpp', 'EXPECT_TRUE(gpu.isa == "9.0");')):
            self.assertEqual(problems(name, LICENCE + line + '\n'), '')


class Words(unittest.TestCase):
    def test_messages_read_well(self):
        for line in ('error("128x64 is no tile");', 'error("the baselines are beside "\n  "it");',
                     'error("--a and --b exclude each "\n      "other");',
                     'error("this format is not known here");'):
            self.assertIn('src/core/x.cpp:2: a message says', problems('src/core/x.cpp', LICENCE + line + '\n'))
        for line in ('error("128x64 is not a valid tile");', 'error("there is no such file");',
                     '// a comment: "128x64" is no tile', 'say("it is no longer there");'):
            self.assertEqual(problems('src/core/x.cpp', LICENCE + line + '\n'), '')


class Form(unittest.TestCase):
    def test_the_rules_of_a_source(self):
        for text, message in (('int x;\n', 'no "SPDX-License-Identifier'),
                              (LICENCE + 'int x;\n' * 500, '501 lines; split it'),
                              (LICENCE + '\tint x;\n', 'a tab'),
                              (LICENCE + '// \u00b5\n', 'not ASCII')):
            self.assertIn(message, problems('src/core/x.cpp', text))
        self.assertIn('no "#pragma once"', problems('src/core/x.h', LICENCE))


if __name__ == '__main__':
    unittest.main()
