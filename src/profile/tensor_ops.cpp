// SPDX-License-Identifier: Apache-2.0
#include "profile/tensor_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "profile/formula.h"

namespace rooftile::profile {

namespace {

using hardware::Pipe;
using hardware::RateKey;

constexpr std::string_view kOps = "sm__ops_path_tensor_";
constexpr std::string_view kInst = "inst_executed_pipe_tensor";
constexpr std::string_view kMops = "SQ_INSTS_VALU_MFMA_MOPS_";

/// How the counter was collected: totals, or rates that need the time.
struct Rollup {
  std::string_view suffix;
  Scale scale;
  std::string_view text;
};
constexpr std::array<Rollup, 3> kRollups{
    {{".sum", Scale::None, ""},
     {".sum.per_cycle_elapsed", Scale::ClockTime, " * clock * time"},
     {".sum.per_second", Scale::Time, " * time"}}};

/// sm__ops_path_tensor_[op_X_]src_S[_dst_D][_sparsity_on|off].sum
struct OpsName {
  std::string_view op, src, dst, sparsity;
};

std::optional<OpsName> parse_ops(std::string_view metric, std::string_view suffix) {
  if (!metric.starts_with(kOps) || !metric.ends_with(suffix)) return std::nullopt;
  std::string_view text = metric.substr(kOps.size(), metric.size() - kOps.size() - suffix.size());
  if (text.find('.') != std::string_view::npos) return std::nullopt;
  if (text.ends_with("_realtime")) return std::nullopt;
  OpsName name;
  for (const std::string_view sparsity : {"_sparsity_on", "_sparsity_off"}) {
    if (!text.ends_with(sparsity)) continue;
    name.sparsity = sparsity.substr(1);
    text.remove_suffix(sparsity.size());
  }
  if (text.starts_with("op_")) {
    const std::size_t src = text.find("_src_");
    if (src == std::string_view::npos) return std::nullopt;
    name.op = text.substr(3, src - 3);
    text = text.substr(src + 1);
  }
  if (!text.starts_with("src_")) return std::nullopt;
  text.remove_prefix(4);
  const std::size_t dst = text.find("_dst_");
  name.src = text.substr(0, dst);
  if (dst != std::string_view::npos) name.dst = text.substr(dst + 5);
  return name;
}

DType source_dtype(std::string_view src) {
  if (src.starts_with("bf16")) return DType::Bf16;
  if (src.starts_with("tf32")) return DType::Tf32;
  if (src.starts_with("fp64")) return DType::Fp64;
  if (src.find("fp8") != std::string_view::npos) return DType::Fp8E4m3;
  if (src.starts_with("fp4")) return DType::Fp4;
  if (src.starts_with("int")) return DType::Int8;  // int4 and int1 have no rate of their own
  return DType::Fp16;
}

/// True when `a` is part of the total `b`.
bool part_of(const OpsName& a, const OpsName& b) {
  const bool same = a.op == b.op && a.dst == b.dst && a.sparsity == b.sparsity;
  return !same && a.src == b.src && (b.op.empty() || b.op == a.op) &&
         (b.dst.empty() || b.dst == a.dst) && (b.sparsity.empty() || b.sparsity == a.sparsity);
}

std::optional<TensorOps> from_ops_counters(const KernelSeries& kernel, const Rollup& rollup,
                                           const KernelTime* time) {
  std::vector<std::pair<OpsName, const Column*>> found;
  for (const Column& column : kernel.columns) {
    const auto name = parse_ops(column.metric, rollup.suffix);
    if (name && !column.values.empty()) found.emplace_back(*name, &column);
  }
  if (found.empty()) return std::nullopt;
  TensorOps result;
  for (const auto& [name, column] : found) {
    const bool part = std::any_of(found.begin(), found.end(), [&, &mine = name](const auto& other) {
      return part_of(mine, other.first);
    });
    if (part) continue;
    const auto sum = sum_of_rate(*column, kernel, rollup.scale, time);
    if (!sum) return std::nullopt;
    result.ops[RateKey{source_dtype(name.src), Pipe::Tensor}] += *sum;
    result.partial = result.partial || column->missing > 0;
    result.text += (result.text.empty() ? "" : " + ") + column->metric + std::string(rollup.text);
  }
  return result;
}

std::optional<TensorOps> from_amd(const KernelSeries& kernel) {
  static constexpr std::array<std::pair<std::string_view, DType>, 7> kTypes{{{"F16", DType::Fp16},
                                                                             {"BF16", DType::Bf16},
                                                                             {"F32", DType::Fp32},
                                                                             {"F64", DType::Fp64},
                                                                             {"F8", DType::Fp8E4m3},
                                                                             {"F6F4", DType::Fp4},
                                                                             {"I8", DType::Int8}}};
  TensorOps result;
  for (const auto& [suffix, dtype] : kTypes) {
    const Column* column = kernel.find(fmt::format("{}{}", kMops, suffix));
    if (column == nullptr || column->values.empty()) continue;
    result.ops[RateKey{dtype, Pipe::Tensor}] += 512.0 * column->sum();
    result.partial = result.partial || column->missing > 0;
    result.text += fmt::format("{}512 * {}", result.text.empty() ? "" : " + ", column->metric);
  }
  if (result.ops.empty()) return std::nullopt;
  return result;
}

struct Shape {
  std::string_view token;  ///< in the kernel's name
  DType dtype;
  double ops;  ///< per warp instruction
};

// m n k of the instruction, times 2; Volta's 884 runs as four steps (two for FP16 accumulation).
constexpr std::array<Shape, 9> kShapes{{{"tf32_s1688", DType::Tf32, 2048},
                                        {"s1684", DType::Tf32, 1024},
                                        {"s16816", DType::Fp16, 4096},
                                        {"h16816", DType::Fp16, 4096},
                                        {"s1688", DType::Fp16, 2048},
                                        {"h1688", DType::Fp16, 2048},
                                        {"i16832", DType::Int8, 8192},
                                        {"i8816", DType::Int8, 2048},
                                        {"d884", DType::Fp64, 512}}};

std::optional<Shape> shape_in_name(std::string_view kernel) {
  const std::string name = to_lower(kernel);
  for (const Shape& shape : kShapes) {
    if (name.find(shape.token) == std::string::npos) continue;
    Shape found = shape;
    if (found.dtype == DType::Fp16 && name.find("bf16") != std::string::npos) {
      found.dtype = DType::Bf16;
    }
    if (shape.token == "s1688" && name.find("tf32") != std::string::npos) found.dtype = DType::Tf32;
    return found;
  }
  if (name.find("s884") != std::string::npos) return Shape{"s884", DType::Fp16, 512};
  if (name.find("h884") != std::string::npos) return Shape{"h884", DType::Fp16, 1024};
  return std::nullopt;
}

/// The plain instruction count, or the sum of its parts.
struct InstCount {
  double count = 0.0;
  std::string text;
  bool partial = false;
};

std::optional<InstCount> instructions(const KernelSeries& kernel) {
  for (const std::string_view prefix : {"sm__", "smsp__"}) {
    const Column* total = kernel.find(fmt::format("{}{}.sum", prefix, kInst));
    if (total != nullptr && !total->values.empty()) {
      return InstCount{total->sum(), total->metric, total->missing > 0};
    }
    InstCount sum;
    for (const std::string_view part : {"_op_hmma", "_op_imma", "_op_dmma", "_op_gmma",
                                        "_subpipe_hmma", "_subpipe_imma", "_subpipe_dmma"}) {
      const Column* column = kernel.find(fmt::format("{}{}{}.sum", prefix, kInst, part));
      if (column == nullptr || column->values.empty()) continue;
      sum.count += column->sum();
      sum.text += (sum.text.empty() ? "" : " + ") + column->metric;
      sum.partial = sum.partial || column->missing > 0;
    }
    if (!sum.text.empty()) return sum;
  }
  return std::nullopt;
}

std::optional<TensorOps> from_instructions(const KernelSeries& kernel,
                                           const TensorQuestion& question) {
  const auto inst = instructions(kernel);
  if (!inst) return std::nullopt;
  constexpr double kAuthors = 512;  // of Volta
  const Counting& counting = question.counting;
  const bool alike = counting.facts && counting.facts->tensor_instruction_flop;
  TensorOps result;
  if (inst->count == 0.0) {
    result.ops[RateKey{DType::Fp16, Pipe::Tensor}] = 0.0;
    result.text = inst->text + " (zero)";
    result.partial = inst->partial;
    return result;
  }
  Shape shape{"", DType::Fp16, kAuthors};
  if (alike && !question.always_512) shape.ops = *counting.facts->tensor_instruction_flop;
  const auto named = question.always_512 ? std::nullopt : shape_in_name(kernel.name);
  if (named) {
    shape = *named;
  } else if (!alike && !counting.isa.empty()) {
    return std::nullopt;
  }
  result.ops[RateKey{shape.dtype, Pipe::Tensor}] = shape.ops * inst->count;
  const bool sum = inst->text.find('+') != std::string::npos;
  result.text = fmt::format(fmt::runtime(sum ? "{} * ({})" : "{} * {}"), shape.ops, inst->text);
  if (!shape.token.empty()) result.text += fmt::format(" (kernel names with {})", shape.token);
  result.assumed_volta = counting.isa.empty() && !named;
  result.partial = inst->partial;
  return result;
}

}  // namespace

bool is_tensor_counter(std::string_view metric) {
  if (metric.starts_with(kMops)) return true;
  if (metric.starts_with(kOps)) {
    return metric.ends_with(".sum.peak_sustained") ||
           std::any_of(kRollups.begin(), kRollups.end(),
                       [metric](const Rollup& rollup) { return metric.ends_with(rollup.suffix); });
  }
  const std::size_t at = metric.find(kInst);
  return at != std::string_view::npos && metric.ends_with(".sum") &&
         (metric.starts_with("sm__") || metric.starts_with("smsp__"));
}

std::optional<TensorOps> tensor_ops(const KernelSeries& kernel, const TensorQuestion& question) {
  for (const Rollup& rollup : kRollups) {
    if (auto ops = from_ops_counters(kernel, rollup, question.time)) return ops;
  }
  if (auto ops = from_amd(kernel)) return ops;
  return from_instructions(kernel, question);
}

bool tensor_shape_unknown(const KernelSeries& kernel, const TensorQuestion& question) {
  const auto inst = instructions(kernel);
  return inst && inst->count > 0.0 && !tensor_ops(kernel, question);
}

bool is_tensor_share(std::string_view metric) {
  return metric.find("pipe_tensor") != std::string_view::npos &&
         metric.find(".avg.pct_of_peak_sustained") != std::string_view::npos;
}

bool tensor_units_were_busy(const KernelSeries& kernel) {
  return std::any_of(kernel.columns.begin(), kernel.columns.end(), [](const Column& column) {
    return is_tensor_share(column.metric) && column.sum() > 0.0;
  });
}

std::optional<RateKey> tensor_peak(std::string_view metric) {
  const auto name = parse_ops(metric, ".sum.peak_sustained");
  if (!name || name->sparsity == "sparsity_on") return std::nullopt;
  // INT4 and INT1 run faster than INT8 and have no roof of their own.
  if (name->src.starts_with("int") && name->src != "int8") return std::nullopt;
  return RateKey{source_dtype(name->src), Pipe::Tensor};
}

bool name_says_tensor(std::string_view kernel) {
  const std::string name = to_lower(kernel);
  // cuBLAS, cuDNN and CUTLASS of all generations: "s884", "s16816gemm", "tensorop", "hmma";
  // "tensor16x8x8" names the instruction; Hopper's products are run by groups of warps.
  static constexpr std::array<std::string_view, 22> kWords{
      "hmma",  "tensorop",   "s884",      "h884",      "s1688",     "h1688",
      "16816", "16832",      "i8816",     "gmma",      "wgmma_",    "_mma_",
      "wmma",  "mma_tensor", "_tensor8x", "_tensor16", "_tensor64", "warpgroup",
      "nvjet", "flash_fwd",  "flash_bwd", "fmha"};
  return std::any_of(kWords.begin(), kWords.end(), [&name](std::string_view word) {
    return name.find(word) != std::string::npos;
  });
}

}  // namespace rooftile::profile
