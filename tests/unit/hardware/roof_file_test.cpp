// SPDX-License-Identifier: Apache-2.0
//
// Roofs that other tools measured, read as ceilings.
#include "hardware/roof_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/file.h"
#include "hardware/ert.h"
#include "shared_data.h"
#include "temporary_folder.h"

namespace rooftile::hardware {
namespace {

using ::testing::HasSubstr;

Result<Ceilings> read(std::string_view text, const std::string& name) {
  ROOFTILE_TRY(const RoofFile file, read_ert(text, name));
  return ceilings_of(file, name);
}

TEST(ErtJson, ReadsARealFile) {
  const std::string path =
      "profiles/ebugger__Empirical-Roofline-Toolkit__Empirical_Roofline_Tool-1.1.0__Results.p100.01"
      "__Run.018__roofline.json";
  if (!rooftile::testing::has_shared_data(path)) GTEST_SKIP() << "no shared data";
  const auto text = read_file((rooftile::testing::shared_data() / path).string());
  ASSERT_TRUE(text.has_value());
  const auto ceilings = read(*text, "roofline.json");
  ASSERT_TRUE(ceilings.has_value()) << to_string(ceilings.error());
  EXPECT_DOUBLE_EQ(ceilings->bandwidth.at(MemoryLevel::L1).value.base(), 1002.83e9);
  EXPECT_DOUBLE_EQ(ceilings->bandwidth.at(MemoryLevel::L2).value.base(), 541.98e9);
  EXPECT_DOUBLE_EQ(ceilings->last_level->value.base(), 290.41e9);
  EXPECT_DOUBLE_EQ(ceilings->bandwidth.at(MemoryLevel::Dram).value.base(), 68.76e9);
  EXPECT_DOUBLE_EQ(ceilings->rate.at({.dtype = DType::Fp64}).value.base(), 288.33e9);
  EXPECT_EQ(ceilings->tool, "ERT 1.1.0");
  EXPECT_EQ(ceilings->date, "2019-06-13");  // 1560425105 s = 2019-06-13 11:25 UTC
  EXPECT_EQ(ceilings->device, "kcadmin-UniServer-R5200-G3");
}

TEST(ErtJson, TheDateIsThatOfTheTimestamp) {
  const auto date = [](std::string_view seconds) {
    const auto ceilings =
        read(fmt::format(R"({{"empirical": {{"gflops": {{"data": [["FP64 GFLOPs", 1]],
        "metadata": {{"TIMESTAMP_DB": {}}}}}, "gbytes": {{"data": [["DRAM", 1]]}}}}}})",
                         seconds),
             "roofline.json");
    EXPECT_TRUE(ceilings.has_value()) << to_string(ceilings.error());
    return ceilings ? ceilings->date : "";
  };
  EXPECT_EQ(date("1582934399"), "2020-02-28");
  EXPECT_EQ(date("1582934400.5"), "2020-02-29");
  EXPECT_EQ(date("1577836799"), "2019-12-31");
  EXPECT_EQ(date("1577836800"), "2020-01-01");
  EXPECT_EQ(date("-1"), "unknown") << "not a moment";
}

TEST(ErtJson, KeepsEveryPrecisionAndComesBack) {
  Ceilings c;
  c.device = "a \"quoted\" machine";
  c.tool = "rooftile 1";
  c.date = "2026-01-01";
  const auto rate = [](double v) {
    return Measured<FlopsPerSecond>{
        .value = FlopsPerSecond::from_base(v), .low = {}, .high = {}, .samples = {}};
  };
  const auto bandwidth = [](double v) {
    return Measured<BytesPerSecond>{
        .value = BytesPerSecond::from_base(v), .low = {}, .high = {}, .samples = {}};
  };
  c.rate[{.dtype = DType::Fp64}] = rate(7068.86e9);
  c.rate[{.dtype = DType::Fp32}] = rate(14000e9);
  c.rate[{.dtype = DType::Fp16, .pipe = Pipe::Tensor}] = rate(106496e9);
  c.bandwidth[MemoryLevel::L1] = bandwidth(14336e9);
  c.bandwidth[MemoryLevel::L2] = bandwidth(2996.77e9);
  c.bandwidth[MemoryLevel::Dram] = bandwidth(828.76e9);
  const auto back = read(write_ert_json(c), "x");
  ASSERT_TRUE(back.has_value()) << to_string(back.error());
  EXPECT_EQ(back->rate, c.rate);
  EXPECT_EQ(back->bandwidth, c.bandwidth);
  EXPECT_EQ(back->device, c.device);
}

