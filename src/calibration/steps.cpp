// SPDX-License-Identifier: Apache-2.0
#include "calibration/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "core/csv.h"
#include "core/dtype.h"
#include "core/error_statistics.h"
#include "core/text.h"

namespace rooftile::calibration {

namespace {

constexpr std::array<std::string_view, 27> kCaseColumns{
    "case",  "source",  "framework", "stack",    "gpu",          "system",   "gpus",
    "model", "phase",   "dtype",     "kv_dtype", "weight_dtype", "batch",    "micro_batch",
    "seq",   "context", "output",    "tp",       "pp",           "vp",       "dp",
    "cp",    "ep",      "zero",      "sp",       "recompute",    "optimizer"};

/// The fields of one record by the name of their column.
class StepFields {
 public:
  StepFields(const CsvReader& csv, const std::map<std::string, std::size_t, std::less<>>& columns)
      : csv_(csv), columns_(columns) {}

  [[nodiscard]] std::string text(std::string_view column) const {
    return std::string(trim(csv_[columns_.find(column)->second]));
  }
  [[nodiscard]] bool has(std::string_view column) const { return columns_.contains(column); }
  /// `absent` where the field is empty.
  [[nodiscard]] Result<std::int64_t> size(std::string_view column, std::int64_t absent) const {
    const std::size_t at = columns_.find(column)->second;
    if (trim(csv_[at]).empty()) return absent;
    ROOFTILE_TRY(const std::int64_t value, csv_.integer(at));
    if (value < 0) return bad_input(csv_.where(at), fmt::format("{} is {}", column, value));
    return value;
  }
  [[nodiscard]] Result<double> number(std::string_view column) const {
    return csv_.number(columns_.find(column)->second);
  }
  [[nodiscard]] std::string where(std::string_view column) const {
    return csv_.where(columns_.find(column)->second);
  }

