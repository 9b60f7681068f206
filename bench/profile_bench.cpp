// SPDX-License-Identifier: Apache-2.0
//
// Import rate of large profiler exports on one core, from the page cache: Nsight Compute's long and
// wide tables against pandas, and a Kineto trace against Python's json. Imports include units,
// locale detection and the join of counters; the rivals only parse.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <string>

#include "bench.h"
#include "profile/importer.h"
#include "temporary_folder.h"

namespace {

constexpr std::size_t kFileBytes = 200'000'000;
constexpr double kTargetMbPerSecond = 200.0;

struct Metric {
  const char* name;
  const char* unit;  ///< as Nsight Compute writes it
};

constexpr std::array kMetrics{
    Metric{"dram__bytes.sum", "byte"},
    Metric{"gpu__time_duration.sum", "nsecond"},
    Metric{"l1tex__t_bytes.sum", "byte"},
    Metric{"lts__t_bytes.sum", "byte"},
    Metric{"sm__cycles_elapsed.avg.per_second", "cycle/nsecond"},
    Metric{"sm__ops_path_tensor_src_fp16_dst_fp32.sum", ""},
    Metric{"sm__sass_thread_inst_executed_op_fadd_pred_on.sum", "inst"},
    Metric{"sm__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst"},
    Metric{"sm__sass_thread_inst_executed_op_fmul_pred_on.sum", "inst"},
    Metric{"sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"},
};

std::string kernel_name(std::uint64_t i) {
  return fmt::format(
      "void at::native::vectorized_elementwise_kernel<4, at::native::functor_{}<float>, "
      "at::detail::Array<char*, 3> >(int, at::native::functor_{}<float>, Array<char*, 3>)",
      i % 97, i % 97);
}

/// 123456789 -> "123,456,789"
std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

std::string long_table() {
  std::mt19937_64 random(1);
  std::string text =
      "==PROF== Connected to process 1\n\"ID\",\"Process ID\",\"Process Name\",\"Host Name\","
      "\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\","
      "\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
  for (std::uint64_t id = 0; text.size() < kFileBytes; ++id) {
    const std::string kernel = kernel_name(random());
    for (const Metric& metric : kMetrics) {
      fmt::format_to(std::back_inserter(text),
                     "\"{}\",\"1\",\"python\",\"127.0.0.1\",\"{}\",\"1\",\"7\",\"(256, 1, 1)\","
                     "\"(64, 1, 1)\",\"0\",\"8.0\",\"Command line profiler metrics\",\"{}\",\"{}\","
                     "\"{}\"\n",
                     id, kernel, metric.name, metric.unit, grouped(random() % 1'000'000'000));
    }
  }
  return text;
}

std::string wide_table() {
  std::mt19937_64 random(1);
  std::string text = "\"ID\",\"Process ID\",\"Kernel Name\"";
  std::string units = "\n\"\",\"\",\"\"";
  for (int i = 0; i < 200; ++i) {
    text += fmt::format(",\"device__attribute_{}\"", i);
    units += ",\"\"";
  }
  for (const Metric& metric : kMetrics) {
    text += fmt::format(",\"{}\"", metric.name);
    units += fmt::format(",\"{}\"", metric.unit);
  }
  text += units + "\n";
  std::string attributes;
  for (int i = 0; i < 200; ++i) attributes += fmt::format(",\"{}\"", i * 37);
  for (std::uint64_t id = 0; text.size() < kFileBytes; ++id) {
    text += fmt::format("\"{}\",\"1\",\"{}\"{}", id, kernel_name(random()), attributes);
    for (std::size_t i = 0; i < kMetrics.size(); ++i) {
      text += fmt::format(",\"{}\"", grouped(random() % 1'000'000'000));
    }
    text += "\n";
  }
  return text;
}

std::string trace() {
  std::mt19937_64 random(1);
  std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
  while (text.size() < kFileBytes / 2) {
    text += fmt::format(
        "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 0, \"tid\": 7,\n"
        "    \"ts\": {}, \"dur\": {}.{},\n    \"args\": {{\n      \"External id\": 11, \"device\": "
        "0, \"stream\": 7, \"correlation\": {},\n      \"grid\": [64, 1, 1], \"block\": [256, 1, "
        "1], \"est. achieved occupancy %\": 57\n    }}\n  }},\n",
        random() % 4 == 0 ? "kernel" : "cpu_op", kernel_name(random()), random() % 1'000'000'000,
        random() % 1000, random() % 1000, random() % 100000);
  }
  return text + "  {\"ph\": \"M\", \"name\": \"end\"}]}\n";
}

}  // namespace

int main() {
  namespace bench = rooftile::bench;
  const rooftile::testing::TemporaryFolder folder;
  std::vector<bench::Row> rows;
  const auto measure = [&](const char* what, const std::string& text, const char* rival,
                           const std::string& setup, const std::string& statement,
                           std::optional<double> target) {
    const std::string path = folder.file("export");
    std::ofstream(path, std::ios::binary) << text;
    const double megabytes = static_cast<double>(text.size()) * 1e-6;
    bool failed = false;
    const double seconds = bench::best_seconds(
        3, [&] { failed |= !rooftile::profile::import_file(path).has_value(); });
    if (failed) fmt::print(stderr, "profile_bench: {} could not be imported\n", what);
    rows.push_back({.what = what,
                    .unit = "MB/s",
                    .ours = failed ? 0.0 : megabytes / seconds,
                    .rival = bench::python_rival(
                        rival, setup, fmt::format(fmt::runtime(statement), path), megabytes),
                    .target = target});
  };
  measure("Nsight Compute, long table", long_table(), "pandas", "import pandas",
          "pandas.read_csv(\\\"{}\\\", skiprows=1)", kTargetMbPerSecond);
  measure("Nsight Compute, wide table", wide_table(), "pandas", "import pandas",
          "pandas.read_csv(\\\"{}\\\")", kTargetMbPerSecond);
  measure("Kineto trace", trace(), "Python json", "import json", "json.load(open(\\\"{}\\\"))",
          std::nullopt);
  return bench::print(rows);
}
