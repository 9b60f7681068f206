// SPDX-License-Identifier: Apache-2.0
//
// Real exports (shared data, skipped without it): all import, and the paper's numbers come out.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/csv.h"
#include "core/units.h"
#include "profile/evaluate.h"
#include "profile/importer.h"
#include "shared_data.h"

namespace rooftile::profile {
namespace {

/// The authors' post-processing: total cycles over the mean clock.
const EvaluateOptions kAuthors{
    .isa = {}, .mean_clock = true, .inner_join = true, .short_launch = 10.0_us};

/// Files of the profiles folder whose name contains `part`.
std::vector<std::string> files_with(const std::string& part) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(rooftile::testing::shared_data() / "profiles")) {
    const std::string name = entry.path().filename().string();
    if (name.find(part) != std::string::npos) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

RawProfile joined(const std::vector<std::string>& files) {
  RawProfile all;
  for (const std::string& file : files) {
    auto one = import_file(file);
    EXPECT_TRUE(one) << file << ": " << to_string(one.error());
    if (one) all = merge(std::move(all), *one);
  }
  return all;
}

struct Totals {
  std::size_t kernels = 0;
  std::int64_t launches = 0, zero_launches = 0;
  double time = 0, zero_time = 0, flops = 0;
};

Totals totals(const Run& run) {
  Totals t;
  t.kernels = run.kernels.size();
  for (const KernelRecord& k : run.kernels) {
    t.launches += k.launches;
    t.time += k.time->base();
    t.flops += k.flops->base();
    if (k.zero_ai()) {
      t.zero_launches += k.launches;
      t.zero_time += k.time->base();
    }
  }
  return t;
}

TEST(Exports, EveryFileOfTheFolderImportsByItsContent) {
  if (!rooftile::testing::has_shared_data("profiles")) GTEST_SKIP() << "no shared data";
  int tried = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(rooftile::testing::shared_data() / "profiles")) {
    if (entry.path().filename() == "index.tsv") continue;  // the list of the files
    const auto profile = import_file(entry.path().string());
    EXPECT_TRUE(profile) << to_string(profile.error());
    ++tried;
  }
  EXPECT_GE(tried, 50);
}

/// Shares of peak only: the limiting unit is known, FLOPs and bytes are not.
TEST(Exports, PercentagesOnlyTellTheLimitingUnit) {
  if (!rooftile::testing::has_shared_data("profiles")) GTEST_SKIP() << "no shared data";
  const auto profile = import_file(files_with("rohanyen").at(0));
  ASSERT_TRUE(profile);
  const auto run = evaluate(*profile, {}, Catalog::embedded());
  ASSERT_TRUE(run) << to_string(run.error());
  ASSERT_EQ(run->kernels.size(), 3U);
  const KernelRecord& first = run->kernels[0];
  EXPECT_FALSE(first.time);
  EXPECT_FALSE(first.flops);
  EXPECT_NEAR(*first.speed_of_light.compute, 0.8066, 1e-9);
  EXPECT_NEAR(*first.speed_of_light.level[1], 0.2216, 1e-9);
  EXPECT_NEAR(*first.speed_of_light.level[2], 0.1556, 1e-9);
  const auto missing = std::find_if(run->warnings.begin(), run->warnings.end(),
                                    [](const Warning& w) { return w.name == "missing-metrics"; });
  ASSERT_NE(missing, run->warnings.end());
  EXPECT_NE(missing->message.find("sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32"),
            std::string::npos)
      << "CC 7.5 has tensor counters of its own: " << missing->message;
}

/// The authors' table of the same run, kernel by kernel: Count, Time, FLOPs, AI per level and
/// GFLOP/s (divided by 1024^3 there).
void expect_authors_table(const Run& run, const std::string& table) {
  auto csv = CsvReader::open(table, {});
  ASSERT_TRUE(csv);
  const auto header = CsvHeader::read(*csv);
  ASSERT_TRUE(header);
  std::map<std::string, const KernelRecord*> index;
  for (const KernelRecord& kernel : run.kernels) index[kernel.name] = &kernel;
  std::size_t rows = 0;
  while (csv->next().value()) {
    const auto number = [&](const char* column) {
      return csv->number(header->column(column).value()).value();
    };
    const std::string name((*csv)[header->column("Kernel Name").value()]);
    ASSERT_TRUE(index.contains(name)) << name;
    const KernelRecord& k = *index[name];
    const double flops = k.flops->base(), time = k.time->base();
    EXPECT_EQ(static_cast<double>(k.launches), number("Count")) << name;
    EXPECT_NEAR(time, number("Time"), 1e-12 * time) << name;
    EXPECT_EQ(flops, number("all FLOPs")) << name;
    EXPECT_NEAR(flops / k.bytes[2]->base(), number("AI HBM"), 1e-12 * number("AI HBM")) << name;
    EXPECT_NEAR(flops / k.bytes[1]->base(), number("AI L2"), 1e-12 * number("AI L2")) << name;
    EXPECT_NEAR(flops / k.bytes[0]->base(), number("AI L1"), 1e-12 * number("AI L1")) << name;
    EXPECT_NEAR(flops / time / 1073741824.0, number("GFLOP/s"), 1e-11 * number("GFLOP/s")) << name;
    ++rows;
  }
  EXPECT_EQ(rows, run.kernels.size());
}

TEST(Exports, DeepCamKernelsEqualTheAuthorsTables) {
  if (!rooftile::testing::has_shared_data("profiles")) GTEST_SKIP() << "no shared data";
  for (const auto& [run, table] : {std::pair("PT-fp32-O1-Adam-fw", "CSVs__fp32-O1-Adam-fw"),
                                   std::pair("PT-fp32-O1-LAMB-opt", "CSVs__fp32-O1-LAMB-opt")}) {
    const auto evaluated = evaluate(joined(files_with(run)), kAuthors, Catalog::embedded());
    ASSERT_TRUE(evaluated);
    expect_authors_table(*evaluated, files_with(table).at(0));
  }
}

/// The published run: 45 kernels, 797 launches, 0.104184 s over the mean clock, 0.104122 s per
/// launch, 437 zero-AI launches with 10.14 % of the time, 1.3704e12 FLOP.
TEST(Exports, DeepCamForwardGivesThePapersTotals) {
  if (!rooftile::testing::has_shared_data("profiles")) GTEST_SKIP() << "no shared data";
  const RawProfile profile = joined(files_with("PT-fp32-O1-Adam-fw"));
  const auto mean = evaluate(profile, kAuthors, Catalog::embedded());
  ASSERT_TRUE(mean);
  const Totals t = totals(*mean);
  EXPECT_EQ(t.kernels, 45U);
  EXPECT_EQ(t.launches, 797);
  EXPECT_NEAR(t.time, 0.104184, 5e-7);
  EXPECT_EQ(t.zero_launches, 437);
  EXPECT_NEAR(t.zero_time / t.time, 0.1014, 5e-5);
  EXPECT_NEAR(t.flops, 1.3704e12, 5e7);
  const auto exact = evaluate(profile, {}, Catalog::embedded());
  ASSERT_TRUE(exact);
  EXPECT_NEAR(totals(*exact).time, 0.104122, 5e-7);
}

/// G3: 5 kernels, 35 launches, 0.003902 s, 5 zero-AI launches.
TEST(Exports, DeepCamLambOptimizerGivesThePapersTotals) {
  if (!rooftile::testing::has_shared_data("profiles")) GTEST_SKIP() << "no shared data";
  const RawProfile profile = joined(files_with("PT-fp32-O1-LAMB-opt"));
  const auto run = evaluate(profile, kAuthors, Catalog::embedded());
  ASSERT_TRUE(run);
  const Totals t = totals(*run);
  EXPECT_EQ(t.kernels, 5U);
  EXPECT_EQ(t.launches, 35);
  EXPECT_NEAR(t.time, 0.003902, 5e-7);
  EXPECT_EQ(t.zero_launches, 5);
}

/// G5: 82 launches, 0.0315950423 s, 8471884978 FLOP, AI 0.84455 / 0.36743 / 0.28386.
TEST(Exports, CeleritasWithThousandsSeparators) {
  if (!rooftile::testing::has_shared_data("profiles")) GTEST_SKIP() << "no shared data";
  const RawProfile profile = joined(files_with("output-track-npt-1.csv"));
  const auto run = evaluate(profile, kAuthors, Catalog::embedded());
  ASSERT_TRUE(run);
  ASSERT_EQ(run->kernels.size(), 1U);
  const KernelRecord& k = run->kernels[0];
  EXPECT_EQ(k.launches, 82);
  EXPECT_NEAR(k.time->base(), 0.0315950423, 1e-10);
  EXPECT_EQ(k.flops->base(), 8471884978.0);
  EXPECT_NEAR((*k.flops / *k.bytes[2]).base(), 0.84455, 5e-6);
  EXPECT_NEAR((*k.flops / *k.bytes[1]).base(), 0.36743, 5e-6);
  EXPECT_NEAR((*k.flops / *k.bytes[0]).base(), 0.28386, 6e-6);
}

}  // namespace
}  // namespace rooftile::profile
