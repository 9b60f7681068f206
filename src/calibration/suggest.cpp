// SPDX-License-Identifier: Apache-2.0
#include "calibration/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "calibration/calibrate.h"
#include "calibration/plain_rows.h"
#include "cost/learned/calibrated.h"
#include "cost/learned/classes.h"
#include "ops/any_op.h"

namespace rooftile::calibration {

namespace {

using cost::learned::KernelPoint;

struct Candidate {
  SuggestedKernel kernel;
  KernelPoint point;
};

/// Kernels of everyday models, by name and shape: small ones whose launch shows, ones that stream
/// their operands, ones that compute.
struct NamedShapes {
  const char* kernel;
  std::vector<const char*> shapes;
};

const std::vector<NamedShapes>& product_shapes() {
  static const std::vector<NamedShapes> kShapes{
      {"gemm",
       {"16x1024x1024", "1x4096x4096", "1x14336x4096", "8x4096x14336", "64x6144x4096",
        "128x4096x4096", "128x28672x4096", "512x1024x8192", "512x4096x4096", "1024x1024x1024",
        "1024x28672x4096", "2048x4096x4096", "2048x2048x16384", "4096x4096x4096", "4096x4096x14336",
        "8192x8192x8192", "8192x1280x8192", "333x5000x1000"}},
      {"gemm", {"16x512x512x64", "128x1024x128x1024", "512x128x128x64"}},
  };
  return kShapes;
}
const std::vector<NamedShapes>& attention_shapes() {
  static const std::vector<NamedShapes> kShapes{
      {"attention",
       {"1x32/8x128x128x128", "1x32/8x1024x1024x128", "4x32/32x2048x2048x64",
        "1x32/8x8192x8192x128", "8x16/16x512x512x64", "1x32/8x1x1024x128", "8x32/8x1x2048x128",
        "64x32/8x1x1024x128", "64x8/1x1x8192x128", "128x32/32x1x1024x64", "1x64/8x1x32768x128"}}};
  return kShapes;
}
const std::vector<NamedShapes>& vector_shapes() {
  static const std::vector<NamedShapes> kShapes{
      {"add", {"64x1024", "1024x4096", "16384x4096", "65536x4096"}},
      {"gelu", {"2048x14336"}},
      {"softmax", {"512x128", "16384x1024", "65536x2048"}},
      {"layernorm", {"128x1024", "16384x1024", "32768x4096"}}};
  return kShapes;
}

class Candidates {
 public:
  Candidates(const hardware::Machine& machine, const cost::Predictor& predictor)
      : machine_(machine), predictor_(predictor), estimator_(predictor.on(machine)) {}

  void add(const std::vector<NamedShapes>& list, DType dtype) {
    for (const NamedShapes& named : list) {
      for (const char* shape : named.shapes) add(named.kernel, shape, dtype);
    }
  }
  std::vector<Candidate> take() { return std::move(list_); }

 private:
  void add(const char* kernel, const char* shape, DType dtype) {
    const auto op = plain_operator(kernel, shape);
    if (!op || !ops::check(*op)) return;
    ops::KernelList works;
    ops::forward(*op, {.precision = ops::precision_of(dtype)}, works);
    const ops::KernelWork& work = works.front();
    const double room = machine_.gpu.dram.size ? machine_.gpu.dram.size->base() / 8 : 1e9;
    if (work.bytes().base() > room) return;
    const auto one = calibration_case(
        {.work = work, .seconds = 1, .setting = cost::Setting::InStream}, predictor_, estimator_);
    const auto job = estimator_.bind(work);
    if (!one || !job) return;  // the GPU has no such rate
    const cost::Estimate estimate = estimator_.estimate(*job);
    constexpr double kLongest = 50e-3;  // a minute for all of them
    if (one->predicted > kLongest) return;
    Candidate candidate;
    candidate.kernel = {.kernel = kernel,
                        .shape = shape,
                        .dtype = std::string(name_of(dtype)),
                        .family = std::string(one->point.family),
                        .limiter = std::string(name_of(estimate.limiter())),
                        .predicted_ms = estimate.time.base() * 1e3};
    candidate.point = one->point;
    list_.push_back(std::move(candidate));
  }

