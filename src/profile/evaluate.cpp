// SPDX-License-Identifier: Apache-2.0
#include "profile/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/number_of.h"
#include "core/text.h"
#include "hardware/architecture.h"
#include "profile/export_roofs.h"
#include "profile/formula.h"
#include "profile/kernel_time.h"
#include "profile/launch_groups.h"
#include "profile/rates.h"
#include "profile/shapes.h"
#include "profile/tensor_ops.h"

namespace rooftile::profile {

namespace {

using hardware::MemoryLevel;
using hardware::Pipe;
using hardware::RateKey;

/// Collects while kernels are evaluated; becomes formulas and warnings of the Run.
struct Findings {
  std::map<std::pair<std::string, std::string>, std::int64_t> formulas;
  std::set<std::string> missing;  ///< counters of formulas that were used without them
  std::map<std::string, std::int64_t> without;  ///< quantity -> kernels that lack it
  std::int64_t partial = 0;                     ///< kernels with n/a in some launches
  std::int64_t dropped = 0;                     ///< launches left out for an n/a
  std::int64_t dropped_from = 0;                ///< kernels they belong to
  std::int64_t assumed_volta = 0, shape_unknown = 0, tensor_uncounted = 0;
  std::int64_t uneven = 0;    ///< kernels whose counters cover different numbers of launches
  std::int64_t rated = 0;     ///< kernels with rates, but without times
  std::int64_t requests = 0;  ///< kernels whose requests are counted, but not their size

  void used(std::string_view quantity, const std::string& text) {
    formulas[{std::string(quantity), text}] += 1;
  }
};

std::optional<RateKey> rate_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::Fp64: return RateKey{DType::Fp64, Pipe::Vector};
    case Quantity::Fp32: return RateKey{DType::Fp32, Pipe::Vector};
    case Quantity::Fp16: return RateKey{DType::Fp16, Pipe::Vector};
    case Quantity::L1:
    case Quantity::L2:
    case Quantity::Dram:
    case Quantity::System: return std::nullopt;
  }
  return std::nullopt;
}

void add_time(const std::optional<KernelTime>& time, const EvaluateOptions& options,
              KernelRecord& record, Findings& findings) {
  if (!time) {
    findings.without["time"] += 1;
    return;
  }
  record.time = Seconds::from_base(time->total);
  findings.partial += time->partial ? 1 : 0;
  findings.used("time", time->text);
  for (const double t : time->per_launch) {
    if (t >= options.short_launch.base()) continue;
    record.short_launches += 1;
    record.short_time += Seconds::from_base(t);
  }
  if (time->per_launch.empty() && record.launches > 0 &&
      time->total / static_cast<double>(record.launches) < options.short_launch.base()) {
    record.short_launches = record.launches;
    record.short_time = *record.time;
  }
}

void add_quantities(const KernelSeries& kernel, const Counting& counting, const KernelTime* time,
                    KernelRecord& record, Findings& findings) {
  for (const Quantity quantity : kQuantities) {
    const auto value = evaluate_quantity(quantity, kernel, counting, time);
    if (!value) {
      findings.without[std::string(name_of(quantity))] += 1;
      continue;
    }
    findings.used(name_of(quantity), value->text);
    findings.partial += value->partial ? 1 : 0;
    for (const std::string_view metric : value->missing) findings.missing.emplace(metric);
    if (const auto rate = rate_of(quantity)) {
      record.flops_by[*rate] = Flops::from_base(value->value);
      record.flops_complete = record.flops_complete && value->missing.empty() && !value->partial;
    } else if (quantity == Quantity::System) {
      record.system_bytes = Bytes::from_base(value->value);
    } else {
      const auto level =
          static_cast<std::size_t>(quantity) - static_cast<std::size_t>(Quantity::L1);
      record.bytes[level] = Bytes::from_base(value->value);
    }
  }
}

