// SPDX-License-Identifier: Apache-2.0
#include "hardware/calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text.h"
#include "core/utf8.h"

namespace rooftile::hardware {

namespace {

// What a file may hold: far more than any measurement gave, and little enough that the posterior
// of 512 rows can be computed in double precision.
struct Limits {
  double low, high;
};
constexpr Limits kPriorLimits{0, 3};
constexpr Limits kNoiseLimits{0.005, 3};
constexpr Limits kLengthLimits{0.05, 1000};
constexpr Limits kCoordinateLimits{-1e4, 1e4};
constexpr Limits kShareLimits{-10, 10};
constexpr Limits kResidualLimits{-20, 20};
constexpr Limits kDoubtLimits{1, 1e6};
constexpr Limits kFactorLimits{0.01, 100};
constexpr std::size_t kMostCoordinates = 16;
constexpr std::int64_t kMostMeasuredRows = 1'000'000'000;

Result<double> bounded_number(const JsonView& view, Limits limits) {
  ROOFTILE_TRY(const double value, view.number());
  if (!(value >= limits.low && value <= limits.high))
    return view.error(fmt::format("{} is outside {} to {}", value, limits.low, limits.high));
  return value;
}

Result<double> bounded_member(const JsonView& object, std::string_view key, Limits limits) {
  ROOFTILE_TRY(const JsonView member, object.at(key));
  return bounded_number(member, limits);
}

Result<std::vector<double>> bounded_list(const JsonView& object, std::string_view key,
                                         Limits limits) {
  ROOFTILE_TRY(const JsonView list, object.at(key));
  ROOFTILE_TRY(const auto elements, list.elements());
  if (elements.size() > kMostCoordinates)
    return list.error(fmt::format("has more than {} numbers", kMostCoordinates));
  std::vector<double> values;
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(const double value, bounded_number(element, limits));
    values.push_back(value);
  }
  return values;
}

Result<std::string> text_member(const JsonView& object, std::string_view key) {
  ROOFTILE_TRY(const JsonView member, object.at(key));
  return member.string();
}

Status read_prior(const JsonView& object, Calibration& calibration) {
  std::vector<std::string_view> keys{"level"};
  for (const Part part : kAllParts) keys.push_back(name_of(part));
  ROOFTILE_TRY(const JsonView prior, object.at("prior"));
  ROOFTILE_CHECK(prior.expect_keys(keys));
  for (const Part part : kAllParts) {
    ROOFTILE_TRY(calibration.prior[static_cast<std::size_t>(part)],
                 bounded_member(prior, name_of(part), kPriorLimits));
  }
  ROOFTILE_TRY(calibration.level, bounded_member(prior, "level", kPriorLimits));
  return {};
}

Status read_families(const JsonView& object, Calibration& calibration) {
  static constexpr std::array<std::string_view, 3> kKeys{"length", "amplitude", "noise"};
  ROOFTILE_TRY(const JsonView families, object.at("families"));
  ROOFTILE_TRY(const auto members, families.members());
  for (const auto& [name, member] : members) {
    ROOFTILE_CHECK(member.expect_keys(kKeys));
    CalibrationFamily family;
    ROOFTILE_TRY(family.length, bounded_member(member, "length", kLengthLimits));
    ROOFTILE_TRY(family.amplitude, bounded_member(member, "amplitude", kPriorLimits));
    ROOFTILE_TRY(family.noise, bounded_member(member, "noise", kNoiseLimits));
    calibration.families[name] = family;
  }
  return {};
}

Result<CalibrationRow> read_calibration_row(const JsonView& object,
                                            const Calibration& calibration) {
  static constexpr std::array<std::string_view, 5> kKeys{"family", "at", "shares", "residual",
                                                         "doubt"};
  ROOFTILE_CHECK(object.expect_keys(kKeys));
  CalibrationRow row;
  ROOFTILE_TRY(row.family, text_member(object, "family"));
  if (!calibration.families.contains(row.family))
    return object.error(fmt::format("there is no family \"{}\"", printable(row.family)),
                        "\"families\" lists them");
  ROOFTILE_TRY(row.at, bounded_list(object, "at", kCoordinateLimits));
  ROOFTILE_TRY(const auto shares, bounded_list(object, "shares", kShareLimits));
  if (shares.size() != kParts)
    return object.error(fmt::format("has {} shares instead of {}", shares.size(), kParts));
  std::copy(shares.begin(), shares.end(), row.shares.begin());
  ROOFTILE_TRY(row.residual, bounded_member(object, "residual", kResidualLimits));
  ROOFTILE_TRY(row.doubt, bounded_member(object, "doubt", kDoubtLimits));
  return row;
}

Status read_rows(const JsonView& object, Calibration& calibration) {
  ROOFTILE_TRY(const JsonView rows, object.at("rows"));
  ROOFTILE_TRY(const auto elements, rows.elements());
  if (elements.size() > kMostCalibrationRows)
    return rows.error(fmt::format("has more than {} rows", kMostCalibrationRows));
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(CalibrationRow row, read_calibration_row(element, calibration));
    calibration.rows.push_back(std::move(row));
  }
  return {};
}