  const hardware::Machine& machine_;
  const cost::Predictor& predictor_;
  cost::Estimator estimator_;
  std::vector<Candidate> list_;
};

/// Number formats that people run products in, best first: a 16-bit one, 8 bits, FP32.
std::vector<DType> product_formats(const hardware::Machine& machine) {
  std::vector<DType> formats;
  const auto tensor = [&](DType dtype) {
    return machine.rate(dtype, hardware::Pipe::Tensor).has_value();
  };
  if (tensor(DType::Bf16)) {
    formats.push_back(DType::Bf16);
  } else if (tensor(DType::Fp16)) {
    formats.push_back(DType::Fp16);
  }
  if (tensor(DType::Fp8E4m3)) formats.push_back(DType::Fp8E4m3);
  formats.push_back(DType::Fp32);
  return formats;
}

double left_variance(const cost::learned::Calibrated& posterior, const KernelPoint& point) {
  const double width = posterior.at(point).half_width.value_or(0.0);
  return width * width;
}

constexpr std::string_view kScriptHead = R"(#!/usr/bin/env python3
# Times kernels with PyTorch for `rooftile calibrate`:
#   python3 bench.py > measured.csv
#   rooftile calibrate measured.csv --gpu @GPU@ -o machine.json
# Every kernel runs in a stream of its like over several copies of its operands, so that they come
# from DRAM; the median of five series counts.
import sys
import time

import torch
import torch.nn.functional as F

KERNELS = [
)";

constexpr std::string_view kScriptBody = R"(]
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
QUICK = "--quick" in sys.argv  # every kernel once: a test of this script
FORMATS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
           "fp8_e4m3": getattr(torch, "float8_e4m3fn", None)}
torch.backends.cuda.matmul.allow_tf32 = False


def operands(kernel, shape, dtype):
    sizes = [int(size) for size in shape.replace("/", "x").split("x")]
    if kernel == "gemm":
        batch = sizes[:-3]
        m, n, k = sizes[-3:]
        shapes = [batch + [m, k], batch + [k, n]]
    elif kernel == "attention":
        b, heads, kv, queries, keys, width = sizes
        shapes = [[b, heads, queries, width], [b, kv, keys, width], [b, kv, keys, width]]
    else:
        shapes = [sizes, sizes] if kernel == "add" else [sizes]
    tensors = [torch.randn(s, device=DEVICE) * 0.1 for s in shapes]
    if dtype == "fp8_e4m3":  # the second operand is column-major
        return [tensors[0].to(FORMATS[dtype]), tensors[1].t().contiguous().to(FORMATS[dtype]).t()]
    return [tensor.to(FORMATS[dtype]) for tensor in tensors]


def attention(q, k, v):
    if q.shape[1] != k.shape[1]:  # the queries of a group share keys and values
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)


def scaled(a, b):
    one = torch.ones((), device=DEVICE)
    return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def function(kernel, dtype):
    if kernel == "gemm":
        return scaled if dtype == "fp8_e4m3" else torch.matmul
    return {"attention": attention, "add": torch.add, "gelu": F.gelu,
            "softmax": lambda x: F.softmax(x, -1),
            "layernorm": lambda x: F.layer_norm(x, x.shape[-1:])}[kernel]


def series(call, copies, calls):
    if not CUDA:
        begin = time.perf_counter()
        for i in range(calls):
            call(*copies[i % len(copies)])
        return (time.perf_counter() - begin) * 1e3 / calls
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for i in range(calls):
        call(*copies[i % len(copies)])
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / calls


def measure(kernel, shape, dtype):
    call = function(kernel, dtype)
    first = operands(kernel, shape, dtype)
    size = sum(tensor.numel() * tensor.element_size() for tensor in first)
    copies = [first]
    while not QUICK and len(copies) < 32 and (len(copies) + 1) * size < 512e6:
        copies.append([tensor.clone() for tensor in first])
    if QUICK:
        return series(call, copies, 1)
    once = max(series(call, copies, 3), 1e-3)
    calls = max(5, min(1000, int(50 / once)))
    return sorted(series(call, copies, calls) for _ in range(5))[2]


print("kernel,shape,dtype,latency_ms")
with torch.no_grad():
    for kernel, shape, dtype in KERNELS:
        try:
            print(f"{kernel},{shape},{dtype},{measure(kernel, shape, dtype):.6g}", flush=True)
        except (RuntimeError, AttributeError, TypeError, NotImplementedError) as error:
            reason = (str(error).splitlines() or ["no reason given"])[0]
            print(f"left out {kernel} {shape} {dtype}: {reason}", file=sys.stderr)
)";

}  // namespace

std::vector<SuggestedKernel> suggest_kernels(const hardware::Machine& machine,
                                             const cost::Predictor& predictor, std::size_t count) {
  Candidates candidates(machine, predictor);
  const std::vector<DType> formats = product_formats(machine);
  for (const DType dtype : formats) candidates.add(product_shapes(), dtype);
  if (formats.front() != DType::Fp32) candidates.add(attention_shapes(), formats.front());
  candidates.add(vector_shapes(), formats.front());
  std::vector<Candidate> open = candidates.take();
  hardware::Calibration known = uncalibrated(predictor, cost::learned::kClasses);
  std::set<std::pair<std::string, std::string>> covered;
  std::vector<SuggestedKernel> chosen;
  while (chosen.size() < count && !open.empty()) {
    const cost::learned::Calibrated posterior(known);
    std::size_t best = 0;
    double most = -1;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const SuggestedKernel& kernel = open[i].kernel;
      // A new family with a new limiter counts more than any variance.
      const double fresh = covered.contains({kernel.family, kernel.limiter}) ? 0.0 : 1e3;
      const double told = fresh + left_variance(posterior, open[i].point);
      if (told > most) most = told, best = i;
    }
    Candidate next = std::move(open[best]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(best));
    covered.insert({next.kernel.family, next.kernel.limiter});
    next.kernel.unknown = std::sqrt(std::max(left_variance(posterior, next.point), 0.0));
    known.rows.push_back({.family = std::string(next.point.family),
                          .at = next.point.at,
                          .shares = next.point.shares});
    chosen.push_back(std::move(next.kernel));
  }
  return chosen;
}

std::string bench_script(const std::vector<SuggestedKernel>& kernels, const std::string& gpu) {
  std::string text(kScriptHead);
  constexpr std::string_view kMark = "@GPU@";
  text.replace(text.find(kMark), kMark.size(), gpu);
  for (const SuggestedKernel& kernel : kernels)
    text +=
        fmt::format("    (\"{}\", \"{}\", \"{}\"),\n", kernel.kernel, kernel.shape, kernel.dtype);
  return text + std::string(kScriptBody);
}

}  // namespace rooftile::calibration