 private:
  const CsvReader& csv_;
  const std::map<std::string, std::size_t, std::less<>>& columns_;
};

/// What a request cannot say.
struct Unexpressed {
  std::int64_t vp = 1, cp = 1, zero = 0, sp = 0;
};

std::string reason_of(const Unexpressed& u, const Request& step, StepKind kind) {
  if (u.zero > 0 && step.dp > 1)
    return u.zero == 3 ? "fully sharded data parallelism (ZeRO-3, FSDP) is not modelled"
                       : "ZeRO (a sharded optimizer) is not modelled";
  if (u.sp > 0 && step.tp > 1) return "sequence parallelism is not modelled";
  if (u.vp > 1) return "interleaved pipelines are not modelled";
  if (u.cp > 1) return "context parallelism is not modelled";
  if (kind == StepKind::Serve && step.dp > 1) return "data-parallel attention is not modelled";
  if (step.ep > 1 && step.phase == "train")
    return "expert parallelism of training, which sends tokens, is not modelled";
  if (step.ep > step.tp)
    return "experts of other replicas, to which tokens are sent, are not modelled";
  return {};
}

Status read_parallel(const StepFields& fields, StepRow& row) {
  Request& step = row.request.step;
  Unexpressed u;
  ROOFTILE_TRY(step.dp, fields.size("dp", 1));
  ROOFTILE_TRY(step.tp, fields.size("tp", 1));
  ROOFTILE_TRY(step.pp, fields.size("pp", 1));
  ROOFTILE_TRY(u.vp, fields.size("vp", 1));
  ROOFTILE_TRY(u.cp, fields.size("cp", 1));
  ROOFTILE_TRY(step.ep, fields.size("ep", 1));
  ROOFTILE_TRY(u.zero, fields.size("zero", 0));
  ROOFTILE_TRY(u.sp, fields.size("sp", 0));
  row.skip = reason_of(u, step, row.kind);
  ROOFTILE_TRY(const std::int64_t micro, fields.size("micro_batch", 0));
  ROOFTILE_TRY(step.batch, fields.size("batch", 1));
  if (step.dp < 1 || step.tp < 1 || step.pp < 1 || step.ep < 1 || step.batch < 1)
    return bad_input(fields.where("batch"), "batch, dp, tp, pp and ep must be positive");
  if (micro > 0 && step.batch % (step.dp * micro) == 0) {
    step.microbatches = step.batch / (step.dp * micro);
  } else if (step.pp > 1 && row.skip.empty()) {
    row.skip = "the row does not state the micro-batch of its pipeline";
  }
  if (const std::string system = fields.text("system"); !system.empty()) step.system = system;
  return {};
}

Status read_phase(const StepFields& fields, StepRow& row) {
  Request& step = row.request.step;
  row.phase = fields.text("phase");
  constexpr std::array<std::string_view, 6> kPhases{"train", "prefill",  "decode",
                                                    "infer", "generate", "serve"};
  if (std::find(kPhases.begin(), kPhases.end(), row.phase) == kPhases.end()) {
    return bad_input(fields.where("phase"),
                     fmt::format("unknown phase \"{}\"", printable(row.phase)),
                     did_you_mean(row.phase, kPhases, "phases are"));
  }
  row.kind = row.phase == "generate" ? StepKind::Generate
             : row.phase == "serve"  ? StepKind::Serve
                                     : StepKind::Step;
  if (row.kind == StepKind::Step) step.phase = row.phase;
  ROOFTILE_TRY(const std::int64_t sequence, fields.size("seq", 0));
  ROOFTILE_TRY(const std::int64_t context, fields.size("context", 0));
  ROOFTILE_TRY(row.request.osl, fields.size("output", 1));
  row.request.isl = std::max<std::int64_t>(sequence, 1);
  if (sequence > 0 && row.phase != "decode") step.sequence = sequence;
  if (context > 0 && row.phase == "decode") step.context = context;
  return {};
}

void read_formats(const StepFields& fields, StepRow& row) {
  Request& step = row.request.step;
  step.dtype = fields.text("dtype");
  if (!parse_dtype(step.dtype) && row.skip.empty())
    row.skip = fmt::format("the dtype {} is not modelled", printable(step.dtype));
  const std::string weights = fields.text("weight_dtype");
  const std::string cache = fields.text("kv_dtype");
  if (!weights.empty() && weights != step.dtype) step.weight_dtype = weights;
  if (!cache.empty()) step.kv_dtype = cache;
  // No row records the format of its cache: that of the products is what engines usually choose.
  const bool cached = row.phase != "train" && row.phase != "infer";
  if (cache.empty() && cached) {
    const bool fp8 = step.dtype.starts_with("fp8");
    step.kv_dtype = fp8 ? step.dtype : "auto";
    row.assumed = fp8 ? "fp8 cache" : fmt::format("{} cache", step.dtype);
  }
}

Status read_training(const StepFields& fields, StepRow& row) {
  Request& step = row.request.step;
  if (row.phase != "train") return {};
  const std::string recompute = fields.text("recompute");
  step.recompute = recompute == "full";
  if (recompute != "full" && recompute != "none" && !recompute.empty() && row.skip.empty())
    row.skip = fmt::format("recomputation \"{}\" is not modelled", printable(recompute));
  const std::string optimizer = fields.text("optimizer");
  if (!optimizer.empty()) step.optimizer = optimizer;
  return {};
}

/// How many requests of a server run at once is not recorded: where the mean request waits longer
/// for its first token than it takes to give the others, most of them are in a queue.
Status skip_queues(const StepFields& fields, StepRow& row) {
  if (row.kind != StepKind::Serve || row.request.disaggregated || !row.skip.empty()) return {};
  if (!fields.has("ttft_ms") || fields.text("ttft_ms").empty()) return {};
  ROOFTILE_TRY(const double ttft, fields.number("ttft_ms"));
  if (ttft > row.measured_ms * static_cast<double>(row.request.osl - 1))
    row.skip = "requests wait in a queue longer than they run: fewer run at once than the row says";
  return {};
}

Result<StepRow> read_row(const StepFields& fields, const std::string& folder) {
  StepRow row;
  Request& step = row.request.step;
  row.name = fields.text("case");
  row.source = fields.text("source");
  row.framework = fields.text("framework");
  row.stack = fields.text("stack");
  row.device = fields.text("gpu");
  step.gpu = row.device;
  step.stack = row.stack;
  step.model = fields.text("model");
  if (step.model.ends_with(".json")) step.model = folder + "/" + step.model;
  ROOFTILE_CHECK(read_phase(fields, row));
  ROOFTILE_CHECK(read_parallel(fields, row));
  read_formats(fields, row);
  ROOFTILE_CHECK(read_training(fields, row));
  if (row.kind == StepKind::Generate) row.request.batch = step.batch;
  if (row.kind == StepKind::Serve) row.request.concurrency = step.batch;
  row.request.disaggregated = fields.text("note").find("disaggregated") != std::string::npos;
  ROOFTILE_TRY(row.measured_ms, fields.number("measured_ms"));
  if (!(row.measured_ms > 0))
    return bad_input(fields.where("measured_ms"), "a time must be positive");
  ROOFTILE_CHECK(skip_queues(fields, row));
  if (!fields.text("memory_gib").empty()) {
    ROOFTILE_TRY(row.measured_memory_gib, fields.number("memory_gib"));
  }
  return row;
}

ErrorSummary summary_of(const std::string& group, const std::vector<const StepCase*>& members) {
  std::vector<Compared> compared, bounds, trivial, memory;
  for (const StepCase* one : members) {
    const double measured = one->row.measured_ms;
    compared.push_back({.measured = measured,
                        .predicted = one->predicted_ms,
                        .low = one->low_ms,
                        .high = one->high_ms});
    bounds.push_back({.measured = measured, .predicted = one->bound_ms});
    trivial.push_back({.measured = measured, .predicted = one->bound_ms / kTrivialFraction});
    if (one->row.measured_memory_gib && one->predicted_memory_gib)
      memory.push_back(
          {.measured = *one->row.measured_memory_gib, .predicted = *one->predicted_memory_gib});
  }
  ErrorSummary summary;
  static_cast<ErrorStatistics&>(summary) = error_statistics(compared);
  summary.group = group;
  const auto baseline = [&](const char* name, const std::vector<Compared>& rows) {
    if (rows.empty()) return;
    summary.baselines[name] = {.mean_error = error_statistics(rows).mean_error,
                               .cases = static_cast<std::int64_t>(rows.size())};
  };
  baseline("bound", bounds);
  baseline("trivial", trivial);
  baseline("memory", memory);
  return summary;
}

}  // namespace

bool is_step_file(const std::string& path) {
  auto csv = CsvReader::open(path, {});
  if (!csv) return false;
  const auto header = CsvHeader::read(*csv);
  return header && header->find("case") && header->find("measured_ms") && header->find("framework");
}

Result<std::vector<StepRow>> read_steps(const std::string& file) {
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(file, {}));
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  std::map<std::string, std::size_t, std::less<>> columns;
  const auto need = [&](std::string_view name) -> Status {
    ROOFTILE_TRY(const std::size_t column, header.column(name));
    columns.emplace(name, column);
    return {};
  };
  for (const std::string_view name : kCaseColumns) ROOFTILE_CHECK(need(name));
  for (const std::string_view name : {"measured_ms", "memory_gib", "note"})
    ROOFTILE_CHECK(need(name));
  if (header.find("ttft_ms")) ROOFTILE_CHECK(need("ttft_ms"));
  const std::filesystem::path path(file);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  std::vector<StepRow> rows;
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(header.check_width(csv));
    ROOFTILE_TRY(StepRow row, read_row(StepFields(csv, columns), folder));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return bad_input(file, "no rows", "expected one measured step per line");
  return rows;
}

std::vector<ErrorSummary> summarize_steps(const std::vector<StepCase>& cases) {
  std::map<std::string, std::vector<const StepCase*>> groups;
  for (const StepCase& one : cases) {
    if (!one.skipped.empty()) continue;
    const StepRow& row = one.row;
    const std::string of_phase = row.source + "/" + row.phase;
    for (const std::string& group :
         {std::string("all"), "gpu/" + row.device, "framework/" + row.framework,
          "phase/" + row.phase, "stack/" + row.stack, "source/" + of_phase,
          "source/" + of_phase + "/" + row.device}) {
      groups[group].push_back(&one);
    }
  }
  std::vector<ErrorSummary> summaries;
  for (const auto& [group, members] : groups) summaries.push_back(summary_of(group, members));
  return summaries;
}

}  // namespace rooftile::calibration
