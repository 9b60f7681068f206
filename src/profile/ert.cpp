// SPDX-License-Identifier: Apache-2.0
//
// Results of the Empirical Roofline Toolkit: roofline.json and `sum` are roofs, `max`, `pre` and
// `try.NNN` are sweep points that characterize's ERT rule reduces to roofs.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "profile/importer.h"

namespace rooftile::profile {

namespace {

using hardware::MemoryLevel;

MeasuredRoof memory_roof(std::string_view name, double gbytes, const std::string& source) {
  MeasuredRoof roof{.label = std::string(name),
                    .level = {},
                    .rate = {},
                    .value = gbytes * 1e9,
                    .memory = true,
                    .source = source};
  if (name == "L1") roof.level = MemoryLevel::L1;
  if (name == "L2") roof.level = MemoryLevel::L2;
  if (name == "DRAM") roof.level = MemoryLevel::Dram;
  return roof;
}

/// A precision that nobody knows keeps its label and is no roof of any kernel.
MeasuredRoof compute_roof(std::string_view name, double gflops, const std::string& source) {
  return {.label = std::string(name),
          .level = {},
          .rate = hardware::parse_ert_rate(name),
          .value = gflops * 1e9,
          .memory = false,
          .source = source};
}

Status read_pairs(const JsonView& section, bool memory, RawProfile& profile) {
  ROOFTILE_TRY(const JsonView data, section.at("data"));
  ROOFTILE_TRY(const auto rows, data.elements());
  for (const JsonView& row : rows) {
    ROOFTILE_TRY(const auto cells, row.elements());
    if (cells.size() != 2) return row.error("expected [name, value]");
    ROOFTILE_TRY(const std::string name, cells[0].string());
    ROOFTILE_TRY(const double value, cells[1].number());
    if (!(value > 0.0)) return cells[1].error("a roof must be positive");
    const std::string source = profile.files.front() + " (ERT)";
    profile.roofs.push_back(memory ? memory_roof(name, value, source)
                                   : compute_roof(name, value, source));
  }
  return {};
}

Result<RawProfile> import_json(TextSource& source, RawProfile profile) {
  std::string text;
  std::string_view line;
  while (true) {
    ROOFTILE_TRY(const bool more, source.next_line(line));
    if (!more) break;
    text.append(line).push_back('\n');
    if (text.size() > (std::size_t{64} << 20)) {
      return bad_input(source.name(), "this roofline.json is larger than 64 MiB");
    }
  }
  ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(text, source.name()));
  ROOFTILE_TRY(const JsonView empirical, document.root().at("empirical"));
  ROOFTILE_TRY(const JsonView gbytes, empirical.at("gbytes"));
  ROOFTILE_TRY(const JsonView gflops, empirical.at("gflops"));
  ROOFTILE_CHECK(read_pairs(gbytes, true, profile));
  ROOFTILE_CHECK(read_pairs(gflops, false, profile));
  return profile;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  for (const std::string_view word : split(trim(line), ' ')) {
    if (!word.empty()) out.push_back(word);
  }
  return out;
}

/// One line of numbers: 5 columns are a try file, 11 a pre or max file.
Status sweep_line(const std::vector<std::string_view>& row, const std::string& where, DType dtype,
                  RawProfile& profile) {
  std::vector<double> v;
  for (const std::string_view word : row) {
    const auto value = parse_double(word);
    if (!value || !(*value >= 0.0)) {
      return bad_input(where, fmt::format("\"{}\" is not a positive number", printable(word)));
    }
    v.push_back(*value);
  }
  if (v.size() == 5 && v[2] > 0.0) {
    profile.sweep.push_back({.working_set = v[0],
                             .trials = static_cast<std::int64_t>(std::min(v[1], 9e15)),
                             .bandwidth = v[3] / v[2] * 1e6,
                             .rate = v[4] / v[2] * 1e6,
                             .dtype = dtype});
  } else if (v.size() == 11) {
    profile.sweep.push_back({.working_set = v[0],
                             .trials = static_cast<std::int64_t>(std::min(v[1], 9e15)),
                             .bandwidth = v[6] * 1e9,
                             .rate = v[9] * 1e9,
                             .dtype = dtype});
  } else {
    return bad_input(where,
                     fmt::format("an ERT line has 5 or 11 numbers, this one has {}", v.size()));
  }
  return {};
}

Result<RawProfile> import_lines(TextSource& source, RawProfile profile) {
  std::string_view line;
  DType dtype = DType::Fp64;
  while (true) {
    ROOFTILE_TRY(const bool more, source.next_line(line));
    if (!more || trim(line) == "META_DATA") break;
    const auto row = words(line);
    if (row.empty()) continue;
    const auto first = parse_double(row.front());
    if (!first) {  // "fp32" starts the points of a precision
      if (const auto named = parse_dtype(to_lower(row.front()))) dtype = *named;
      continue;
    }
    if (row.size() <= 3 && !(*first > 0.0)) {
      return bad_input(source.where(),
                       fmt::format("\"{}\" is not a positive number", printable(row.front())));
    }
    if (row.size() <= 3) {
      const std::string file = profile.files.front() + " (ERT)";
      if (row.back() == "GFLOPs") {
        // "7068.86 FP64 GFLOPs" or "4742.1 GFLOPs"
        profile.roofs.push_back(
            compute_roof(row.size() == 3 ? fmt::format("{} GFLOPs", row[1]) : std::string("GFLOPs"),
                         *first, file));
      } else if (row.size() == 2 && row.back() != "Weight") {
        profile.roofs.push_back(memory_roof(row.back(), *first, file));
      }
      continue;
    }
    ROOFTILE_CHECK(sweep_line(row, source.where(), dtype, profile));
  }
  if (profile.roofs.empty() && profile.sweep.empty()) {
    return bad_input(source.name(), "this ERT file has no roofs and no points");
  }
  return profile;
}

bool numbers_only(std::string_view line, std::size_t count) {
  const auto row = words(line);
  return row.size() == count && std::all_of(row.begin(), row.end(), [](std::string_view word) {
           return parse_double(word).has_value();
         });
}

}  // namespace

bool recognises_ert(std::string_view head) {
  const std::string_view text = trim(head);
  if (text.starts_with('{')) {
    return text.find("\"empirical\"") != std::string_view::npos &&
           text.find("\"gbytes\"") != std::string_view::npos;
  }
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.empty() || line == "fp16" || line == "fp32" || line == "fp64") continue;
    return line.ends_with(" GFLOPs") || numbers_only(line, 5) || numbers_only(line, 11);
  }
  return false;
}

Result<RawProfile> import_ert(TextSource& source) {
  RawProfile profile;
  profile.format = "ert";
  profile.files.push_back(source.name());
  ROOFTILE_TRY(const std::string_view head, source.peek(4096));
  const bool json = trim(head).starts_with('{');
  return json ? import_json(source, std::move(profile)) : import_lines(source, std::move(profile));
}

}  // namespace rooftile::profile
