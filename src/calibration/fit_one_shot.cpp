// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit_one_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "core/csv.h"
#include "core/text.h"
#include "hardware/load.h"

namespace rooftile::calibration {

namespace {

constexpr double kLongestShot = 8e6;  // bytes: above, engines fall back to the library
constexpr double kElement = 2;        // bytes: the files hold bfloat16

/// The GPU that the tail of the file's name names: custom_allreduce_h100_sxm.csv.
Result<hardware::GpuSpec> gpu_of_file(const std::string& file, const Catalog& catalog) {
  const std::string stem = std::filesystem::path(file).stem().string();
  for (std::size_t at = stem.find('_'); at != std::string::npos; at = stem.find('_', at + 1)) {
    if (auto gpu = hardware::load_gpu(catalog, stem.substr(at + 1))) return gpu;
  }
  return bad_input(file, "the file's name does not end with a GPU",
                   "name it custom_allreduce_GPU.csv");
}

double seconds_of(const OneShotRow& row, const cost::OneShotForm& form) {
  // Without a library next to it, so that every row shows.
  const auto n = static_cast<double>(row.gpus);
  const double rate = row.link.per_direction.base() * form.efficiency;
  const double parts = row.bytes * (n - 1) / rate;
  const double sums = form.second + row.bytes * 2 * (n - 1) / n / rate;
  return form.start + form.step * n + std::min(parts, sums);
}

double misfit(const std::vector<OneShotRow>& rows, const cost::OneShotForm& form) {
  double sum = 0;
  for (const OneShotRow& row : rows) sum += std::abs(std::log(seconds_of(row, form) / row.seconds));
  return sum / static_cast<double>(rows.size());
}

/// The factor within which 80 % of the rows lie.
double spread_of(const std::vector<OneShotRow>& rows, const cost::OneShotForm& form) {
  constexpr double kInside = 0.8;
  std::vector<double> off;
  for (const OneShotRow& row : rows)
    off.push_back(std::abs(std::log(seconds_of(row, form) / row.seconds)));
  const auto at = static_cast<std::size_t>(kInside * static_cast<double>(off.size() - 1));
  std::nth_element(off.begin(), off.begin() + static_cast<std::ptrdiff_t>(at), off.end());
  return std::exp(off[at]);
}

}  // namespace

Result<bool> is_one_shot(const std::string& file) {
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(file, {}));
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  return header.find("allreduce_dtype").has_value();
}

Result<std::vector<OneShotRow>> read_one_shot(const std::string& file, const Catalog& catalog) {
  ROOFTILE_TRY(const hardware::GpuSpec gpu, gpu_of_file(file, catalog));
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(file, {}));
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  ROOFTILE_TRY(const std::size_t graph, header.column("graph"));
  ROOFTILE_TRY(const std::size_t dtype, header.column("allreduce_dtype"));
  ROOFTILE_TRY(const std::size_t gpus, header.column("num_gpus"));
  ROOFTILE_TRY(const std::size_t size, header.column("message_size"));
  ROOFTILE_TRY(const std::size_t latency, header.column("latency"));
  std::vector<OneShotRow> rows;
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    if (trim(csv[graph]) != "1" || trim(csv[dtype]) != "bfloat16") continue;
    OneShotRow row;
    row.gpu = gpu.id;
    ROOFTILE_TRY(row.gpus, csv.integer(gpus));
    ROOFTILE_TRY(const std::int64_t elements, csv.integer(size));
    ROOFTILE_TRY(const double ms, csv.number(latency));
    if (row.gpus < 2 || elements < 1 || !(ms > 0))
      return bad_input(csv.where(latency), "GPUs, elements and times must be positive");
    row.bytes = static_cast<double>(elements) * kElement;
    row.seconds = ms * 1e-3;
    if (row.bytes > kLongestShot) continue;
    ROOFTILE_TRY(const auto system, hardware::system_of(catalog, gpu, row.gpus));
    ROOFTILE_TRY(row.link, hardware::link_of(
                               system, {.size = row.gpus, .stage = row.gpus, .total = row.gpus}));
    if (row.link.kind == hardware::LinkKind::Fabric) rows.push_back(std::move(row));
  }
  return rows;
}

cost::OneShotForm fit_one_shot(const std::vector<OneShotRow>& rows) {
  auto form = cost::starting<cost::OneShotForm>();
  if (rows.empty()) return form;
  constexpr std::array kNumbers{&cost::OneShotForm::start, &cost::OneShotForm::step,
                                &cost::OneShotForm::efficiency, &cost::OneShotForm::second};
  double best = misfit(rows, form);
  for (const double factor : {1.5, 1.2, 1.08, 1.03, 1.01}) {
    bool better = true;
    for (int round = 0; better && round < 50; ++round) {
      better = false;
      for (double cost::OneShotForm::* const number : kNumbers) {
        for (const double by : {factor, 1 / factor}) {
          const double before = form.*number;
          form.*number = before * by;
          const double now = misfit(rows, form);
          if (now < best - 1e-9) {
            best = now;
            better = true;
            break;
          }
          form.*number = before;
        }
      }
    }
  }
  form.spread = spread_of(rows, form);
  return form;
}

}  // namespace rooftile::calibration
