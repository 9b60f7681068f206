// SPDX-License-Identifier: Apache-2.0
//
// The reader table of measured rows: one entry per layout of a public campaign, told by a column
// that no other has. A layout turns a line into calls of operators, or into what else was measured
// (other_rows.h: collectives, fused layers, calls that launch nothing, steps, counted bytes).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/dataset.h"
#include "core/csv.h"
#include "ops/any_op.h"

namespace rooftile::calibration {

/// One open file with what its columns are.
struct Source {
  CsvReader& csv;
  CsvHeader header;
  std::string path;
  std::uint32_t file = 0;

  /// A whole number that may be 0: a padding, a window.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view column) const;
  [[nodiscard]] Result<std::int64_t> size(std::string_view column) const;
  [[nodiscard]] Result<std::string_view> text(std::string_view column) const;
  /// Seconds of a column in milliseconds, which must be a positive time.
  [[nodiscard]] Result<double> time(std::string_view column) const;
  [[nodiscard]] std::string where(std::string_view column) const;
  [[nodiscard]] std::uint32_t line() const;

 private:
  [[nodiscard]] Result<std::int64_t> at_least(std::int64_t least, std::string_view column) const;
};

/// One measured call of an operator.
struct RowOp {
  ops::AnyOp op;
  DType dtype = DType::Fp32;
  double measured = 0;  ///< seconds
  ops::ConvPass pass = ops::ConvPass::Forward;
  std::string_view campaign = {};   ///< where no column says it
  std::string_view algorithm = {};  ///< of a convolution, as launched
  std::optional<double> host = {};  ///< Sample::host
};
/// Empty for dtypes that are not modelled.
using RowOps = std::vector<RowOp>;

/// What of a GPU and its file a row needs to know.
struct Place {
  std::uint32_t gpu = 0;
  const Catalog& catalog;
};

/// Layout::device of rows that state their own machine.
inline constexpr std::string_view kNoDevice = "-";

struct Layout {
  std::string_view marker;  ///< a column that only this layout has
  std::string_view device;  ///< column; empty: the file's name says it; kNoDevice
  Result<RowOps> (*calls)(const Source&) = nullptr;                  ///< either this ...
  Status (*other)(const Source&, const Place&, Dataset&) = nullptr;  ///< ... or this
  std::string_view licence;
};

/// The layout of a file with these columns; null for none.
const Layout* find_layout(const CsvHeader& header);

}  // namespace rooftile::calibration
