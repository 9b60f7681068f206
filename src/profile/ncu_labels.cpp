// SPDX-License-Identifier: Apache-2.0
#include "profile/ncu_labels.h"

#include <array>

namespace rooftile::profile {

namespace {

struct Label {
  std::string_view section;  ///< prefix of the section's name; "" for any section
  std::string_view label;
  std::string_view counter;
};

// As the section files of Nsight Compute define them.
constexpr std::array<Label, 42> kLabels{{
    {"GPU Speed Of Light", "Duration", "gpu__time_duration.sum"},
    {"GPU Speed Of Light", "Elapsed Cycles", "sm__cycles_elapsed.max"},
    {"GPU Speed Of Light", "SM Frequency", "sm__cycles_elapsed.avg.per_second"},
    {"GPU Speed Of Light", "DRAM Frequency", "dram__cycles_elapsed.avg.per_second"},
    {"GPU Speed Of Light", "Compute (SM) Throughput",
     "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"GPU Speed Of Light", "L1/TEX Cache Throughput",
     "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"GPU Speed Of Light", "L2 Cache Throughput",
     "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"GPU Speed Of Light", "DRAM Throughput",
     "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"GPU Speed Of Light", "SOL SM", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"GPU Speed Of Light", "SOL L1/TEX Cache",
     "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"GPU Speed Of Light", "SOL L2 Cache", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"GPU Speed Of Light", "SOL DRAM", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Memory Workload Analysis", "Memory Throughput", "dram__bytes.sum.per_second"},
    {"", "Theoretical DRAM Bytes Accessible", "dram__bytes.sum.peak_sustained"},
    {"", "Theoretical DRAM Bandwidth", "dram__bytes.sum.peak_sustained"},
    {"", "Theoretical L1/TEX Cache Bytes Accessible", "l1tex__t_bytes.sum.peak_sustained"},
    {"", "Theoretical L2 Cache Bytes Accessible", "lts__t_bytes.sum.peak_sustained"},
    {"", "DRAM Bandwidth", "dram__bytes.sum.per_second"},
    {"", "L1 Cache Bandwidth", "l1tex__t_bytes.sum.per_second"},
    {"", "L1/TEX Cache Bandwidth", "l1tex__t_bytes.sum.per_second"},
    {"", "L2 Cache Bandwidth", "lts__t_bytes.sum.per_second"},
    {"", "Theoretical Predicated-On FFMA Operations",
     "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2"},
    {"", "Theoretical Predicated-On DFMA Operations",
     "derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2"},
    {"", "Theoretical Predicated-On HFMA Operations",
     "derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x2"},
    {"", "Predicated-On FADD Thread Instructions Executed Per Cycle",
     "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed"},
    {"", "Predicated-On FMUL Thread Instructions Executed Per Cycle",
     "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed"},
    {"", "Predicated-On FFMA Operations Per Cycle",
     "derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2"},
    {"", "Predicated-On DADD Thread Instructions Executed Per Cycle",
     "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed"},
    {"", "Predicated-On DMUL Thread Instructions Executed Per Cycle",
     "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed"},
    {"", "Predicated-On DFMA Operations Per Cycle",
     "derived__smsp__sass_thread_inst_executed_op_dfma_pred_on_x2"},
    {"", "Predicated-On HADD Thread Instructions Executed Per Cycle",
     "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum.per_cycle_elapsed"},
    {"", "Predicated-On HMUL Thread Instructions Executed Per Cycle",
     "smsp__sass_thread_inst_executed_op_hmul_pred_on.sum.per_cycle_elapsed"},
    {"", "Predicated-On HFMA Operations Per Cycle",
     "derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x2"},
    {"", "Predicated-On FADD Operations",
     "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed"},
    {"", "Predicated-On FMUL Operations",
     "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed"},
    {"", "Predicated-On FFMA Operations",
     "derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2"},
    {"", "Predicated-On DADD Operations",
     "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed"},
    {"", "Predicated-On DMUL Operations",
     "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed"},
    {"", "Predicated-On DFMA Operations",
     "derived__smsp__sass_thread_inst_executed_op_dfma_pred_on_x2"},
    {"", "SMSP Frequency", "smsp__cycles_elapsed.avg.per_second"},
    {"", "L1 Frequency", "l1tex__cycles_elapsed.avg.per_second"},
    {"", "L2 Frequency", "lts__cycles_elapsed.avg.per_second"},
}};

/// The token with "__" in a mixed "label (counter)" text.
std::optional<std::string_view> embedded_name(std::string_view metric) {
  const std::size_t at = metric.find("__");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t begin = metric.find_last_of(" ([", at);
  const std::size_t from = begin == std::string_view::npos ? 0 : begin + 1;
  const std::size_t to = metric.find_first_of(" )]", at);
  return metric.substr(from, to == std::string_view::npos ? to : to - from);
}

}  // namespace

std::optional<std::string_view> ncu_counter(std::string_view section, std::string_view metric) {
  if (const auto name = embedded_name(metric)) return name;
  for (const Label& label : kLabels) {
    if (label.label == metric && section.starts_with(label.section)) return label.counter;
  }
  if (section.starts_with("Command line profiler metrics")) return metric;
  return std::nullopt;
}

bool looks_like_counter(std::string_view name) {
  return name.find("__") != std::string_view::npos;
}

}  // namespace rooftile::profile
