// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/text.h"
#include "core/utf8.h"
#include "report/interval.h"
#include "report/operator_rows.h"
#include "report/provenance_view.h"
#include "report/table.h"
#include "report/views.h"

namespace rooftile::report {

namespace {

/// "on 8 GPUs (dp 2, tp 4)"
std::string sharing(const ParallelReport& parallel) {
  std::vector<std::string> parts;
  for (const auto& [name, ways] :
       {std::pair("dp", parallel.dp), std::pair("tp", parallel.tp), std::pair("pp", parallel.pp),
        std::pair("micro-batches", parallel.microbatches)}) {
    if (ways > 1) parts.push_back(fmt::format("{} {}", name, ways));
  }
  return fmt::format("{} GPU{} ({})", parallel.gpus, parallel.gpus > 1 ? "s" : "",
                     fmt::join(parts, ", "));
}

/// One line for each kind of group.
std::string links(const ParallelReport& parallel) {
  std::string text;
  const auto row = [&](std::string_view name, const std::string& link) {
    if (!link.empty()) text += fmt::format("  {:<14} {}\n", name, link);
  };
  row("data", parallel.data_link);
  row("tensor", parallel.tensor_link);
  row("pipeline", parallel.pipeline_link);
  return text;
}

std::string workload(const Report& report) {
  const Request& request = report.request;
  std::string text =
      fmt::format("{}, {}, batch {}", report.model_name, request.phase, request.batch);
  if (request.sequence) text += fmt::format(" x {} tokens", *request.sequence);
  if (request.phase == "decode" && request.context) {
    text += fmt::format(" ({} tokens in the cache)", *request.context);
  }
  text += fmt::format(", {}", request.dtype);
  if (request.stack != "eager") text += fmt::format(", {}", request.stack);
  if (request.attention != "auto") text += fmt::format(", {} attention", request.attention);
  if (request.fusion != "auto")
    text += request.fusion == "compile" ? ", compiled" : ", nothing fused";
  if (report.parallel) text += ", " + sharing(*report.parallel);
  return text;
}

std::string step_line(const Report& report) {
  const LatencyReport& latency = report.latency;
  if (report.predictor == "bound") {
    return fmt::format("{} or more (provenance: bound)", format_ms(latency.total_ms));
  }
  return fmt::format("{}  ({}; bound {})", format_ms(latency.total_ms),
                     interval_text(latency.low_ms, latency.high_ms),
                     format_ms(report.bound_total_ms));
}

/// "15.3k tokens/s, 52 % of the FLOP/s, 31 % of the DRAM bandwidth"
std::string throughput_line(const Report& report) {
  const ThroughputReport& t = report.throughput;
  std::vector<std::string> parts;
  if (t.tokens_per_s) parts.push_back(fmt::format("{:.4g} tokens/s", *t.tokens_per_s));
  if (t.images_per_s) parts.push_back(fmt::format("{:.4g} images/s", *t.images_per_s));
  if (report.parallel && report.parallel->gpus > 1 && t.tokens_per_s_per_gpu)
    parts.push_back(fmt::format("{:.4g} per GPU", *t.tokens_per_s_per_gpu));
  if (t.mfu) parts.push_back(fmt::format("MFU {:.1f} %", *t.mfu * 100));
  if (t.mbu && report.request.phase == "decode")
    parts.push_back(fmt::format("MBU {:.1f} %", *t.mbu * 100));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "  forward          146.1 ms   35.2 %  ##############"
std::string share_line(std::string_view name, double ms, double share) {
  std::string line = fmt::format("  {:<14} {:>10}  {:5.1f} %  {}", name, format_ms(ms), share * 100,
                                 bar(share, 40));
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string phases(const Report& report) {
  const LatencyReport& latency = report.latency;
  std::string text;
  const auto row = [&](std::string_view name, double ms) {
    if (ms <= 0) return;
    const double share = ms / latency.total_ms;
    text += share_line(name, ms, share);
  };
  row("forward", latency.forward_ms);
  row("backward", latency.backward_ms);
  row("optimizer", latency.optimizer_ms);
  row("communication", latency.exposed_communication_ms);
  const double hidden = latency.communication_ms - latency.exposed_communication_ms;
  if (hidden > 0) {
    text += fmt::format("  {:<14} {:>10}  of communication behind kernels\n", "hidden",
                        format_ms(hidden));
  }
  return text;
}

std::string limiters(const Report& report) {
  std::vector<std::pair<std::string, double>> shares(report.limiter_share.begin(),
                                                     report.limiter_share.end());
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, share] : shares) {
    if (share <= 0) continue;
    text += share_line(name, share * report.latency.total_ms, share);
  }
  return text;
}

std::string memory(const Report& report) {
  const MemoryReport& memory = report.memory;
  std::vector<std::string> parts;
  const auto part = [&](std::string_view name, double bytes) {
    if (bytes > 0)
      parts.push_back(fmt::format("{} {}", name, format_bytes(Bytes::from_base(bytes))));
  };
  part("weights", memory.weights_bytes);
  part("gradients", memory.gradients_bytes);
  part("optimizer", memory.optimizer_bytes);
  if (report.request.phase == "train" && memory.optimizer_bytes <= 0) {
    parts.emplace_back("no optimizer state");
  }
  part("activations", memory.activations_bytes);
  part("KV cache", memory.kv_cache_bytes);
  std::string text = fmt::format("  {}", format_bytes(Bytes::from_base(memory.total_bytes)));
  if (memory.capacity_bytes) {
    text += fmt::format(" of {}: {}", format_bytes(Bytes::from_base(*memory.capacity_bytes)),
                        memory.fits.value_or(false) ? "fits" : "DOES NOT FIT");
  }
  return text + "\n" + wrapped(fmt::format("{}", fmt::join(parts, ", ")), 100, 4);
}

std::string operators(const Report& report, const TextOptions& options) {
  std::vector<std::size_t> order(report.operators.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return report.operators[a].latency_ms > report.operators[b].latency_ms;
  });
  Table table({{.title = "operator", .shrink = true, .path = true},
               {.title = "kernel"},
               {.title = "shape", .shrink = true},
               {.title = "n", .align = Align::Right},
               {.title = "time", .align = Align::Right},
               {.title = "share", .align = Align::Right},
               {.title = "", .optional = true},
               {.title = "limiter"},
               {.title = "tile"},
               {.title = "waves", .align = Align::Right}});
  const double total = report.latency.total_ms;
  const double largest = order.empty() ? 1 : report.operators[order.front()].latency_ms;
  double rest = 0;
  std::size_t others = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const OperatorReport& op = report.operators[order[i]];
    if (i >= static_cast<std::size_t>(options.top)) {
      rest += op.latency_ms;
      ++others;
      continue;
    }
    table.add({op.name, fmt::format("{} {}", short_phase(op.phase), op.op), op.shape,
               std::to_string(op.count), format_ms(op.latency_ms),
               fmt::format("{:.1f} %", op.latency_ms / total * 100),
               bar(op.latency_ms / largest, 6), op.limiter, op.tile,
               fmt::format("{:.1f}", op.waves)});
  }
  const auto row = [&](const std::string& name, const std::string& what, double ms) {
    table.add({name, what, "", "", format_ms(ms), fmt::format("{:.1f} %", ms / total * 100), "", "",
               "", ""});
  };
  if (others > 0) row(fmt::format("({} others)", others), "", rest);
  for (const PartReport* part : waiting_parts(report)) {  // "hidden", "communication"
    const std::string first = part->name.substr(0, part->name.find(' '));
    const std::string rest_of_name =
        part->name.substr(std::min(first.size() + 1, part->name.size()));
    row(first, rest_of_name, part->latency_ms);
  }
  row("step", "", total);
  return table.render(options.width, 2);
}

