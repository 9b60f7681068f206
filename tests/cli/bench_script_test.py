#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The script that `rooftile calibrate --script` writes: its syntax, and with PyTorch (any build) that
it runs and prints what `rooftile calibrate` reads. Usage: bench_script_test.py ROOFTILE"""
import ast
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def main():
    rooftile = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "bench.py"
        listed = json.loads(run(rooftile, "calibrate", "--gpu", "h100-sxm", "--suggest", "12",
                                "--script", str(script), "--format", "json"))
        assert len(listed["kernels"]) == 12, listed
        text = script.read_text()
        ast.parse(text)
        for kernel in listed["kernels"]:
            assert f'("{kernel["kernel"]}", "{kernel["shape"]}", "{kernel["dtype"]}")' in text, kernel
        families = {kernel["family"] for kernel in listed["kernels"]}
        assert {"linear_16bit", "linear_8bit", "prefill", "decode", "elementwise"} <= families, families
        if importlib.util.find_spec("torch") is None:
            print("python3-torch is not installed: the script was parsed, not run")
            return SKIPPED
        # Small kernels instead of the suggested ones: the test is about the format, on a processor.
        begin, end = text.index("KERNELS = ["), text.index("]\nCUDA")
        small = 'KERNELS = [("gemm", "64x32x16", "fp32"), ("gemm", "2x8x8x8", "fp32"), ' \
                '("add", "64x32", "fp32"), ("softmax", "64x32", "fp32"), ' \
                '("layernorm", "64x32", "fp32"), ("attention", "1x4/2x8x8x16", "fp32")'
        script.write_text(text[:begin] + small + text[end:])
        csv = run(sys.executable, str(script), "--quick")
        lines = csv.splitlines()
        assert lines[0] == "kernel,shape,dtype,latency_ms", lines
        kernels = {line.split(",")[0] for line in lines[1:]}
        assert {"gemm", "add", "softmax", "layernorm"} <= kernels, lines
        measured = pathlib.Path(folder) / "measured.csv"
        measured.write_text(csv)
        report = json.loads(run(rooftile, "calibrate", str(measured), "--gpu", "h100-sxm",
                                "--format", "json"))
        assert sum(family["rows"] for family in report["families"]) == len(lines) - 1, report
    return 0


if __name__ == "__main__":
    sys.exit(main())