void add_tensor(const KernelSeries& kernel, const TensorQuestion& question, KernelRecord& record,
                Findings& findings) {
  const auto tensor = tensor_ops(kernel, question);
  if (!tensor) {
    findings.without["tensor flops"] += 1;
    const bool unknown = tensor_shape_unknown(kernel, question);
    findings.shape_unknown += unknown ? 1 : 0;
    const bool uncounted =
        unknown || tensor_units_were_busy(kernel) || name_says_tensor(kernel.name);
    findings.tensor_uncounted += uncounted ? 1 : 0;
    if (uncounted) record.flops_complete = false;
    return;
  }
  for (const auto& [rate, ops] : tensor->ops) record.flops_by[rate] += Flops::from_base(ops);
  findings.used("tensor flops", tensor->text);
  findings.assumed_volta += tensor->assumed_volta ? 1 : 0;
  findings.partial += tensor->partial ? 1 : 0;
  record.flops_complete = record.flops_complete && !tensor->partial;
}

/// Zero is only believed when the counters of two precisions said so: people who count one leave
/// out what the program does in another. n/a and absent are not zero.
void total_flops(KernelRecord& record) {
  Flops sum;
  for (const auto& [rate, flops] : record.flops_by) sum += flops;
  std::size_t precisions = 0;
  for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Fp16}) {
    precisions += record.flops_by.contains({dtype, Pipe::Vector}) ? 1 : 0;
  }
  const bool counted = precisions >= 2;
  if (sum.base() > 0.0 || (counted && record.flops_complete)) record.flops = sum;
}

constexpr const char* kShareText = "the profiler's own throughput of each unit, in % of its peak";

void add_rates(const KernelSeries& kernel, const Counting& counting, KernelRecord& record,
               Findings& findings) {
  auto found = rates_of(kernel, counting);
  if (!found) return;
  for (const auto& [quantity, text] : found->formulas) findings.used(quantity, text);
  record.rates = std::move(found->rates);
  findings.rated += 1;
}

KernelRecord evaluate_kernel(const KernelSeries& kernel, const Counting& counting,
                             const EvaluateOptions& options, Findings& findings) {
  KernelRecord record;
  record.name = kernel.name;
  record.launches = kernel.launches();
  record.grid = kernel.grid;
  record.block = kernel.block;
  for (const std::string_view metric :
       {"sm__cycles_elapsed.avg.per_second", "smsp__cycles_elapsed.avg.per_second"}) {
    const Column* clock = find_counter(kernel, metric);
    if (clock != nullptr && !record.clock) record.clock = Hertz::from_base(clock->mean());
  }
  for (const Column& column : kernel.columns) {
    if (std::abs(column.launches() - static_cast<double>(record.launches)) < 0.5) continue;
    findings.uneven += 1;
    break;
  }
  const auto time = kernel_time(kernel, options.mean_clock);
  const KernelTime* known = time ? &*time : nullptr;
  add_time(time, options, record, findings);
  add_quantities(kernel, counting, known, record, findings);
  add_tensor(kernel, {.counting = counting, .time = known, .always_512 = options.tensor_512},
             record, findings);
  total_flops(record);
  record.speed_of_light = speed_of_light(kernel, known);
  if (record.speed_of_light.any()) findings.used("share of peak", kShareText);
  if (!known) add_rates(kernel, counting, record, findings);
  if (counting.request_unknown &&
      (find_counter(kernel, "TCP_TOTAL_CACHE_ACCESSES_sum") != nullptr ||
       find_counter(kernel, "TCP_TCC_READ_REQ_sum") != nullptr)) {
    findings.requests += 1;
  }
  return record;
}

