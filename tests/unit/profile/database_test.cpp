// SPDX-License-Identifier: Apache-2.0
//
// Databases made here with the library, in the layouts of Nsight Systems, rocprofv3 and rocprof v1.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "profile/evaluate.h"
#include "profile/importer.h"
#include "temporary_folder.h"

namespace rooftile::profile {
namespace {

/// The bytes of a database that the statements make.
std::string database(const std::string& sql) {
  sqlite3* made = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &made), SQLITE_OK);
  char* problem = nullptr;
  EXPECT_EQ(
      sqlite3_exec(made, ("PRAGMA page_size = 512;" + sql).c_str(), nullptr, nullptr, &problem),
      SQLITE_OK)
      << problem;
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(made, "main", &size, 0);
  std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(made);
  return text;
}

const std::string kNsys =
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES(1, 'saxpy(float*)'), (2, 'gemm<float>'), (3, 'forward');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, "
    "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, gridX INTEGER, gridY INTEGER,"
    " gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
    "(3000, 3700, 1, 12, 16777216, 1, 4, 1, 1, 128, 1, 1),"
    "(1000, 2000, 1, 11, 16777216, 2, 8, 2, 1, 256, 1, 1),"
    "(2100, 2400, 1, 13, 16777216, 1, 4, 1, 1, 128, 1, 1);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER, "
    "correlationId INTEGER, nameId INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(500, 510, 16777217, 11, 9),"
    "(600, 610, 16777217, 12, 9), (900, 910, 16777218, 13, 9), (905, 906, 99999999999, 13, 9);"
    "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
    "textId INTEGER, globalTid INTEGER);"
    "INSERT INTO NVTX_EVENTS VALUES(400, 650, 59, 'step', NULL, 16777217),"
    "(450, 550, 59, NULL, 3, 16777217), (1, NULL, 75, 'domain', NULL, 16777217);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, bytes INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(0, 1000000, 4096);"
    "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, cuDevice INTEGER, smCount INTEGER, "
    "computeMajor INTEGER, computeMinor INTEGER);"
    "INSERT INTO TARGET_INFO_GPU VALUES(1, 'wrong', 0, 1, 1, 1), (0, 'NVIDIA L4', 1, 58, 8, 9);";

RawProfile imported(const std::string& bytes) {
  auto profile = import_text(bytes, "x.sqlite");
  EXPECT_TRUE(profile) << to_string(profile.error());
  return profile ? *std::move(profile) : RawProfile{};
}

std::string refused(const std::string& bytes) {
  const auto profile = import_text(bytes, "x.sqlite");
  EXPECT_FALSE(profile);
  return profile ? "" : to_string(profile.error());
}

TEST(Nsys, KernelsInTheOrderOfTheirStarts) {
  const RawProfile profile = imported(database(kNsys));
  EXPECT_EQ(profile.format, "nsys");
  ASSERT_EQ(profile.kernels.size(), 2U);
  const KernelSeries& saxpy = profile.kernels[0];
  EXPECT_EQ(saxpy.name, "saxpy(float*)");
  ASSERT_EQ(saxpy.launch_list.size(), 2U);
  EXPECT_NEAR(saxpy.find("duration")->values.at(0), 300e-9, 1e-18);
  EXPECT_NEAR(saxpy.find("duration")->values.at(1), 700e-9, 1e-18);
  EXPECT_EQ(saxpy.launch_list[0].ordinal, 1);
  EXPECT_EQ(saxpy.launch_list[0].grid, (Dim3{4, 1, 1}));
  EXPECT_NEAR(*saxpy.launch_list[0].begin, 1100e-9, 1e-18) << "since the first kernel";
  EXPECT_NEAR(*saxpy.launch_list[0].called, -100e-9, 1e-18) << "900 of its own process";
}

TEST(Nsys, NamesMayStandInTheColumnThemselves) {
  const RawProfile profile = imported(
      database(kNsys + "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 'own<float>' "
                       "WHERE correlationId = 11;"));
  ASSERT_EQ(profile.kernels.size(), 2U);
  EXPECT_EQ(profile.kernels[1].name, "own<float>");
}

TEST(Nsys, WhyThereAreNoKernelsIsSaid) {
  const std::string no_end =
      refused(database(kNsys + "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN end;"));
  EXPECT_NE(no_end.find("start or end of 3 kernels in CUPTI_ACTIVITY_KIND_KERNEL"),
            std::string::npos)
      << no_end;
  const std::string graphs =
      refused(database(
          kNsys + "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL;"
                  "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER);"));
  EXPECT_NE(graphs.find("--cuda-graph-trace=node"), std::string::npos) << graphs;
}

