#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the HIP side of the GPU kernels with plain Clang, which needs no ROCm, and checks that the
kernels of the matrix units contain their instruction. Exit code 77: there is no Clang for AMD GPUs."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[2] / "src/characterize/gpu/kernels.cu"
SKIPPED = 77

# Architecture -> kernel -> instruction; a chip without an instruction must not have the kernel. The
# shape in a kernel's name is what the host counts with.
EXPECTED = {
    "gfx906": {},
    "gfx908": {
        "mma_fp16_m32n32k8": "32x32x8f16",
        "mma_fp32_m32n32k2": "32x32x2f32",
        "mma_int8_m32n32k8": "i32_32x32x8i8",
    },
    "gfx90a": {
        "mma_fp16_m32n32k8": "32x32x8f16",
        "mma_bf16_m32n32k8": "32x32x8bf16_1k",
        "mma_fp32_m32n32k2": "32x32x2f32",
        "mma_fp64_m16n16k4": "f64_16x16x4f64",
        "mma_int8_m32n32k8": "i32_32x32x8i8",
    },
    "gfx942": {
        "mma_fp16_m32n32k8": "32x32x8_f16",
        "mma_bf16_m32n32k8": "32x32x8_bf16",
        "mma_fp32_m32n32k2": "32x32x2_f32",
        "mma_fp64_m16n16k4": "f64_16x16x4_f64",
        "mma_int8_m32n32k16": "i32_32x32x16_i8",
        "mma_fp8_e4m3_m32n32k16": "f32_32x32x16_fp8_fp8",
    },
    "gfx1030": {},
}

# Kernel -> what its loads are made of, and how many of them: the 16 bytes that are counted, not a
# word of them. `glc` on a load of l1_load would go past the cache that it is to measure.
LOADS = {
    "l1_load": (r"global_load_dwordx4 [^\n]*off$", 4),
    "stream_load": (r"global_load_dwordx4 [^\n]*off (?:glc )?(?:slc|nt)$", 4),
    "shared_load": (r"ds_read_b128 [^\n]*$", 8),
    "chase": (r"(?:global|flat)_load_dword [^\n]*$", 8),
}
OTHER_LOADS = {
    "l1_load": r"(?:global|flat)_load_\w+ ",
    "stream_load": r"(?:global|flat)_load_\w+ ",
    "shared_load": r"(?:ds_read|flat_load)_\w+ ",
}


def find_clang():
    for name in ("clang++-19", "clang++"):
        path = shutil.which(name)
        if not path:
            continue
        targets = subprocess.run([path, "--print-targets"], capture_output=True, text=True)
        if "amdgcn" in targets.stdout:
            return path
    return None


def assembly(clang, arch):
    command = [clang, "-x", "hip", "--cuda-device-only", f"--offload-arch={arch}", "-nogpulib",
               "-nogpuinc", "-std=c++17", "-O2", "-S", "-o", "-", str(KERNELS)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{arch}: {result.stderr}")
    return result.stdout


def check_loads(bodies):
    """What does not load as it is counted."""
    failures = []
    for kernel, (pattern, least) in LOADS.items():
        count = len(re.findall(pattern, bodies[kernel], re.M))
        if count < least:
            failures.append(f"{kernel} has {count} times {pattern}, expected {least}")
        everything = len(re.findall(OTHER_LOADS.get(kernel, pattern), bodies[kernel], re.M))
        if everything != count:
            failures.append(f"{kernel} has {everything - count} other loads")
    return failures


def main():
    clang = find_clang()
    if clang is None:
        print("skipped: no Clang that knows AMD GPUs")
        return SKIPPED
    failures = []
    for arch, expected in EXPECTED.items():
        text = assembly(clang, arch)
        # From the label of a kernel to the end of its function.
        bodies = dict(re.findall(r"^(\w+):.*?\n(.*?)\n\.Lfunc_end", text, re.S | re.M))
        found = {name for name in bodies if name.startswith("mma_")}
        if found != set(expected):
            failures.append(f"{arch}: kernels {sorted(found)}, expected {sorted(expected)}")
        for kernel, instruction in expected.items():
            count = len(re.findall("v_mfma_\\w*" + instruction + r"\b", bodies.get(kernel, "")))
            if count != 4:
                failures.append(f"{arch}: {kernel} has {count} times {instruction}, expected 4")
            shape = re.search(r"_m(\d+)n(\d+)k(\d+)$", kernel).groups()
            if "x".join(shape) not in instruction:
                failures.append(f"{arch}: {kernel} runs {instruction}")
        failures += [f"{arch}: {failure}" for failure in check_loads(bodies)]
    print("\n".join(failures) or "ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