void add_groups(const KernelSeries& kernel, const Counting& counting,
                const EvaluateOptions& options, const std::vector<TracedWork>& works,
                KernelRecord& record) {
  Findings ignored;  // the kernel as a whole has said it all
  for (const KernelSeries& group : launch_groups(kernel)) {
    KernelRecord& one =
        record.groups.emplace_back(evaluate_kernel(group, counting, options, ignored));
    for (const Launch& launch : group.launch_list) one.ordinals.push_back(launch.ordinal);
    const std::uint32_t work = group.launch_list.empty() ? 0 : group.launch_list.front().work;
    if (work != 0 && work <= works.size()) one.traced = works[work - 1];
    count_shapes(group, works, one);
  }
}

void warn(Run& run, std::string name, std::string message) {
  run.warnings.push_back({.name = std::move(name), .message = std::move(message)});
}

/// Counters of `needed` that no kernel has, under any of their names.
std::vector<std::string> absent(const RawProfile& profile, const Run& run,
                                const Counting& counting) {
  const auto all_have = [&](auto&& has) {
    return std::all_of(run.kernels.begin(), run.kernels.end(), has);
  };
  const bool time = all_have([](const KernelRecord& k) { return k.time.has_value(); });
  const auto level = [&](MemoryLevel l) {
    return all_have([l](const KernelRecord& k) { return k.bytes_at(l).has_value(); });
  };
  const auto rate = [&](DType dtype) {
    return all_have(
        [dtype](const KernelRecord& k) { return k.flops_by.contains({dtype, Pipe::Vector}); });
  };
  const bool tensor = std::any_of(run.formulas.begin(), run.formulas.end(),
                                  [](const FormulaUse& u) { return u.quantity == "tensor flops"; });
  std::vector<std::string> result;
  for (const std::string& metric : needed_metrics(counting)) {
    const auto has = [&metric](std::string_view part) {
      return metric.find(part) != std::string::npos;
    };
    const bool measured = has("gpu__time") || has("cycles_elapsed") ? time
                          : has("dram__") || has("TCC_EA")          ? level(MemoryLevel::Dram)
                          : has("lts__") || has("TCP_TCC")          ? level(MemoryLevel::L2)
                          : has("l1tex__") || has("TCP_TOTAL")      ? level(MemoryLevel::L1)
                          : has("tensor") || has("MFMA")            ? tensor
                          : has("_op_d") || has("_F64")             ? rate(DType::Fp64)
                          : has("_op_h") || has("_F16")             ? rate(DType::Fp16)
                                                                    : rate(DType::Fp32);
    if (!measured && !profile.has_metric(metric)) result.push_back(metric);
  }
  return result;
}

void missing_warnings(const RawProfile& profile, const Counting& counting, const Findings& findings,
                      Run& run) {
  const auto kernels = static_cast<std::int64_t>(run.kernels.size());
  std::vector<std::string> lacking;
  for (const auto& [quantity, count] : findings.without) {
    if (quantity == "system bytes") continue;
    if (count == kernels) {
      lacking.push_back(quantity);
    } else {
      lacking.push_back(fmt::format("{} (of {} of {} kernels)", quantity, count, kernels));
    }
  }
  std::set<std::string> metrics(findings.missing.begin(), findings.missing.end());
  for (std::string& metric : absent(profile, run, counting)) metrics.insert(std::move(metric));
  if (lacking.empty() && metrics.empty()) return;
  std::string message =
      "not measured: " +
      (lacking.empty() ? "some counters" : fmt::format("{}", fmt::join(lacking, ", ")));
  if (profile.format.starts_with("likwid")) {
    message +=
        "; collect it with: likwid-perfctr -C 0 -g MEM_DP ./app, then with L2 and "
        "MEM_SP (likwid-perfctr -a lists the groups of this processor)";
  } else if (profile.format.starts_with("nvprof") || counting.is(hardware::Profiler::Nvprof)) {
    message += "; collect it with: " + nvprof_command();
  } else if (!metrics.empty()) {
    message += "; collect it with: " +
               collect_command(counting, std::vector<std::string>(metrics.begin(), metrics.end()));
  }
  warn(run, "missing-metrics", std::move(message));
}