// 2 ms of graphs beside the kernels: said, and the device is busy with them.
TEST(Nsys, GraphsThatWereRecordedAsAWholeAreNotForgotten) {
  const RawProfile profile = imported(database(
      kNsys +
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, deviceId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(5000, 1505000, 1), (2000000, 2500000, 1),"
      " (7, NULL, 1);"));
  const auto said = [&profile](const std::string& text) {
    return std::any_of(profile.notes.begin(), profile.notes.end(),
                       [&text](const auto& note) { return note.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(said("left out: 2 launches of CUDA graphs (2.000 ms)"));
  EXPECT_TRUE(said("1 memory copy"));
  EXPECT_EQ(profile.copies.size(), 3U);
}

TEST(Nsys, TheDeviceIsTheOneOfTheCudaNumber) {
  const RawProfile profile = imported(database(kNsys));
  EXPECT_EQ(profile.device.name, "NVIDIA L4");
  EXPECT_EQ(profile.device.isa, "8.9");
  EXPECT_EQ(profile.device.sm_count, 58);
}

TEST(Nsys, RangesAreThoseAroundTheCall) {
  const RawProfile profile = imported(database(kNsys));
  const auto nest = [&](const Launch& launch) {
    return launch.range == 0 ? std::vector<std::string>{} : profile.ranges.at(launch.range - 1);
  };
  const KernelSeries& gemm = profile.kernels[1];
  EXPECT_EQ(nest(gemm.launch_list.at(0)), (std::vector<std::string>{"step", "forward"}));
  const KernelSeries& saxpy = profile.kernels[0];
  EXPECT_EQ(nest(saxpy.launch_list.at(0)), std::vector<std::string>{}) << "another thread";
  EXPECT_EQ(nest(saxpy.launch_list.at(1)), std::vector<std::string>{"step"});
}

TEST(Nsys, CopiesAreNotKernels) {
  const RawProfile profile = imported(database(kNsys));
  ASSERT_EQ(profile.notes.size(), 1U);
  EXPECT_NE(
      profile.notes[0].find("left out, as they are not kernels: 1 memory copy or fill (1.000 ms)"),
      std::string::npos);
}

TEST(Nsys, AnExportWithoutKernelsSaysSo) {
  const std::string text =
      refused(database("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
                       "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT);"));
  EXPECT_NE(text.find("nothing ran on a GPU"), std::string::npos) << text;
  EXPECT_NE(text.find("nsys profile --trace=cuda"), std::string::npos) << text;
}

TEST(Nsys, MissingColumnsAndTablesReadAsUnknown) {
  const RawProfile profile =
      imported(database("CREATE TABLE StringIds(id INTEGER, value TEXT);"
                        "INSERT INTO StringIds VALUES(7, 'k');"
                        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, "
                        "shortName INTEGER);"
                        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1, 5, 7), (9, 10, 8);"));
  ASSERT_EQ(profile.kernels.size(), 2U);
  EXPECT_EQ(profile.kernels[0].name, "k");
  EXPECT_EQ(profile.kernels[1].name, "(unnamed)");
  EXPECT_FALSE(profile.kernels[0].grid);
}

TEST(Nsys, TheReportItselfIsRefusedWithTheCommand) {
  const auto profile = import_text("NVIDIA Tegra Profiler Report 2025", "my run.nsys-rep");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(profile.error().hint,
            "export it with: nsys export --type sqlite -o 'my run.sqlite' 'my run.nsys-rep'");
}

const std::string kRocpd =
    "CREATE TABLE rocpd_info_kernel_symbol_ab_1(id INTEGER, display_name TEXT, kernel_name TEXT);"
    "INSERT INTO rocpd_info_kernel_symbol_ab_1 VALUES(5, 'gemm(float)', 'x.kd'), (6, NULL, "
    "'__amd_rocclr_fillBufferAligned.kd');"
    "CREATE TABLE rocpd_info_agent_ab_1(id INTEGER, type TEXT, name TEXT, product_name TEXT);"
    "INSERT INTO rocpd_info_agent_ab_1 VALUES(1, 'CPU', 'cpu', 'cpu'), (2, 'GPU', 'gfx942', "
    "'AMD Instinct MI300X'), (3, 'GPU', 'gfx90a', 'other');"
    "CREATE TABLE rocpd_kernel_dispatch_ab_1(start BIGINT, end BIGINT, kernel_id INTEGER, agent_id "
    "INTEGER, event_id INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, "
    "workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER);"
    "INSERT INTO rocpd_kernel_dispatch_ab_1 VALUES"
    "(100, 1100, 5, 2, 21, 1000, 1, 1, 256, 1, 1), (2000, 2600, 6, 2, 22, 512, 1, 1, 256, 1, 1);"
    "CREATE TABLE rocpd_info_pmc_ab_1(id INTEGER, name TEXT);"
    "INSERT INTO rocpd_info_pmc_ab_1 VALUES(1, 'FETCH_SIZE'), (2, 'WRITE_SIZE');"
    "CREATE TABLE rocpd_pmc_event_ab_1(event_id INTEGER, pmc_id INTEGER, value REAL);"
    "INSERT INTO rocpd_pmc_event_ab_1 VALUES(21, 1, 3.0), (21, 1, 4.0), (21, 2, 1.0);"
    // Views are not run, but they are parsed: rocprofv3's unite many selects.
    "CREATE VIEW top AS SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION "
    "ALL "
    "SELECT 5;";

// Grids of work-items become groups; counters are in KiB and those of instances add up:
// (3 + 4 + 1) * 1024 = 8192 byte.
TEST(Rocpd, DispatchesJoinTheirSymbolsAgentsAndCounters) {
  const RawProfile profile = imported(database(kRocpd));
  EXPECT_EQ(profile.format, "rocpd");
  ASSERT_EQ(profile.kernels.size(), 2U);
  EXPECT_EQ(profile.kernels[0].name, "gemm(float)");
  EXPECT_EQ(profile.kernels[0].grid, (Dim3{4, 1, 1}));
  EXPECT_EQ(profile.kernels[1].name, "__amd_rocclr_fillBufferAligned");
  EXPECT_EQ(profile.device.isa, "gfx942");
  EXPECT_EQ(profile.device.name, "AMD Instinct MI300X");
  const auto run = evaluate(profile, {}, Catalog::embedded());
  ASSERT_TRUE(run);
  EXPECT_NEAR(run->kernels[0].time->base(), 1e-6, 1e-18);
  EXPECT_EQ(run->kernels[0].bytes[2]->base(), 8192);
  EXPECT_NE(profile.notes.back().find("__amd_rocclr_"), std::string::npos);
}

TEST(RocprofDatabase, OperationsAreKernelsAndCallsAreNot) {
  const RawProfile profile = imported(
      database("CREATE TABLE HIP(BeginNs INTEGER, EndNs INTEGER, Name TEXT);"
               "INSERT INTO HIP VALUES(1, 2, 'hipMalloc');"
               "CREATE TABLE OPS(BeginNs INTEGER, EndNs INTEGER, \"dev-id\" INTEGER, Name TEXT);"
               "INSERT INTO OPS VALUES(10, 3441, 4, 'vector_add(float*)');"
               "CREATE TABLE COPY(BeginNs INTEGER, EndNs INTEGER, Name TEXT);"
               "CREATE TABLE KERN(\"Index\" INTEGER, KernelName TEXT);"));
  ASSERT_EQ(profile.kernels.size(), 1U);
  EXPECT_EQ(profile.kernels[0].name, "vector_add(float*)");
  EXPECT_NEAR(profile.kernels[0].find("duration")->sum(), 3431e-9, 1e-18);
}

TEST(Database, OtherTablesAreNotAnExport) {
  EXPECT_NE(refused(database("CREATE TABLE t(a);")).find("not those of a known profiler"),
            std::string::npos);
}

// A view can be any computation; only tables count.
TEST(Database, ViewsAreNotRead) {
  const std::string text = refused(
      database("CREATE TABLE StringIds(id, value);"
               "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(start) AS (SELECT 1 "
               "UNION ALL SELECT start + 1 FROM c) SELECT start, start + 1 AS end FROM c;"));
  EXPECT_NE(text.find("nothing ran on a GPU"), std::string::npos) << text;
}

TEST(Database, DamageIsAnError) {
  const std::string whole = database(kNsys);
  std::string cut = whole.substr(0, whole.size() / 2);
  EXPECT_NE(refused(cut).find("x.sqlite"), std::string::npos);
  for (std::size_t at = 100; at < whole.size(); at += 37) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x55);
    (void)import_text(broken, "x");
  }
  std::string backwards = kNsys;
  backwards.replace(backwards.find("(3000, 3700"), 11, "(3000, 2900");
  EXPECT_NE(refused(database(backwards)).find("ends before it starts"), std::string::npos);
}

TEST(Database, FilesAreReadWhereTheyAreAndProgressIsTold) {
  const testing::TemporaryFolder folder;
  std::string sql = kNsys + "BEGIN;";
  for (int i = 0; i < 20'000; ++i) {
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1, 2, 1, 5, 0, 1, 1, 1, 1, 1, 1, 1);";
  }
  const std::string path = (folder.path() / "100% odd?#.sqlite").string();
  std::ofstream(path, std::ios::binary) << database(sql + "COMMIT;");
  double last = 0.0;
  const auto whole = import_file(path, [&](const ProgressState& state) {
    last = state.fraction;
    return true;
  });
  ASSERT_TRUE(whole) << to_string(whole.error());
  EXPECT_EQ(whole->kernels[0].launches(), 20'002);
  EXPECT_GT(last, 0.0);
  std::ofstream(path + "-wal") << "changes";
  const auto stale = import_file(path);
  ASSERT_TRUE(stale);
  EXPECT_NE(stale->notes.back().find("-wal holds changes"), std::string::npos);
  const auto stopped = import_file(path, [](const ProgressState&) { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().message.find("stopped"), std::string::npos);
}

}  // namespace
}  // namespace rooftile::profile
