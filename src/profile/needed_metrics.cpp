// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "profile/evaluate.h"

namespace rooftile::profile {

namespace {

std::vector<std::string> amd_metrics(std::string_view isa) {
  std::vector<std::string> metrics;
  for (const std::string_view type : {"F16", "F32", "F64"}) {
    for (const std::string_view op : {"ADD", "MUL", "FMA", "TRANS"}) {
      metrics.push_back(fmt::format("SQ_INSTS_VALU_{}_{}", op, type));
    }
    metrics.push_back(fmt::format("SQ_INSTS_VALU_MFMA_MOPS_{}", type));
  }
  metrics.emplace_back("SQ_INSTS_VALU_MFMA_MOPS_BF16");
  metrics.emplace_back("TCP_TOTAL_CACHE_ACCESSES_sum");
  for (const std::string_view request :
       {"READ", "WRITE", "ATOMIC_WITH_RET", "ATOMIC_WITHOUT_RET"}) {
    metrics.push_back(fmt::format("TCP_TCC_{}_REQ_sum", request));
  }
  const bool mi300 = isa.starts_with("gfx94") || isa.starts_with("gfx95");
  for (const std::string_view request : {"RDREQ", "RDREQ_32B", "WRREQ", "WRREQ_64B"}) {
    metrics.push_back(fmt::format("TCC_EA{}_{}_sum", mi300 ? "0" : "", request));
  }
  if (mi300) metrics.emplace_back("TCC_BUBBLE_sum");
  return metrics;
}

/// Base names as the CUPTI host library lists them per chip (tests check that).
std::vector<std::string_view> tensor_metrics(std::string_view isa) {
  if (isa.starts_with("7.5")) {
    return {"src_fp16_bf16_tf32_dst_fp32", "src_fp16_dst_fp16", "src_int8"};
  }
  if (isa.starts_with("7")) return {"src_fp16_dst_fp32", "src_fp16_dst_fp16"};
  if (isa.starts_with("9.")) {
    return {"src_fp16", "src_bf16_dst_fp32", "src_tf32_dst_fp32",
            "src_fp8",  "src_fp64",          "src_int8"};
  }
  if (isa.starts_with("10.")) {
    return {"src_fp16_dst_fp32",
            "src_fp16_dst_fp16",
            "src_bf16_dst_fp32",
            "src_tf32_dst_fp32",
            "src_fp4_fp6_fp8_dst_fp32",
            "src_fp4_fp6_fp8_dst_fp16",
            "src_fp4_dst_fp32",
            "src_fp64",
            "src_int8"};
  }
  if (isa.starts_with("12.")) {
    return {"src_fp16_dst_fp32", "src_fp16_dst_fp16", "src_bf16_dst_fp32", "src_tf32_dst_fp32",
            "src_fp8_dst_fp32",  "src_fp8_dst_fp16",  "src_fp4_dst_fp32",  "src_int8"};
  }
  if (isa.starts_with("8.9")) {
    return {"src_fp16_dst_fp32", "src_fp16_dst_fp16", "src_bf16_dst_fp32",
            "src_tf32_dst_fp32", "src_fp8",           "src_int8"};
  }
  return {"src_fp16_dst_fp32", "src_fp16_dst_fp16", "src_bf16_dst_fp32",
          "src_tf32_dst_fp32", "src_fp64",          "src_int8"};
}

}  // namespace

std::vector<std::string> needed_metrics(std::string_view isa) {
  if (isa.starts_with("gfx")) return amd_metrics(isa);
  std::vector<std::string> metrics{"gpu__time_duration.sum", "sm__cycles_elapsed.avg.per_second"};
  for (const std::string_view type : {"d", "f", "h"}) {
    for (const std::string_view op : {"add", "mul", "fma"}) {
      metrics.push_back(fmt::format("sm__sass_thread_inst_executed_op_{}{}_pred_on.sum", type, op));
    }
  }
  if (isa.starts_with("10.")) {
    for (const std::string_view op : {"fadd2", "fmul2", "ffma2"}) {
      metrics.push_back(fmt::format("sm__sass_thread_inst_executed_op_{}_pred_on.sum", op));
    }
  }
  for (const std::string_view name : tensor_metrics(isa)) {
    metrics.push_back(fmt::format("sm__ops_path_tensor_{}.sum", name));
  }
  for (const std::string_view name :
       {"l1tex__t_bytes.sum", "lts__t_bytes.sum", "dram__bytes.sum"}) {
    metrics.emplace_back(name);
  }
  return metrics;
}

std::string collect_command(std::string_view isa, const std::vector<std::string>& metrics) {
  if (isa.starts_with("gfx")) {
    return fmt::format("rocprofv3 --pmc {} --output-format csv -- ./app", fmt::join(metrics, " "));
  }
  return fmt::format("ncu --csv --page raw --print-units base --metrics {} ./app",
                     fmt::join(metrics, ","));
}

}  // namespace rooftile::profile