void other_warnings(const RawProfile& profile, const Findings& findings, Run& run) {
  if (findings.partial > 0) {
    warn(run, "not-available",
         fmt::format("the tool printed n/a for some launches (of {}); they are left out of "
                     "the sums, which are lower bounds",
                     number_of(findings.partial, "counter")));
  }
  if (findings.dropped > 0) {
    warn(run, "not-available-launches",
         fmt::format("the tool printed n/a for counters of {} (of {}), left out so that "
                     "ratios are over the same launches",
                     number_of(findings.dropped, "launch"),
                     number_of(findings.dropped_from, "kernel")));
  }
  if (findings.uneven > 0) {
    warn(run, "uneven-launches",
         fmt::format("{} not launched equally often in all exports of this run: the counters "
                     "cover different launches",
                     number_of(findings.uneven, "kernel")));
  }
  if (findings.assumed_volta > 0) {
    warn(run, "assumed-volta",
         "the export does not state the compute capability; tensor instructions were counted as "
         "Volta's (512 FLOP each). State the GPU with --gpu");
  }
  if (findings.tensor_uncounted > 0) {
    const bool amd = hardware::vendor_of_isa(profile.device.isa) == hardware::Vendor::Amd;
    warn(run, "tensor-flops-missing",
         fmt::format("{} on tensor cores whose FLOPs cannot be derived from this export; "
                     "collect {} ({})",
                     number_of(findings.tensor_uncounted, "kernel"),
                     amd ? "SQ_INSTS_VALU_MFMA_MOPS_*" : "sm__ops_path_tensor_*",
                     findings.shape_unknown > 0
                         ? "one instruction is worth 512 to 8192 FLOP depending on its shape"
                         : "no tensor counter is in the export"));
  }
  if (findings.rated > 0) {
    warn(run, "rates-only",
         fmt::format(
             "{} with rates, but without times: a place under the roofs, but no share of the time",
             number_of(findings.rated, "kernel")));
  }
  if (findings.requests > 0) {
    warn(run, "unknown-chip",
         "the export does not name the chip, so L1 and L2 bytes are unknown: a request is of 64 B "
         "up to MI250 and of 128 B from MI300 on. State it with --gpu, or give the sysinfo.csv of "
         "the run along");
  }
  for (const std::string& note : profile.notes) warn(run, "import", note);
}

/// Launches were listed, and every counter that says what they did is n/a or NaN; peaks and clocks
/// describe the machine.
void nothing_measured(const RawProfile& profile, Run& run) {
  const auto known = [](const KernelRecord& kernel) {
    return kernel.time || kernel.flops || kernel.rates || kernel.speed_of_light.any() ||
           kernel.bytes[0] || kernel.bytes[1] || kernel.bytes[2];
  };
  const auto failed = [](const Column& column) { return column.missing > 0; };
  const bool tried =
      std::any_of(profile.kernels.begin(), profile.kernels.end(), [&](const KernelSeries& kernel) {
        return std::any_of(kernel.columns.begin(), kernel.columns.end(), failed);
      });
  if (!tried || std::any_of(run.kernels.begin(), run.kernels.end(), known)) return;
  std::int64_t launches = 0;
  for (const KernelSeries& kernel : profile.kernels) launches += kernel.launches();
  warn(run, "nothing-measured",
       fmt::format("nothing was measured: no counter of {} has a value, the collection failed",
                   number_of(launches, "launch")));
}

/// Kernels that have every counter of the profile.
std::vector<const KernelSeries*> joined_kernels(const RawProfile& profile, bool inner) {
  std::set<std::string_view> metrics;
  for (const KernelSeries& kernel : profile.kernels) {
    for (const Column& column : kernel.columns) {
      if (!column.values.empty()) metrics.insert(column.metric);
    }
  }
  std::vector<const KernelSeries*> result;
  for (const KernelSeries& kernel : profile.kernels) {
    const bool complete = std::all_of(metrics.begin(), metrics.end(), [&](std::string_view metric) {
      const Column* column = kernel.find(metric);
      return column != nullptr && !column->values.empty();
    });
    if (complete || !inner) result.push_back(&kernel);
  }
  return result;
}