/// What the convolutions run; nothing for models without them.
std::string algorithms(const Report& report, const TextOptions& options) {
  std::map<std::string_view, std::pair<std::int64_t, double>> by_name;
  for (const OperatorReport& op : report.operators) {
    if (op.algorithm.empty()) continue;
    auto& [launches, ms] = by_name[op.algorithm];
    launches += op.count;
    ms += op.latency_ms;
  }
  if (by_name.empty()) return {};
  std::vector<std::string> parts;
  for (const auto& [name, sum] : by_name) {
    parts.push_back(fmt::format("{} x{} {}", name, sum.first, format_ms(sum.second)));
  }
  return "\nconvolutions by algorithm\n" +
         wrapped(fmt::format("{}", fmt::join(parts, ", ")), options.width, 2);
}

}  // namespace

std::string to_text(const Report& report, const TextOptions& options) {
  const bool color = options.color;
  std::string text = bold(workload(report), color) + "\n";
  text += visible(fmt::format("on {}, roofs: {}, predictor: {}", report.gpu_name, report.roofs,
                              report.predictor)) +
          "\n\n";
  text += fmt::format("{:<16} {}\n", "step", bold(step_line(report), color));
  if (!report.assumed.empty())
    text += fmt::format("{:<16} {}\n", "assumed", fmt::join(report.assumed, ", "));
  if (const std::string line = throughput_line(report); !line.empty())
    text += fmt::format("{:<16} {}\n", "throughput", line);
  text += phases(report);
  const double rate = report.flops / (report.latency.total_ms * 1e-3);
  text += fmt::format("{:<16} {} in the step, {}{}; {} parameters\n", "work",
                      format_flops(Flops::from_base(report.flops)),
                      report.predictor == "bound" ? "at most " : "",
                      format_rate(FlopsPerSecond::from_base(rate)),
                      format_count(static_cast<double>(report.parameters)));
  text += "\nlimited by\n" + limiters(report);
  if (report.parallel && !report.parallel->system.empty()) {
    text += fmt::format("\nlinks in {}\n", report.parallel->system) + links(*report.parallel);
  }
  text += report.parallel ? "\nmemory of the fullest GPU\n" : "\nmemory\n";
  text += memory(report);
  text += report.parallel && report.parallel->pp > 1
              ? "\nmost expensive operators, all layers together, times of a mean GPU\n"
              : "\nmost expensive operators, all layers together\n";
  text += operators(report, options);
  text += algorithms(report, options);
  if (!report.warnings.empty()) text += "\n";
  for (const std::string& warning : report.warnings) {
    text += labelled("warning", warning, options.width, color);
  }
  return text + "\n" + provenance_to_text(report.provenance, color);
}

