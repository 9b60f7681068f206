#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the machine code of the GPU kernels do what is counted?

For every kernel the loop that is counted is in a summary, tests/gpu/machine_code/<target>.txt: its
instructions by name and number. The summaries are made from what ptxas (CUDA) and Clang (HIP) generate,
and are compared with the work that gpu_device.cpp counts per pass, also where there is no compiler.
Where there is one, the summary must be current:

    check_machine_code.py PROGRAM [--update]     PROGRAM prints the PTX of a compute capability
"""

import argparse
import collections
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import gcn
import sass

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "src"
GPU = SOURCE / "characterize/gpu"

# Target -> compute capability of its text. The compiler no longer knows sm_70: its text is compiled for
# the next architecture, which only shows that it is well formed.
CUDA = {"sm_75": (7, 5), "sm_80": (8, 0), "sm_89": (8, 9), "sm_90a": (9, 0), "sm_100a": (10, 0),
        "sm_103a": (10, 3), "sm_120": (12, 0)}
HIP = ["gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030"]

# Operation (low 9 bits of the opcode) -> name. Found by compiling single instructions with ptxas 13.0 and
# looking at what appeared in the code.
OPERATIONS = {
    0x181: "LDG", 0x186: "STG", 0x184: "LDS", 0x023: "FFMA", 0x02B: "DFMA", 0x031: "HFMA2", 0x03C: "HMMA",
    0x037: "IMMA", 0x03F: "DMMA", 0x07A: "QMMA", 0x1F0: "HGMMA", 0x1F1: "IGMMA", 0x1F3: "QGMMA",
    0x1EA: "UTCMMA", 0x147: "BRA", 0x118: "NOP",
}


def sizes():
    """The constants of kernel_sizes.h."""
    text = (GPU / "kernel_sizes.h").read_text()
    return {name: int(value) for name, value in re.findall(r"unsigned (k\w+) = (\d+);", text)}


K = sizes()


def cuda_counts(kernel, target):
    """Operation -> how often the counted loop has it; the first one is what is measured."""
    if kernel.startswith("stream_"):
        loads = {"load": 1, "store": 0, "copy": 1, "triad": 2}[kernel.split("_")[1]] * K["kVectors"]
        stores = 0 if kernel == "stream_load" else K["kVectors"]
        counts = {"LDG": loads, "STG": stores}
        if "triad" in kernel:
            counts["DFMA"] = 2 * K["kVectors"]  # two elements in each vector
        return {name: n for name, n in counts.items() if n} if loads else {"STG": stores}
    if kernel.startswith("update_"):
        operation, per_vector = {"fp64": ("DFMA", 2), "fp32": ("FFMA", 4), "fp16": ("HFMA2", 4),
                                 "bf16": ("HFMA2", 4)}[kernel[7:]]
        return {operation: K["kLinks"] * per_vector * K["kVectors"]}
    if kernel == "l1_load":
        return {"LDG": K["kL1Loads"]}
    if kernel == "shared_load":
        return {"LDS": K["kVectors"]}
    if kernel == "chase":
        return {"LDG": K["kChaseUnroll"]}
    family, dtype = re.match(r"(mma|sparse|wgmma_sparse|wgmma|tcgen05_sparse|tcgen05)_(fp\d+|bf16|tf32|int8)",
                             kernel).groups()
    if family.startswith("tcgen05"):
        return {"UTCMMA": 16}
    if family.startswith("wgmma"):
        return {{"int8": "IGMMA", "fp8": "QGMMA"}.get(dtype, "HGMMA"): 16}
    operation = {"int8": "IMMA", "fp64": "DMMA", "fp8": "QMMA"}.get(dtype, "HMMA")
    # Blackwell has no FP64 product of this size: ptxas makes eight of each.
    wide = kernel == "mma_fp64_m16n8k16" and target in ("sm_100a", "sm_103a", "sm_120")
    return {operation: 32 * (8 if wide else 1)}


def hip_counts(kernel):
    if kernel.startswith("stream_"):
        loads = {"load": 1, "store": 0, "copy": 1, "triad": 2}[kernel.split("_")[1]] * K["kVectors"]
        stores = 0 if kernel == "stream_load" else K["kVectors"]
        counts = {"global_load_dwordx4": loads, "global_store_dwordx4": stores}
        return {name: n for name, n in counts.items() if n}
    if kernel.startswith("update_"):
        # 64 bytes in FP64, in pairs of FP32, in pairs of FP16.
        return {"fma": K["kLinks"] * {"update_fp64": 8, "update_fp32": 8, "update_fp16": 16}[kernel]}
    if kernel == "l1_load":
        return {"global_load_dwordx4": K["kL1Loads"]}
    if kernel == "shared_load":
        return {"lds": K["kVectors"]}
    if kernel == "chase":
        return {"global_load_dwordx2": K["kChaseUnroll"]}
    return {"mfma": 32}


NOT_COUNTED = {"empty", "observe_clock"}


def chosen_loop(loops, names, operation, least):
    """The smallest loop with at least so many of the operation."""
    fitting = [(last - first, first, last) for first, last in loops
               if sum(name == operation for name in names[first:last + 1]) >= least]
    return min(fitting)[1:] if fitting else None


def summary_line(kernel, names):
    counts = collections.Counter(names)
    return f"{kernel} {len(names)} " + " ".join(f"{n}={c}" for n, c in sorted(counts.items()))




def operation_name(word):
    name = OPERATIONS.get(word & 0x1FF, "other")
    # A product with the register that is always zero is how a constant gets into a register.
    is_move = name == "HFMA2" and word >> 24 & 0xFF == 0xFF
    return "other" if is_move else name


def cuda_summary(target, program):
    major, minor = CUDA[target]
    text = subprocess.run([program, str(major), str(minor)], check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        source, code = Path(folder, "k.ptx"), Path(folder, "k.cubin")
        source.write_bytes(text)
        result = subprocess.run([find_ptxas(), "-O3", f"-arch={target}", "-v", "-o", code, source],
                                capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{target}: {result.stderr}")
        spills = re.findall(r"[1-9]\d* bytes spill", result.stderr)
        if spills or "serialized" in result.stderr:
            sys.exit(f"{target}: registers spill or products are serialized\n{result.stderr}")
        kernels = sass.kernels(code.read_bytes())
    lines = []
    for name, kernel in sorted(kernels.items()):
        if name in NOT_COUNTED:
            continue
        names = [operation_name(word) for word in kernel.words]
        operation, count = next(iter(cuda_counts(name, target).items()))
        loop = chosen_loop(kernel.loops(), names, operation, count)
        lines.append(summary_line(name, names[loop[0]:loop[1] + 1]) if loop else f"{name} none")
    return lines


FMA = re.compile(r"v_(pk_)?fma(c)?_f(16|32|64)")


def hip_name(line, kernel):
    """Instructions by their name; those that count have the same name on all architectures."""
    name = line.split()[0]
    if FMA.match(name) and kernel.startswith("update_"):
        return "fma"
    if name.startswith(("ds_read_b128", "ds_load_b128")):
        return "lds"
    if re.match(r"v_s?mfmac?_", name):
        return name
    return name if name.startswith(("global_", "flat_")) else "other"


def find_ptxas():
    return shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")


def find_clang():
    for name in ("clang++-19", "clang++"):
        path = shutil.which(name)
        if path and "amdgcn" in subprocess.run([path, "--print-targets"], capture_output=True,
                                               text=True).stdout:
            return path
    return None


def hip_summary(target, clang):
    command = [clang, "-x", "hip", "--cuda-device-only", f"--offload-arch={target}", "-nogpulib", "-nogpuinc",
               "-std=c++17", "-O3", "-S", "-I", str(SOURCE), "-o", "-", str(GPU / "kernels.hip")]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{target}: {result.stderr}")
    if re.search(r"ScratchSize: [1-9]", result.stdout):
        sys.exit(f"{target}: registers spill")
    lines = []
    for kernel, code in sorted(gcn.kernels(result.stdout).items()):
        if kernel in NOT_COUNTED:
            continue
        names = ["label" if line.endswith(":") else hip_name(line, kernel) for line in code]
        plain = ["mfma" if re.match(r"v_s?mfmac?_", name) else name for name in names]
        operation, count = next(iter(hip_counts(kernel).items()))
        loop = chosen_loop(gcn.loops(code), plain, operation, count)
        body = [n for n in names[loop[0]:loop[1] + 1] if n != "label"] if loop else []
        lines.append(summary_line(kernel, body) if loop else f"{kernel} none")
    return lines


def check_summary(target, lines):
    """What differs from the counted work."""
    failures = []
    for line in lines:
        kernel, total, *rest = line.split()
        if total == "none":
            failures.append(f"{target}: {kernel} has no loop with what is counted")
            continue
        found = collections.Counter()
        for item in rest:
            name, count = item.split("=")
            found["mfma" if re.match(r"v_s?mfmac?_", name) else name] += int(count)
        expected = hip_counts(kernel) if target.startswith("gfx") else cuda_counts(kernel, target)
        if target in ("gfx906", "gfx908", "gfx1030") and kernel == "update_fp32":
            expected = {"fma": 2 * expected["fma"]}  # no packed FP32
        memory = {n for n in found if n.startswith(("global_", "flat_", "LD", "ST", "lds"))}
        for name in set(expected) | memory:
            if found[name] != expected.get(name, 0) and not (name in memory and name not in expected
                                                             and found[name] == 0):
                failures.append(f"{target}: {kernel} has {found[name]} {name}, {expected.get(name, 0)} "
                                "are counted")
        if kernel.startswith("update_"):
            # Where FP64 has few units, ptxas waits between its instructions.
            share = next(iter(expected.values())) / (int(total) - found["NOP"])
            if share < 0.97:
                failures.append(f"{target}: {share:.1%} of the loop of {kernel} are FMAs")
        shape = re.search(r"_m(\d+)n(\d+)k(\d+)$", kernel)
        instruction = [item for item in rest if re.match(r"v_s?mfmac?_", item)]
        if instruction and "x".join(shape.groups()) not in instruction[0]:
            failures.append(f"{target}: {kernel} runs {instruction[0]}")
    return failures


# What the formats of a target must have: without it a peak would be missing without a word.
REQUIRED = {
    "sm_80": ["mma_fp16_m16n8k16", "mma_fp64_m8n8k4", "sparse_fp16_m16n8k32", "sparse_int8_m16n8k64"],
    "sm_89": ["mma_fp8_e4m3_m16n8k32", "sparse_fp8_e4m3_m16n8k64"],
    "sm_90a": ["wgmma_fp16_m64n256k16", "wgmma_fp8_e4m3_m64n256k32", "wgmma_sparse_fp16_m64n256k32",
               "mma_fp16_m16n8k16", "mma_fp64_m16n8k16"],
    "sm_100a": ["tcgen05_fp16_m128n256k16", "tcgen05_fp8_e4m3_m128n256k32", "tcgen05_int8_m128n256k32",
                "tcgen05_sparse_fp16_m128n256k32", "mma_fp16_m16n8k16"],
    "gfx90a": ["mfma_fp16_m32n32k8", "mfma_bf16_m32n32k8", "mfma_fp64_m16n16k4"],
    "gfx942": ["mfma_fp16_m32n32k8", "mfma_fp8_e4m3_m32n32k16", "mfma_tf32_m32n32k4",
               "smfmac_fp16_m32n32k16"],
}
EVERYWHERE = ["stream_load", "stream_store", "stream_copy", "stream_triad", "stream_store_nt", "l1_load",
              "shared_load", "chase", "update_fp64", "update_fp32", "update_fp16"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--update", action="store_true", help="write the summaries")
    args = parser.parse_args()
    ptxas, clang = find_ptxas(), find_clang()
    failures, skipped = [], []
    for target in list(CUDA) + HIP:
        file = HERE / "machine_code" / f"{target}.txt"
        is_cuda = target.startswith("sm_")
        current = None
        if ptxas and is_cuda:
            current = cuda_summary(target, args.program)
        elif clang and not is_cuda:
            current = hip_summary(target, clang)
        else:
            skipped.append(target)
        if args.update and current:
            file.parent.mkdir(exist_ok=True)
            file.write_text("\n".join(current) + "\n")
        lines = file.read_text().splitlines()
        if current is not None and current != lines:
            failures.append(f"{target}: {file.name} is not current; tests/gpu/check_machine_code.py --update "
                            "writes it (another version of the compiler may generate other code)")
            failures += check_summary(target, current)
        failures += check_summary(target, lines)
        kernels = {line.split()[0] for line in lines}
        failures += [f"{target}: there is no {kernel}" for kernel in EVERYWHERE + REQUIRED.get(target, [])
                     if kernel not in kernels]
    if ptxas:  # well-formed text for Volta, which the compiler no longer targets
        text = subprocess.run([args.program, "7", "0"], check=True, capture_output=True).stdout
        result = subprocess.run([find_ptxas(), "-arch=sm_75", "-o", "/dev/null", "-"], input=text,
                                capture_output=True)
        failures += [f"sm_70: {result.stderr.decode()}"] if result.returncode else []
    if skipped:
        print("not compiled here (no ptxas or no Clang for AMD GPUs), only their summaries were checked: "
              + ", ".join(skipped))
    print("\n".join(dict.fromkeys(failures)) or "ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
