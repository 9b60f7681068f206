// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "calibration/layouts.h"
#include "core/error_statistics.h"
#include "core/number_of.h"
#include "core/provenance.h"
#include "core/text.h"
#include "cost/predictor.h"
#include "ops/any_op.h"

namespace rooftile::calibration {

namespace {

struct Counted {
  std::string group;
  ops::AnyOp op;
  DType dtype = DType::Fp32;
  double l2 = 0, dram = 0;  ///< bytes
};

Result<double> counted_bytes(const Source& s, std::string_view column) {
  ROOFTILE_TRY(const std::size_t index, s.header.column(column));
  ROOFTILE_TRY(const double bytes, s.csv.number(index));
  if (!(bytes > 0) || bytes > 1e18)
    return bad_input(s.csv.where(index), fmt::format("{} bytes cannot be compared", bytes),
                     "counters are positive bytes");
  return bytes;
}

Result<DType> counted_dtype(const Source& s) {
  ROOFTILE_TRY(const auto text, s.text("dtype"));
  auto dtype = parse_dtype(text);
  if (!dtype) return bad_input(s.where("dtype"), dtype.error().message, dtype.error().hint);
  return dtype;
}

Result<Counted> product_counters(const Source& s) {
  ROOFTILE_TRY(const auto phase, s.text("phase"));
  Counted row{.group = std::string(phase), .op = ops::Linear()};
  ops::Linear linear{.bias = false};
  ROOFTILE_TRY(linear.rows, s.size("m"));
  ROOFTILE_TRY(linear.out, s.size("n"));
  ROOFTILE_TRY(linear.in, s.size("k"));
  row.op = linear;
  return row;
}

/// Padding as a number, or "same": that of TensorFlow for this filter and stride.
Result<std::int64_t> padding_of(const Source& s, std::int64_t size, std::int64_t filter,
                                std::int64_t stride) {
  ROOFTILE_TRY(const auto text, s.text("pad"));
  if (text != "same") return s.integer("pad");
  const std::int64_t outputs = (size + stride - 1) / stride;
  return std::max<std::int64_t>(0, (outputs - 1) * stride + filter - size + 1) / 2;
}

/// Nothing for what is not a forward pass.
Result<std::optional<Counted>> conv_counters(const Source& s) {
  ROOFTILE_TRY(const auto pass, s.text("pass"));
  if (pass != "forward") return std::nullopt;
  ops::ConvShape c;
  ROOFTILE_TRY(c.n, s.size("n"));
  ROOFTILE_TRY(c.c, s.size("c"));
  ROOFTILE_TRY(c.h, s.size("h"));
  ROOFTILE_TRY(c.w, s.size("w"));
  ROOFTILE_TRY(c.k, s.size("k"));
  ROOFTILE_TRY(c.r, s.size("r"));
  ROOFTILE_TRY(c.s, s.size("s"));
  ROOFTILE_TRY(c.stride_h, s.size("stride"));
  c.stride_w = c.stride_h;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (std::max({c.h, c.w, c.r, c.s, c.stride_h}) > kMost)
    return bad_input(s.csv.where(), "the layer is too large");
  ROOFTILE_TRY(c.pad_h, padding_of(s, c.h, c.r, c.stride_h));
  ROOFTILE_TRY(c.pad_w, padding_of(s, c.w, c.s, c.stride_w));
  ROOFTILE_TRY(const auto framework, s.text("framework"));
  return Counted{.group = std::string(framework), .op = ops::Conv2d{.conv = c}};
}

struct LevelErrors {
  std::vector<Compared> l2, dram;
};

std::vector<std::string> cells_of(const std::string& group, const char* level,
                                  const std::vector<Compared>& rows) {
  const ErrorStatistics s = error_statistics(rows);
  const auto percent = [](double value) { return fmt::format("{:.1f}", 100 * value); };
  return {group,
          level,
          std::to_string(s.cases),
          percent(s.mean_error),
          percent(s.median_error),
          percent(s.geometric_error),
          percent(s.p90_error),
          fmt::format("{:+.1f}", 100 * s.bias)};
}

/// Adds the row's bytes next to those of the predicted kernel.
Status compare(const Counted& row, const Source& s, const hardware::Machine& machine,
               const cost::Predictor& predictor, std::map<std::string, LevelErrors>& groups) {
  if (auto status = ops::check(row.op); !status)
    return bad_input(s.csv.where(), status.error().message, status.error().hint);
  ops::KernelList works;
  ops::forward(row.op, {.precision = ops::precision_of(row.dtype)}, works);
  const auto job = cost::bind(works.front(), machine);
  if (!job) return unsupported(s.csv.where(), job.error().message, job.error().hint);
  const traffic::Traffic bytes = predictor.estimate(*job, machine).traffic;
  for (const std::string& group :
       {std::string("all"), fmt::format("{} {}", row.group, name_of(row.dtype))}) {
    LevelErrors& errors = groups[group];
    errors.l2.push_back({.measured = row.l2, .predicted = bytes.l2.base()});
    errors.dram.push_back({.measured = row.dram, .predicted = bytes.dram().base()});
  }
  return {};
}

}  // namespace

Result<ValidationTable> validate_counters(CsvReader& csv, const CsvHeader& header,
                                          const Catalog& catalog) {
  ROOFTILE_TRY(const auto predictor, cost::make_predictor({}, catalog));
  const Source source{.csv = csv, .header = header, .path = csv.name()};
  const bool products = header.find("m").has_value();
  std::map<std::string, hardware::Machine> machines;
  std::map<std::string, LevelErrors> groups;
  std::int64_t skipped = 0;
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(header.check_width(csv));
    std::optional<Counted> row;
    if (products) {
      ROOFTILE_TRY(row, product_counters(source));
    } else {
      ROOFTILE_TRY(row, conv_counters(source));
    }
    if (!row) {
      ++skipped;
      continue;
    }
    ROOFTILE_TRY(row->dtype, counted_dtype(source));
    ROOFTILE_TRY(row->l2, counted_bytes(source, "l2_bytes"));
    ROOFTILE_TRY(row->dram, counted_bytes(source, "dram_bytes"));
    ROOFTILE_TRY(const auto gpu, source.text("gpu"));
    auto machine = machines.find(std::string(gpu));
    if (machine == machines.end()) {
      ROOFTILE_TRY(auto loaded, hardware::load_machine(catalog, gpu, std::nullopt));
      machine = machines.emplace(std::string(gpu), std::move(loaded)).first;
    }
    ROOFTILE_CHECK(compare(*row, source, machine->second, *predictor, groups));
  }
  if (groups.empty()) return bad_input(csv.name(), "has no row that can be compared");
  ValidationTable table;
  table.title = fmt::format("{}: bytes of the predicted kernel against counters, error %",
                            products ? "Products" : "Convolutions, forward");
  table.columns = {"group", "level", "n", "mean", "median", "geometric", "p90", "bias"};
  for (const auto& [group, errors] : groups) {
    table.rows.push_back(cells_of(group, "L2", errors.l2));
    table.rows.push_back(cells_of(group, "DRAM", errors.dram));
  }
  if (skipped > 0)
    table.notes.push_back(
        fmt::format("Skipped, as they are not forward passes: {}.", number_of(skipped, "row")));
  std::vector<Input> inputs{predictor->input()};
  for (const auto& [name, machine] : machines) add_inputs(inputs_of(machine), inputs);
  table.provenance = make_provenance(inputs);
  return table;
}

}  // namespace rooftile::calibration