TEST(ErtJson, ExactMessagesForMalformedFiles) {
  const auto message = [](std::string_view text) {
    const auto result = read(text, "r.json");
    return result ? std::string("accepted") : result.error().where + ": " + result.error().message;
  };
  EXPECT_EQ(message("{}").substr(0, 8), "r.json:/");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[["L2",2e10]]},"gflops":{"data":[]}}})"),
            "r.json:/empirical/gbytes/data/0/0: \"L2\": 2e+19 B/s is not a plausible rate");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[["L2",0]]},"gflops":{"data":[]}}})"),
            "r.json:/empirical/gbytes/data/0/0: \"L2\": 0 B/s is not a plausible rate");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[["L9x",1]]},"gflops":{"data":[]}}})"),
            "r.json:/empirical/gbytes/data/0/0: unknown memory level \"L9x\"");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[["L1",-1]]},"gflops":{"data":[]}}})"),
            "r.json:/empirical/gbytes/data/0/0: \"L1\": -1e+09 B/s is not a plausible rate");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[]},"gflops":{"data":[["GOPs",1]]}}})"),
            "r.json:/empirical/gflops/data/0/0: unknown rate \"GOPs\"");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[]},"gflops":{"data":[]}}})"),
            "r.json:/empirical: no rates and no bandwidths");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[["L1"]]},"gflops":{"data":[]}}})"),
            "r.json:/empirical/gbytes/data/0: expected [name, value]");
}

TEST(ErtText, ASumHoldsRoofs) {
  const auto ceilings =
      read("  62.18 FP64 GFLOPs\n\n 7451.61 Weight\n\n 991.11 L1\n 300 L3\n 66.14 DRAM\n", "sum");
  ASSERT_TRUE(ceilings) << to_string(ceilings.error());
  EXPECT_DOUBLE_EQ(ceilings->rate.at({DType::Fp64, Pipe::Vector}).value.base(), 62.18e9);
  EXPECT_DOUBLE_EQ(ceilings->bandwidth.at(MemoryLevel::L1).value.base(), 991.11e9);
  EXPECT_DOUBLE_EQ(ceilings->bandwidth.at(MemoryLevel::Dram).value.base(), 66.14e9);
  EXPECT_DOUBLE_EQ(ceilings->last_level->value.base(), 300e9);
  EXPECT_EQ(ceilings->tool, "ERT");
  EXPECT_FALSE(ceilings->gpu);
}

TEST(ErtText, EveryPrecisionIsASweepOfItsOwn) {
  // 2000 B and 28000 FLOP in 1 us; one point, one level: DRAM.
  const auto ceilings =
      read("fp16\n 1024 1 1.0 2000 28000\nfp64\n 1024 1 1.0 2000 7000\nMETA_DATA\nx y\n", "try");
  ASSERT_TRUE(ceilings) << to_string(ceilings.error());
  EXPECT_NEAR(ceilings->rate.at({DType::Fp16, Pipe::Vector}).value.base(), 28e9, 1);
  EXPECT_NEAR(ceilings->rate.at({DType::Fp64, Pipe::Vector}).value.base(), 7e9, 1);
  EXPECT_NEAR(ceilings->bandwidth.at(MemoryLevel::Dram).value.base(), 2e9, 1);
}

TEST(ErtText, DamagedTablesAreRefusedWithTheirLine) {
  for (const char* text : {"", "64 1 2.0 128\n", "64 1 x 128 8\n", "-64 1 2.0 128 8\n",
                           "64 0 2.0 128 8\n", "64 1 0 128 8\n", "hello\n", "META_DATA\n"}) {
    EXPECT_FALSE(read_ert(text, "t")) << text;
  }
  const auto number = read_ert("64 1 2.0 128 8\n64 1 nan 128 8\n", "run/try.001");
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().where, "run/try.001:2");
  const auto word = read_ert("64 1 2.0 128 8\nfp23\n64 1 2.0 128 8\n", "try.001");
  ASSERT_FALSE(word) << "points of an unknown precision are nobody's";
  EXPECT_EQ(word.error().where, "try.001:2");
}

