// SPDX-License-Identifier: Apache-2.0
//
// `rooftile gpus`: the catalogue as a table, and the findings of lint. Rates are dense.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/number_of.h"
#include "report/describe.h"
#include "report/gpu_json.h"
#include "report/gpu_words.h"

namespace rooftile::report {

namespace {

using hardware::LintedFile;
using hardware::LintFinding;
using nlohmann::ordered_json;

constexpr double kGiga = 1e9, kTera = 1e12, kMega = 1e6, kMebi = 1048576.0;

/// A number of the tree in multiples of a unit.
Column number_column(std::string title, std::string at, std::string name, double per, Rank rank,
                     std::string hint) {
  return {.title = std::move(title),
          .fields = {{std::move(at), std::move(name), per}},
          .unit = Unit::Number,
          .rank = rank,
          .hint = std::move(hint)};
}

std::vector<Column> gpu_columns() {
  return {
      {.title = "id", .fields = {{"id"}}, .rank = Rank::Identity},
      {.title = "name", .fields = {{"name"}}, .rank = Rank::Detail, .form = Form::Prose},
      {.title = "vendor", .fields = {{"vendor"}}, .form = Form::DataOnly},
      {.title = "architecture", .fields = {{"architecture"}}, .rank = Rank::Extra},
      {.title = "year", .fields = {{"year"}}, .unit = Unit::Count, .rank = Rank::Detail},
      {.title = "SMs", .fields = {{"sm_count"}}, .unit = Unit::Count, .rank = Rank::Useful},
      number_column("MHz", "boost_clock_hz", "boost_mhz", kMega, Rank::Useful, "boost clock"),
      number_column("FP32", "peak_flop_per_s/fp32", "fp32_tflops", kTera, Rank::Essential,
                    "TFLOP/s"),
      number_column("16-bit", "peak_16_bit_flop_per_s", "best_16_bit_tflops", kTera,
                    Rank::Essential, "TFLOP/s, dense, the better of FP16 and BF16"),
      {.title = "fp16_tensor",
       .fields = {{"peak_flop_per_s/fp16_tensor", "fp16_tensor_tflops", kTera}},
       .unit = Unit::Number,
       .form = Form::DataOnly},
      {.title = "bf16_tensor",
       .fields = {{"peak_flop_per_s/bf16_tensor", "bf16_tensor_tflops", kTera}},
       .unit = Unit::Number,
       .form = Form::DataOnly},
      {.title = "memory", .fields = {{"dram_type"}}, .rank = Rank::Useful},
      number_column("GB", "dram_bytes", "dram_gb", kGiga, Rank::Essential, "DRAM"),
      number_column("GB/s", "dram_bytes_per_s", "dram_gb_per_s", kGiga, Rank::Essential, "DRAM"),
      number_column("L2", "l2_bytes", "l2_mib", kMebi, Rank::Useful, "MiB"),
      number_column("W", "power_w", "power_w", 1, Rank::Detail, "")};
}

/// Allowed findings, one item per rule and reason.
std::vector<std::string> exceptions(const LintedFile& file) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> groups;
  for (const LintFinding& finding : file.findings) {
    if (finding.allowed) groups[{finding.rule, *finding.allowed}].push_back(finding.pointer);
  }
  std::vector<std::string> items;
  for (const auto& [key, pointers] : groups)
    items.push_back(
        fmt::format("{}: {}", file.id, exception_text(key.first, key.second, pointers)));
  return items;
}

ordered_json finding_rows(std::span<const LintedFile> files) {
  ordered_json rows = ordered_json::array();
  for (const LintedFile& file : files) {
    if (file.error) {
      rows.push_back({{"file", file.file},
                      {"id", file.id},
                      {"rule", "unreadable"},
                      {"pointer", file.error->where},
                      {"message", file.error->message}});
    }
    for (const LintFinding& finding : file.findings) {
      rows.push_back({{"file", file.file},
                      {"id", file.id},
                      {"rule", finding.rule},
                      {"pointer", finding.pointer},
                      {"message", finding.message},
                      {"allowed", finding.allowed.value_or("")}});
    }
  }
  return rows;
}

}  // namespace

Document describe(std::span<const hardware::GpuSpec> gpus, const Notes& notes) {
  Document document;
  document.title = "GPUs of the catalogue";
  document.data = gpus_json(gpus, notes);
  document.sections.emplace_back(
      Table{.kind = "gpu", .rows = {.at = "/gpus"}, .columns = gpu_columns()});
  document.sections.emplace_back(
      Note{.lines = {fmt::format("{} GPUs. FP32 and the best 16-bit tensor rate are dense TFLOP/s, "
                                 "L2 is MiB.",
                                 gpus.size()),
                     "`rooftile gpus ID` shows one with its sources."}});
  document.warnings = warnings_of(notes.warnings);
  document.provenance = notes.provenance;
  return document;
}

Document describe(std::span<const LintedFile> files, const Notes& notes) {
  Document document;
  document.data = lint_json(files, notes);
  std::vector<std::string> items, declared;
  std::size_t allowed = 0;
  for (const LintedFile& file : files) {
    if (file.error) {
      std::string text = fmt::format("{}: {}", file.error->where, file.error->message);
      if (!file.error->hint.empty()) text += fmt::format("; hint: {}", file.error->hint);
      items.push_back(std::move(text));
    }
    for (const LintFinding& finding : file.findings) {
      if (finding.allowed) {
        ++allowed;
      } else {
        items.push_back(fmt::format("{}:{}: {}: {}", file.file, finding.pointer, finding.rule,
                                    finding.message));
      }
    }
    for (std::string& item : exceptions(file)) declared.push_back(std::move(item));
  }
  document.title =
      fmt::format("{}, {}: {}, {}", number_of(files.size(), "file"),
                  number_of(hardware::lint_rules().size(), "rule"),
                  number_of(items.size(), "finding"), number_of(allowed, "declared exception"));
  document.verdict = {{.text = document.title, .tone = items.empty() ? Tone::Good : Tone::Bad}};
  if (!items.empty())
    document.sections.emplace_back(Note{.title = "Findings", .lines = items, .list = true});
  if (!declared.empty())
    document.sections.emplace_back(
        Note{.title = "Exceptions that the files declare", .lines = declared, .list = true});
  document.sections.emplace_back(Table{.kind = "finding",
                                       .rows = {.own = finding_rows(files)},
                                       .columns = {{.title = "file", .fields = {{"file"}}},
                                                   {.title = "id", .fields = {{"id"}}},
                                                   {.title = "rule", .fields = {{"rule"}}},
                                                   {.title = "pointer", .fields = {{"pointer"}}},
                                                   {.title = "message", .fields = {{"message"}}},
                                                   {.title = "allowed", .fields = {{"allowed"}}}},
                                       .shown = false});
  document.warnings = warnings_of(notes.warnings);
  document.provenance = notes.provenance;
  return document;
}

}  // namespace rooftile::report
