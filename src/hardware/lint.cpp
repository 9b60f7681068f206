// SPDX-License-Identifier: Apache-2.0
#include "hardware/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/provenance.h"
#include "core/text.h"
#include "hardware/catalog_files.h"
#include "hardware/lint_checks.h"
#include "hardware/load.h"
#include "hardware/machine.h"
#include "hardware/plausible.h"

namespace rooftile::hardware {

namespace {

struct Check {
  LintRule rule;
  void (*run)(const GpuSpec& gpu, LintReport& report) = nullptr;
};

constexpr std::string_view kAllowance = "allowance";

constexpr std::array<Check, 29> kChecks{{
    {{kUnitSlip, "every value is within orders of magnitude of real GPUs and of other values"},
     check_unit_slip},
    {{"architecture", "architecture and vendor match the ISA"}, check_architecture},
    {{"rate-unchecked", "every peak has its FLOP per clock, in the file or by its ISA"},
     check_rate_unchecked},
    {{"peak-product", "peak = SMs x FLOP per clock x clock, within 2 %"}, check_peak_product},
    {{"peak-twice", "no peak is twice that product (a figure with sparsity)"}, check_peak_twice},
    {{"peak-half", "no peak is half that product (multiply-adds counted once)"}, check_peak_half},
    {{"arch-rate", "FLOP per SM and clock match the architecture"}, check_arch_rate},
    {{"fp32-lanes", "flop_per_clock.fp32 = 2 x fp32_lanes"}, check_fp32_lanes},
    {{"tensor-ratio", "BF16, TF32, FP8 and FP4 have the usual ratio to FP16"}, check_tensor_ratio},
    {{"tensor-vector", "tensor, FP64 and FP16 rates have a plausible ratio to the vector rate"},
     check_tensor_vector},
    {{"accumulate", "accumulating in FP16 is twice as fast as the rate in peak"}, check_accumulate},
    {{"clock-order", "base and tensor clock do not exceed boost"}, check_clock_order},
    {{"power", "FP32 rate per watt is plausible for a GPU"}, check_power},
    {{"warps", "max_warps x warp_size = max_threads"}, check_warps},
    {{"sm-limits", "warp size, registers, threads and blocks of an SM match its ISA"},
     check_sm_limits},
    {{"l2-die", "the L2 size is that of a known die of the architecture"}, check_l2_die},
    {{"dram-type", "the DRAM type is known"}, check_dram_type},
    {{"dram-rate", "the data rate of a pin is one that the DRAM type has"}, check_dram_rate},
    {{"dram-capacity", "a stack or chip of the DRAM type exists with that capacity"},
     check_dram_capacity},
    {{"dram-product", "DRAM bandwidth = bus width x data rate / 8, within 2 %"},
     check_dram_product},
    {{"dram-factor", "an exception of dram-product covers at most 20 %"}, check_dram_factor},
    {{"ridge", "peak / DRAM bandwidth is plausible for FP32 and for narrow tensor types"},
     check_ridge},
    {{"bandwidth-order", "L1 >= L2 >= last level >= DRAM bandwidth"}, check_bandwidth_order},
    {{"latency-order", "L1 < L2 < last level < DRAM latency"}, check_latency_order},
    {{"measured-above-peak", "no published measurement exceeds the data sheet"},
     check_measured_above},
    {{"measured-below-peak", "no published measurement is below a quarter of the data sheet"},
     check_measured_below},
    {{"shared", "shared_per_block <= shared <= L1 where they are one array"}, check_shared},
    {{"line-sector", "a cache line is 1, 2, 4 or 8 sectors"}, check_line_sector},
    {{"link-product", "a link's rate is what its name says, in one direction"}, check_link_product},
}};

constexpr LintRule kAllowanceRule{kAllowance, "every allowance names a rule and is needed"};

/// `*` stands for any text, once.
bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  return text.size() >= head.size() + tail.size() && text.starts_with(head) && text.ends_with(tail);
}

/// "rule" or "rule:/pointer".
std::pair<std::string_view, std::string_view> split_allowance(std::string_view key) {
  const std::size_t colon = key.find(':');
  if (colon == std::string_view::npos) return {key, "*"};
  return {key.substr(0, colon), key.substr(colon + 1)};
}

void apply_allowances(const GpuSpec& gpu, std::vector<LintFinding>& findings,
                      std::set<std::string>& used) {
  for (LintFinding& finding : findings) {
    for (const auto& [key, reason] : gpu.lint_allow) {
      const auto [rule, pointer] = split_allowance(key);
      if (rule == finding.rule && matches(pointer, finding.pointer)) {
        finding.allowed = reason;
        used.insert(key);
      }
    }
  }
}

void check_allowances(const GpuSpec& gpu, const std::set<std::string>& used,
                      std::vector<LintFinding>& findings) {
  std::vector<std::string_view> ids;
  for (const LintRule& rule : lint_rules()) ids.push_back(rule.id);
  LintReport report(kAllowance, findings);
  for (const auto& [key, reason] : gpu.lint_allow) {
    const auto [rule, pointer] = split_allowance(key);
    if (std::find(ids.begin(), ids.end(), rule) == ids.end()) {
      report.add("/lint/allow", fmt::format("\"{}\" is not a lint rule; {}", printable(rule),
                                            did_you_mean(rule, ids, "rules are")));
    } else if (!used.contains(key)) {
      report.add("/lint/allow", fmt::format("\"{}\" allows nothing: no such finding", key));
    }
  }
}

}  // namespace