/// Which kernel runs after which, where the order of launches is known.
void add_successors(const std::vector<const KernelSeries*>& kernels, Run& run) {
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (!lists_launches(*kernels[k])) return;
    for (const Launch& launch : kernels[k]->launch_list) order.emplace_back(launch.ordinal, k);
  }
  std::sort(order.begin(), order.end());
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> followed;
  for (std::size_t i = 1; i < order.size(); ++i) {
    followed[{order[i - 1].second, order[i].second}] += 1;
  }
  for (const auto& [pair, count] : followed) {
    KernelRecord& record = run.kernels[pair.first];
    if (count <= record.next_launches) continue;
    record.next_launches = count;
    record.next = run.kernels[pair.second].name;
  }
}

}  // namespace

Result<Run> evaluate(const RawProfile& profile, const EvaluateOptions& options,
                     const Catalog& catalog) {
  ROOFTILE_TRY(const Counting counting,
               counting_of(catalog, options.isa.starts_with(profile.device.isa)
                                        ? options.isa  // the export may name only the family
                                        : profile.device.isa));
  const std::string file = profile.files.empty() ? "" : profile.files.front();
  Run run;
  Findings findings;
  const auto kernels = joined_kernels(profile, options.inner_join);
  for (const KernelSeries* kernel : kernels) {
    const auto complete = complete_launches(*kernel);
    if (complete) {
      findings.dropped += kernel->launches() - complete->launches();
      findings.dropped_from += 1;
    }
    const KernelSeries& counted = complete ? *complete : *kernel;
    const std::int64_t uncounted = findings.tensor_uncounted;
    run.kernels.push_back(evaluate_kernel(counted, counting, options, findings));
    if (count_shapes(counted, profile.works, run.kernels.back())) {
      findings.tensor_uncounted = uncounted;  // shapes tell what counters do not
      findings.used("flops", "what the shapes of the operators ask for");
      findings.used("dram bytes", "compulsory: each operand of the operators moved once");
    }
    if (options.launch_groups) {
      add_groups(counted, counting, options, profile.works, run.kernels.back());
    }
  }
  add_successors(kernels, run);
  if (kernels.size() < profile.kernels.size()) {
    warn(run, "inner-join",
         fmt::format("{} left out: not in all exports of this run",
                     number_of(profile.kernels.size() - kernels.size(), "kernel")));
  }
  for (const auto& [key, count] : findings.formulas) {
    run.formulas.push_back({.quantity = key.first, .text = key.second, .kernels = count});
  }
  const bool useful =
      std::any_of(profile.kernels.begin(), profile.kernels.end(),
                  [](const KernelSeries& kernel) { return !kernel.columns.empty(); });
  if (!run.kernels.empty() && !useful && profile.counters == 0) {
    return unsupported(file,
                       fmt::format("the export has {}, but none that counts time, FLOPs or bytes, "
                                   "and no throughput of a unit",
                                   number_of(profile.ignored_metrics, "metric")),
                       "collect them with: " + collect_command(counting, needed_metrics(counting)));
  }
  run.export_roofs = export_roofs(profile);
  run.timeline = timeline_of(profile);
  if (!counting.relative.empty()) {
    warn(run, "unknown-architecture",
         fmt::format("no architecture file for {}: its counters are read as those of {} "
                     "(docs/howto/add_an_architecture.md)",
                     printable(counting.isa), counting.relative));
  }
  if (!run.kernels.empty()) {
    missing_warnings(profile, counting, findings, run);
    nothing_measured(profile, run);
    other_warnings(profile, findings, run);
  }
  return run;
}

}  // namespace rooftile::profile
