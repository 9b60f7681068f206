// SPDX-License-Identifier: Apache-2.0
//
// Read rate of core/csv.h on one core, from the page cache: records into fields against Python's
// csv module (also C inside), and into numbers against pandas. The file looks like measured
// kernels: a name, four sizes and three times per row.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>

#include "bench.h"
#include "core/csv.h"
#include "temporary_folder.h"

namespace {

using rooftile::CsvHeader;
using rooftile::CsvReader;
using rooftile::Result;

constexpr std::size_t kFileBytes = 100'000'000;
constexpr double kTargetMbPerSecond = 300.0;

std::string kernel_rows() {
  std::mt19937_64 random(1);
  std::string text = "kernel,batch,m,n,k,forward_ms,backward_ms,total_ms\n";
  while (text.size() < kFileBytes) {
    const double forward = static_cast<double>(random() % 1'000'000) * 1e-5;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{:.6f},{:.6f},{:.6f}\n",
                   random() % 8 == 0 ? "\"gemm, fused\"" : "layer_norm", random() % 64,
                   random() % 8192, random() % 8192, random() % 8192, forward, 2 * forward,
                   3 * forward);
  }
  return text;
}

Result<std::int64_t> count_fields(const std::string& path) {
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(path, {}));
  std::int64_t fields = 0;
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) return fields;
    fields += static_cast<std::int64_t>(csv.fields().size());
  }
}

Result<double> sum_numbers(const std::string& path) {
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(path, {}));
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  double sum = 0.0;
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) return sum;
    for (std::size_t column = 1; column < header.size(); ++column) {
      ROOFTILE_TRY(const double value, csv.number(column));
      sum += value;
    }
  }
}

}  // namespace

int main() {
  namespace bench = rooftile::bench;
  const rooftile::testing::TemporaryFolder folder;
  const std::string path = folder.file("kernels.csv");
  const std::string text = kernel_rows();
  std::ofstream(path, std::ios::binary) << text;
  const double megabytes = static_cast<double>(text.size()) * 1e-6;

  bool failed = false;
  const auto rate = [&](const auto& read) {
    return megabytes / bench::best_seconds(5, [&] { failed |= !read(path).has_value(); });
  };
  const double fields = rate(count_fields);
  const double numbers = rate(sum_numbers);
  if (failed) {
    fmt::print(stderr, "csv_bench: the generated file could not be read\n");
    return 1;
  }
  const auto csv_module = bench::python_rival(
      "Python csv", "import csv",
      fmt::format("sum(map(len, csv.reader(open(\\\"{}\\\", newline=\\\"\\\"))))", path),
      megabytes);
  const auto pandas = bench::python_rival(
      "pandas", "import pandas", fmt::format("pandas.read_csv(\\\"{}\\\")", path), megabytes);
  return bench::print({{.what = "CSV into fields",
                        .unit = "MB/s",
                        .ours = fields,
                        .rival = csv_module,
                        .target = kTargetMbPerSecond},
                       {.what = "CSV into numbers",
                        .unit = "MB/s",
                        .ours = numbers,
                        .rival = pandas,
                        .target = std::nullopt}});
}