TEST(PeakTable, OfRocmAmdgpuBench) {
  constexpr const char* kText =
      "device,HBMBw,L2Bw,LDSBw,FP32Flops,MFMAF16Flops\r\n0,1388.9,5017.4,20000,22000,164927.8\r\n"
      "1,1,1,1,1,1\r\n";
  ASSERT_TRUE(recognises_peak_table(kText));
  const auto file = read_peak_table(kText, "roofline.csv");
  ASSERT_TRUE(file) << to_string(file.error());
  const auto ceilings = ceilings_of(*file, "roofline.csv");
  ASSERT_TRUE(ceilings) << to_string(ceilings.error());
  EXPECT_DOUBLE_EQ(ceilings->bandwidth.at(MemoryLevel::Dram).value.base(), 1388.9e9);
  EXPECT_DOUBLE_EQ(ceilings->bandwidth.at(MemoryLevel::L2).value.base(), 5017.4e9);
  EXPECT_DOUBLE_EQ(ceilings->shared->value.base(), 20000e9);
  EXPECT_DOUBLE_EQ(ceilings->rate.at({DType::Fp16, Pipe::Tensor}).value.base(), 164927.8e9);
  EXPECT_EQ(ceilings->tool, "rocm-amdgpu-bench");
}

TEST(PeakTable, ATheoreticalRowIsNoCeiling) {
  const auto file = read_peak_table(
      "label;peak_flops;peak_bandwidth\ntheoretical;9;9\nmeasured;33e12;590e9\n", "peaks.csv");
  ASSERT_TRUE(file) << to_string(file.error());
  const auto ceilings = ceilings_of(*file, "peaks.csv").value();
  EXPECT_DOUBLE_EQ(ceilings.rate.at({DType::Fp32, Pipe::Vector}).value.base(), 33e12);
  EXPECT_DOUBLE_EQ(ceilings.bandwidth.at(MemoryLevel::Dram).value.base(), 590e9);
  EXPECT_FALSE(ceilings_of(*read_peak_table("label,peak_flops,peak_bandwidth\n", "x"), "x"));
}

TEST(PeakTable, RowsAreChecked) {
  const auto fast = read_peak_table("device,HBMBw\n0,fast\n", "x.csv");
  ASSERT_FALSE(fast);
  EXPECT_EQ(fast.error().where + ": " + fast.error().message,
            "x.csv:2: \"fast\" is not a rate for HBM");
  EXPECT_FALSE(read_peak_table("device,HBMBw,L2Bw\n0,1\n", "x.csv"));
}

TEST(LoadCeilings, RecognisesTheFormatByTheContent) {
  const rooftile::testing::TemporaryFolder folder;
  const auto tool = [&folder](const std::string& name, const std::string& text) {
    const auto ceilings = load_ceilings(folder.write(name, text));
    return ceilings ? ceilings->tool : to_string(ceilings.error());
  };
  EXPECT_EQ(tool("a", R"({"schema": 1, "kind": "machine", "device": "d", "tool": "t", "date": "now",
                          "bandwidth": {"dram": "1 GB/s"}})"),
            "t");
  EXPECT_EQ(tool("b", R"({"empirical":{"gbytes":{"data":[["L1",10]]},"gflops":{"data":[]}}})"),
            "ERT");
  EXPECT_EQ(tool("c", "\xEF\xBB\xBFlabel,peak_flops,peak_bandwidth\r\nmeasured,1e12,1e9\r\n"),
            "table of peaks");
  EXPECT_EQ(tool("d", "  10 GFLOPs\n  20 DRAM\n"), "ERT");
  EXPECT_THAT(tool("e", "hello\n"), HasSubstr("not a known format of measured ceilings"));
  EXPECT_THAT(tool("e", "hello\n"), HasSubstr("ert: Empirical Roofline Toolkit"));
  EXPECT_THAT(tool("f", R"({"schema": 1, "kind": "gpu"})"), HasSubstr("not a machine file"));
}

TEST(LoadCeilings, FilesOfAMachineAreSmall) {
  const rooftile::testing::TemporaryFolder folder;
  const std::string path = folder.write("machine.json", "{");
  std::filesystem::resize_file(path, (std::uintmax_t{64} << 20) + 1);  // takes no room
  const auto refused = load_ceilings(path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "is larger than 67108864 bytes");
}

}  // namespace
}  // namespace rooftile::hardware
