// SPDX-License-Identifier: Apache-2.0
//
// Import rate of large profiler exports on one core, from the page cache: Nsight Compute's long and
// wide tables against pandas, a Kineto trace against Python's json, and a database of Nsight Systems
// (five million launches) against Python's sqlite3, with the memory that it takes. Imports include
// units, locale detection and the join of counters; the rivals only parse.
#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "bench.h"
#include "profile/importer.h"
#include "temporary_folder.h"

namespace {

constexpr std::size_t kFileBytes = 200'000'000;
constexpr double kTargetMbPerSecond = 210.0;  ///< 42 MB, all exports of the study, in 0.2 s

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

/// A database as nsys export writes it; false where SQLite fails.
bool write_database(const std::string& path) {
  constexpr const char* kStatements = R"(
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE TARGET_INFO_GPU(id INT, cuDevice INT, name TEXT, smCount INT);
INSERT INTO TARGET_INFO_GPU VALUES(0, 0, 'NVIDIA H100 80GB HBM3', 132);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, streamId INT,
  correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT,
  gridZ INT, blockX INT, blockY INT, blockZ INT, registersPerThread INT, sharedMemory INT,
  contextId INT, graphNodeId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, correlationId INT,
  nameId INT);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
  INSERT INTO StringIds SELECT i, printf('void kernel_%d<float>(float const*, int)', i) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000000)
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 9000 + 5000, i * 9000 + 9000, 0, 7, i,
    1099511627776, i % 200, i % 200, i % 4096 + 1, 1, 1, 256, 1, 1, 32, 0, 1, 0 FROM n;
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
  SELECT start - 5000, start - 2000, 1099511627853, correlationId, 0
  FROM CUPTI_ACTIVITY_KIND_KERNEL;
COMMIT;)";
  sqlite3* database = nullptr;
  const bool ok = sqlite3_open(path.c_str(), &database) == SQLITE_OK &&
                  sqlite3_exec(database, kStatements, nullptr, nullptr, nullptr) == SQLITE_OK;
  sqlite3_close(database);
  return ok;
}

/// MB that a program needed at most; `arguments` is a Python list.
std::optional<double> memory_of(const std::string& arguments) {
  return rooftile::bench::number_from(
      fmt::format("/usr/bin/env PATH=/usr/bin:$PATH python3 -c \"import subprocess, resource; "
                  "subprocess.run({}, stdout=subprocess.DEVNULL, check=True); "
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024e-6)\"",
                  arguments));
}

void measure_database(const std::string& path, std::vector<rooftile::bench::Row>& rows) {
  namespace bench = rooftile::bench;
  if (!write_database(path)) {
    fmt::print(stderr, "profile_bench: the database could not be written\n");
    return;
  }
  const double megabytes = static_cast<double>(std::filesystem::file_size(path)) * 1e-6;
  bool failed = false;
  const double seconds =
      bench::best_seconds(2, [&] { failed |= !rooftile::profile::import_file(path).has_value(); });
  const std::string read = fmt::format(
      "sqlite3.connect(\\\"{}\\\").execute(\\\"select * from "
      "CUPTI_ACTIVITY_KIND_KERNEL\\\").fetchall()",
      path);
  rows.push_back(
      {.what = fmt::format("Nsight Systems, {:.0f} MB", megabytes),
       .unit = "MB/s",
       .ours = failed ? 0.0 : megabytes / seconds,
       .rival = bench::python_rival("Python sqlite3", "import sqlite3", read, megabytes)});
  const auto ours =
      memory_of(fmt::format("['{}', 'roofline', '{}', '--top', '1']", ROOFTILE_PROGRAM, path));
  if (!ours) return;
  bench::Row memory{.what = "the same, memory", .unit = "MB", .ours = *ours};
  memory.target = 400;
  memory.less_is_better = true;
  if (const auto theirs = memory_of(fmt::format("['python3', '-c', 'import sqlite3; {}']", read))) {
    memory.rival = bench::Rival{.name = "Python sqlite3", .value = *theirs};
  }
  rows.push_back(std::move(memory));
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
  measure_database(folder.file("database.sqlite"), rows);
  return bench::print(rows);
}
