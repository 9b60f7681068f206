// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "profile/evaluate.h"
#include "profile/metric_table.h"

namespace rooftile::profile {

namespace {

std::vector<std::string> amd_metrics(const hardware::CounterFacts& facts) {
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
  const bool wide = facts.request == 128_B;  // counted apart since MI300
  for (const std::string_view request : {"RDREQ", "RDREQ_32B", "WRREQ", "WRREQ_64B"}) {
    metrics.push_back(fmt::format("TCC_EA{}_{}_sum", wide ? "0" : "", request));
  }
  if (wide) metrics.emplace_back("TCC_BUBBLE_sum");
  return metrics;
}

}  // namespace

std::vector<std::string> needed_metrics(const Counting& counting) {
  if (counting.is(hardware::Profiler::Rocprof)) return amd_metrics(*counting.facts);
  // Without a compute capability, the names of Ampere: most of them are those of its successors.
  std::vector<ChipMetric> known = metrics_of(counting.isa);
  if (known.empty()) known = metrics_of("8.0");
  std::vector<std::string> metrics{"gpu__time_duration.sum", "sm__cycles_elapsed.avg.per_second"};
  const auto add = [&metrics](const ChipMetric& metric) {
    metrics.push_back(metric.name + ".sum");
  };
  for (const ChipMetric& metric : known) {
    if (metric.name.starts_with("sm__sass_thread_inst_executed_op_")) add(metric);
  }
  for (const ChipMetric& metric : known) {
    // INT4 and INT1 need passes of their own and are rare.
    const bool rare = metric.name.ends_with("_int4") || metric.name.ends_with("_int1");
    if (metric.name.starts_with("sm__ops_path_tensor_src_") && !rare) add(metric);
  }
  for (const std::string_view name : {"l1tex__t_bytes", "lts__t_bytes", "dram__bytes"}) {
    const auto it = std::find_if(known.begin(), known.end(),
                                 [name](const ChipMetric& metric) { return metric.name == name; });
    if (it != known.end()) add(*it);
  }
  return metrics;
}

std::string nvprof_command() {
  return "nvprof --csv --log-file metrics.csv --metrics flop_count_dp,flop_count_sp,flop_count_hp,"
         "gld_transactions,gst_transactions,atomic_transactions,local_load_transactions,"
         "local_store_transactions,shared_load_transactions,shared_store_transactions,"
         "l2_read_transactions,l2_write_transactions,dram_read_transactions,"
         "dram_write_transactions ./app, and the time with: nvprof --csv --print-gpu-trace "
         "--log-file trace.csv ./app";
}

std::string collect_command(const Counting& counting, const std::vector<std::string>& metrics) {
  if (counting.is(hardware::Profiler::Nvprof)) return nvprof_command();
  if (counting.is(hardware::Profiler::Rocprof)) {
    return fmt::format("rocprofv3 --pmc {} --output-format csv -- ./app", fmt::join(metrics, " "));
  }
  return fmt::format("ncu --csv --page raw --print-units base --metrics {} ./app",
                     fmt::join(metrics, ","));
}

}  // namespace rooftile::profile