std::string compare_to_text(std::span<const Report> reports, const TextOptions& options) {
  if (reports.empty()) return {};
  Table table({{.title = "GPU", .shrink = true},
               {.title = "step", .align = Align::Right},
               {.title = "80 % interval", .align = Align::Right},
               {.title = "bound", .align = Align::Right},
               {.title = "speed", .align = Align::Right},
               {.title = "", .optional = true},
               {.title = "limited by"},
               {.title = "memory", .align = Align::Right},
               {.title = "fits"}});
  double slowest = 0;
  double fastest = reports.front().latency.total_ms;
  for (const Report& report : reports) {
    slowest = std::max(slowest, report.latency.total_ms);
    fastest = std::min(fastest, report.latency.total_ms);
  }
  for (const Report& report : reports) {
    const auto most =
        std::max_element(report.limiter_share.begin(), report.limiter_share.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const LatencyReport& latency = report.latency;
    table.add({report.request.gpu, format_ms(latency.total_ms),
               states_interval(latency.low_ms, latency.high_ms)
                   ? fmt::format("{} - {}", format_ms(latency.low_ms), format_ms(latency.high_ms))
                   : "-",
               format_ms(report.bound_total_ms), fmt::format("{:.2f}x", slowest / latency.total_ms),
               bar(fastest / latency.total_ms, 10),
               fmt::format("{} {:.0f} %", most->first, most->second * 100),
               format_bytes(Bytes::from_base(report.memory.total_bytes)),
               !report.memory.fits ? "?" : (*report.memory.fits ? "yes" : "NO")});
  }
  std::string text = bold(workload(reports.front()), options.color) + "\n\n";
  text += table.render(options.width, 0);
  if (reports.front().predictor == "bound") {
    text += "\ntimes are lower bounds (provenance: bound)\n";
  }
  for (const Report& report : reports) {
    for (const std::string& warning : report.warnings) {
      text += labelled("warning", fmt::format("{}: {}", report.gpu_name, warning), options.width,
                       options.color);
    }
  }
  return text + "\n" + provenance_to_text(merged_provenance(reports), options.color);
}

}  // namespace rooftile::report