Status read_steps(const JsonView& object, Calibration& calibration) {
  static constexpr std::array<std::string_view, 5> kKeys{"compute", "memory", "host", "rows",
                                                         "noise"};
  const auto steps = object.find("steps");
  if (!steps) return {};
  ROOFTILE_CHECK(steps->expect_keys(kKeys));
  StepFactors factors;
  ROOFTILE_TRY(factors.compute, bounded_member(*steps, "compute", kFactorLimits));
  ROOFTILE_TRY(factors.memory, bounded_member(*steps, "memory", kFactorLimits));
  ROOFTILE_TRY(factors.host, bounded_member(*steps, "host", kFactorLimits));
  ROOFTILE_TRY(factors.noise, bounded_member(*steps, "noise", kNoiseLimits));
  ROOFTILE_TRY(const JsonView rows, steps->at("rows"));
  ROOFTILE_TRY(factors.rows, rows.integer(1, kMostMeasuredRows));
  calibration.steps = factors;
  return {};
}

Status read_links(const JsonView& object, Calibration& calibration) {
  static constexpr std::array<std::string_view, 3> kKeys{"bandwidth", "start", "rows"};
  const auto links = object.find("links");
  if (!links) return {};
  ROOFTILE_CHECK(links->expect_keys(kKeys));
  LinkFactors factors;
  ROOFTILE_TRY(factors.bandwidth, bounded_member(*links, "bandwidth", kFactorLimits));
  ROOFTILE_TRY(factors.start, bounded_member(*links, "start", kFactorLimits));
  ROOFTILE_TRY(const JsonView rows, links->at("rows"));
  ROOFTILE_TRY(factors.rows, rows.integer(1, kMostMeasuredRows));
  calibration.links = factors;
  return {};
}

std::string row_json(const CalibrationRow& row) {
  return fmt::format(
      "{{\"family\": {}, \"at\": [{}], \"shares\": [{}], \"residual\": {}, \"doubt\": {}}}",
      json_string(row.family), fmt::join(row.at, ", "), fmt::join(row.shares, ", "), row.residual,
      row.doubt);
}

}  // namespace

std::string_view name_of(Part part) {
  switch (part) {
    case Part::Compute: return "compute";
    case Part::L2: return "l2";
    case Part::Dram: return "dram";
    case Part::Launch: return "launch";
    case Part::Host: return "host";
  }
  return "?";
}

Result<Calibration> read_calibration(const JsonView& object) {
  static constexpr std::array<std::string_view, 7> kKeys{
      "predictor", "weights", "prior", "families", "rows", "steps", "links"};
  ROOFTILE_CHECK(object.expect_keys(kKeys));
  Calibration calibration;
  ROOFTILE_TRY(calibration.predictor, text_member(object, "predictor"));
  ROOFTILE_TRY(calibration.weights, text_member(object, "weights"));
  ROOFTILE_CHECK(read_prior(object, calibration));
  ROOFTILE_CHECK(read_families(object, calibration));
  ROOFTILE_CHECK(read_rows(object, calibration));
  ROOFTILE_CHECK(read_steps(object, calibration));
  ROOFTILE_CHECK(read_links(object, calibration));
  return calibration;
}

std::string to_json(const Calibration& c) {
  std::vector<std::string> prior{fmt::format("\"level\": {}", c.level)};
  for (const Part part : kAllParts)
    prior.push_back(
        fmt::format("\"{}\": {}", name_of(part), c.prior[static_cast<std::size_t>(part)]));
  std::vector<std::string> families;
  for (const auto& [name, f] : c.families)
    families.push_back(fmt::format("{}: {{\"length\": {}, \"amplitude\": {}, \"noise\": {}}}",
                                   json_string(name), f.length, f.amplitude, f.noise));
  std::vector<std::string> rows;
  for (const CalibrationRow& row : c.rows) rows.push_back(row_json(row));
  const auto block = [](const std::vector<std::string>& lines) {
    return lines.empty() ? std::string()
                         : fmt::format("\n      {}\n    ", fmt::join(lines, ",\n      "));
  };
  std::string text = fmt::format(
      "{{\n    \"predictor\": {},\n    \"weights\": {},\n    \"prior\": {{{}}},\n"
      "    \"families\": {{{}}},\n    \"rows\": [{}]",
      json_string(c.predictor), json_string(c.weights), fmt::join(prior, ", "), block(families),
      block(rows));
  if (c.steps)
    text += fmt::format(
        ",\n    \"steps\": {{\"compute\": {}, \"memory\": {}, \"host\": {}, \"rows\": {}, "
        "\"noise\": {}}}",
        c.steps->compute, c.steps->memory, c.steps->host, c.steps->rows, c.steps->noise);
  if (c.links)
    text += fmt::format(",\n    \"links\": {{\"bandwidth\": {}, \"start\": {}, \"rows\": {}}}",
                        c.links->bandwidth, c.links->start, c.links->rows);
  return text + "\n  }";
}

}  // namespace rooftile::hardware