std::span<const LintRule> lint_rules() {
  static const auto rules_and_allowance = [] {
    std::array<LintRule, kChecks.size() + 1> rules;
    for (std::size_t i = 0; i < kChecks.size(); ++i) rules[i] = kChecks[i].rule;
    rules.back() = kAllowanceRule;
    return rules;
  }();
  return rules_and_allowance;
}

std::vector<LintFinding> lint(const GpuSpec& gpu) {
  std::vector<LintFinding> findings;
  std::set<std::string> used;
  for (const Check& check : kChecks) {
    LintReport report(check.rule.id, findings);
    check.run(gpu, report);
    if (check.rule.id == kUnitSlip) {
      apply_allowances(gpu, findings, used);
      if (!is_clean(std::span(findings)))
        return findings;  // the rest would repeat the same mistake
    }
  }
  apply_allowances(gpu, findings, used);
  check_allowances(gpu, used, findings);
  return findings;
}

namespace {

LintedFile linted(std::string file, const Result<GpuSpec>& gpu, const Catalog& catalog) {
  if (!gpu) return {.file = std::move(file), .id = {}, .error = gpu.error(), .findings = {}};
  std::vector<Input> inputs = inputs_of({.gpu = *gpu, .ceilings = {}});
  add_inputs(lint_inputs(*gpu, catalog), inputs);
  return {.file = std::move(file),
          .id = gpu->id,
          .error = {},
          .findings = lint(*gpu),
          .inputs = std::move(inputs)};
}

void lint_architectures(const Catalog& catalog, std::vector<LintedFile>& files) {
  for (const std::string& isa : architecture_names(catalog)) {
    const auto arch = load_architecture(catalog, isa);
    if (arch)
      files.push_back({.file = arch->file,
                       .id = isa,
                       .error = {},
                       .findings = lint(*arch),
                       .inputs = {arch->input}});
    else
      files.push_back({.file = isa, .id = {}, .error = arch.error(), .findings = {}});
  }
}

void lint_memory_types(const Catalog& catalog, std::vector<LintedFile>& files) {
  for (const std::string& name : memory_type_names(catalog)) {
    const auto type = find_memory_type(catalog, name);
    if (!type) {
      files.push_back({.file = name, .id = {}, .error = type.error(), .findings = {}});
      continue;
    }
    files.push_back({.file = (*type)->file, .id = name, .error = {}, .findings = {}});
    if (const auto file = catalog.read(memory_type_file(name)))
      files.back().inputs = {make_input("memory_type", name, *file)};
  }
}

}  // namespace

Result<std::vector<LintedFile>> lint_files(const Catalog& catalog,
                                           std::span<const std::string> names_or_paths) {
  std::vector<LintedFile> files;
  for (const std::string& name : names_or_paths) {
    const auto gpu = load_gpu(catalog, name);
    if (!gpu && gpu.error().where.empty()) return tl::unexpected(gpu.error());  // unknown name
    files.push_back(linted(gpu ? gpu->file : name, gpu, catalog));
  }
  if (!names_or_paths.empty()) return files;
  for (const GpuEntry& entry : gpu_entries(catalog)) {
    files.push_back(linted(catalog.name_of(entry.file), load_gpu(catalog, entry), catalog));
  }
  lint_architectures(catalog, files);
  lint_memory_types(catalog, files);
  return files;
}

bool is_refused(const LintFinding& finding) {
  return finding.rule == kUnitSlip && !finding.allowed;
}

bool is_clean(std::span<const LintedFile> files) {
  return std::all_of(files.begin(), files.end(), [](const LintedFile& file) {
    return !file.error && is_clean(std::span(file.findings));
  });
}

bool is_clean(std::span<const LintFinding> findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const LintFinding& finding) { return finding.allowed.has_value(); });
}

}  // namespace rooftile::hardware
