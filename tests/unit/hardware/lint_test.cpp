// SPDX-License-Identifier: Apache-2.0
//
// The minimal GPU is clean; each test breaks one relation and expects that rule and no other.
#include "hardware/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hardware/load.h"
#include "hardware/minimal_gpu.h"

namespace rooftile::hardware {
namespace {

using ::testing::HasSubstr;

using Edits = std::vector<std::pair<std::string_view, std::string_view>>;

std::vector<LintFinding> findings_of(const Edits& edits) {
  std::string text = minimal_gpu();
  for (const auto& [from, to] : edits) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  Catalog catalog = minimal_catalog();
  std::string slow = minimal_architecture();  // an eighth of the FP32 rate
  slow.replace(slow.find("\"1.0\""), 5, "\"1.1\"").replace(slow.find(": 128}"), 6, ": 16}");
  catalog.add("architectures/1.1.json", slow);
  const auto gpu = parse_gpu(text, "x.json", catalog);
  EXPECT_TRUE(gpu) << to_string(gpu.error());
  return gpu ? lint(*gpu) : std::vector<LintFinding>{};
}

struct Case {
  std::string rule;
  std::string pointer;
  std::string message;  ///< a part of it: the number found or expected
  Edits edits;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.rule << " " << c.pointer;
}

class LintRules : public ::testing::TestWithParam<Case> {};

TEST_P(LintRules, NamesTheBrokenRuleAndNoOther) {
  const auto findings = findings_of(GetParam().edits);
  ASSERT_EQ(findings.size(), 1U) << ::testing::PrintToString([&] {
    std::vector<std::string> texts;
    for (const auto& f : findings) texts.push_back(f.rule + " " + f.pointer + ": " + f.message);
    return texts;
  }());
  EXPECT_EQ(findings[0].rule, GetParam().rule);
  EXPECT_EQ(findings[0].pointer, GetParam().pointer);
  EXPECT_THAT(findings[0].message, HasSubstr(GetParam().message));
  EXPECT_FALSE(is_clean(std::span(findings)));
}

std::vector<Case> cases() {
  return {
      // Unit slips: a thousand times too much or too little.
      {"unit-slip", "/memory/dram/bandwidth", "0.001 times", {{"256 GB/s", "256 TB/s"}}},
      {"unit-slip", "/memory/l2/size", "1000 times", {{"4 MiB", "4 KiB"}}},
      {"unit-slip",
       "/clock/boost",
       "1000000 times",
       {{"1 GHz", "1 kHz"}, {"1.28 T", "1.28 M"}, {"10.24 T", "10.24 M"}, {"\"9 T", "\"9 M"}}},
      {"unit-slip", "/peak/fp32", "1000 times", {{"\"1.28 TFLOP/s\"", "\"1.28 GFLOP/s\""}}},
      // Within the range of all GPUs, but not of this one: 1024 FLOP/clk, 1024 bit x 2 Gbit/s.
      {"unit-slip",
       "/peak/bf16_tensor",
       "0.001 times",
       {{"\"10.24 TFLOP/s\"", "\"10.24 GFLOP/s\""}, {"\"9 TFLOP/s\"", "\"9 GFLOP/s\""}}},
      {"unit-slip", "/memory/dram/bandwidth", "125 times", {{"256 GB/s", "32 TB/s"}}},
      {"unit-slip", "/measured/rate/bf16_tensor", "0.000879 times", {{"\"9 T", "\"9 G"}}},
      // 10 x 128 x 1 GHz = 1.28 TFLOP/s
      {"peak-product", "/peak/fp32", "1.280 TFLOP/s", {{"\"1.28 TFLOP/s\"", "\"1.5 TFLOP/s\""}}},
      {"peak-twice", "/peak/bf16_tensor", "sparsity", {{"\"10.24 TFLOP/s\"", "\"20.5 TFLOP/s\""}}},
      {"peak-half",
       "/peak/fp32",
       "counted once",
       {{"\"1.28 TFLOP/s\"", "\"0.64 TFLOP/s\""}, {"100 W", "50 W"}}},
      // Compute capability 7.0 has 64 lanes and 1024 FLOP/clk in FP16, not in BF16.
      {"arch-rate",
       "/sm/flop_per_clock/fp16_tensor",
       "1024",
       {{"\"isa\": \"1.0\"", "\"isa\": \"7.0\""},
        {"\"other\"", "\"nvidia\""},
        {"\"acme\"", "\"volta\""},
        {"\"max_threads\": 1024, \"max_warps\": 32, \"max_blocks\": 16",
         "\"max_threads\": 2048, \"max_warps\": 64, \"max_blocks\": 32"},
        {"4 MiB", "6 MiB"},
        {"\"bf16_tensor\": 1024", "\"fp16_tensor\": 512"},
        {"\"bf16_tensor\": \"10.24 T", "\"fp16_tensor\": \"5.12 T"},
        {"\"bf16_tensor\": \"9 T", "\"fp16_tensor\": \"5 T"}}},
      {"arch-rate",
       "/peak/fp64",
       "implies 12",
       {{"\"isa\": \"1.0\"", "\"isa\": \"7.0\""},
        {"\"other\"", "\"nvidia\""},
        {"\"acme\"", "\"volta\""},
        {"\"max_threads\": 1024, \"max_warps\": 32, \"max_blocks\": 16",
         "\"max_threads\": 2048, \"max_warps\": 64, \"max_blocks\": 32"},
        {"4 MiB", "6 MiB"},
        {"\"peak\": {", "\"peak\": {\"fp64\": \"0.12 TFLOP/s\", "}}},
      // 0.742 TFLOP/s / (10 x 1 GHz): 16 % more than 64, where undocumented clocks explain 14 %.
      {"arch-rate",
       "/peak/fp64",
       "implies 74.2",
       {{"\"isa\": \"1.0\"", "\"isa\": \"7.0\""},
        {"\"other\"", "\"nvidia\""},
        {"\"acme\"", "\"volta\""},
        {"\"max_threads\": 1024, \"max_warps\": 32, \"max_blocks\": 16",
         "\"max_threads\": 2048, \"max_warps\": 64, \"max_blocks\": 32"},
        {"4 MiB", "6 MiB"},
        {"\"peak\": {", "\"peak\": {\"fp64\": \"0.742 TFLOP/s\", "}}},
      {"fp32-lanes",
       "/sm/fp32_lanes",
       "64 FLOP/clk",
       {{"\"fp32_lanes\": 64", "\"fp32_lanes\": 32"}}},
      {"tensor-ratio",
       "/peak/bf16_tensor",
       "0.25 times",
       {{"\"peak\": {", "\"peak\": {\"fp16_tensor\": \"40.96 TFLOP/s\", "},
        {"\"fp32\": 128,", "\"fp32\": 128, \"fp16_tensor\": 4096,"}}},
      {"accumulate",
       "/peak_fp16_accumulate/bf16_tensor",
       "10.24",
       {{"\"measured\"",
         "\"peak_fp16_accumulate\": {\"bf16_tensor\": \"10.24 TFLOP/s\"}, \"measured\""},
        {"\"/peak\": \"paper\"", "\"/peak\": \"paper\", \"\": \"paper\""}}},
      {"clock-order",
       "/clock/base",
       "1100 MHz",
       {{"\"boost\"", "\"base\": \"1100 MHz\", \"boost\""}}},
      {"clock-order",
       "/clock/tensor",
       "1010 MHz",
       {{"\"boost\"", "\"tensor\": \"1010 MHz\", \"boost\""}}},
      // 1280 GFLOP/s / 1 W
      {"power", "/power", "1280 GFLOP/s", {{"100 W", "1 W"}}},
      {"warps",
       "/sm/max_threads",
       "1024 threads",
       {{"\"max_threads\": 1024", "\"max_threads\": 2048"}}},
      // 1024 / 8 x 2.4 = 307.2
      {"dram-product",
       "/memory/dram/bandwidth",
       "= 307.2 GB/s (-16.7 %)",
       {{"2 Gbit/s", "2.4 Gbit/s"}}},
      // 256 / 192 is a third too high.
      {"dram-factor", "/memory/dram/bandwidth", "192 GB/s", {{"2 Gbit/s", "1.5 Gbit/s"}}},
      {"architecture", "/architecture", "1.0 is acme", {{"\"acme\"", "\"acne\""}}},
      {"architecture", "/vendor", "1.0 is other", {{"\"other\"", "\"nvidia\""}}},
      {"rate-unchecked",
       "/peak/bf16_tensor",
       "state /sm/flop_per_clock/bf16_tensor",
       {{", \"bf16_tensor\": 1024", ""}}},
      // 51.2 / 1.28 = 40
      {"tensor-vector",
       "/peak/bf16_tensor",
       "40 times fp32",
       {{"\"bf16_tensor\": 1024", "\"bf16_tensor\": 5120"},
        {"10.24 T", "51.2 T"},
        {"\"9 T", "\"45 T"}}},
      {"sm-limits", "/sm/registers", "16384", {{"65536", "64"}}},
      {"sm-limits",
       "/sm/warp_size",
       "1.0 has 32 warp_size",
       {{"\"warp_size\": 32", "\"warp_size\": 16"}, {"\"max_warps\": 32", "\"max_warps\": 64"}}},
      {"sm-limits", "/sm/max_blocks", "3000", {{"\"max_blocks\": 16", "\"max_blocks\": 3000"}}},
      {"dram-type", "/memory/dram/type", "did you mean \"HBM2\"", {{"HBM2", "hbm2"}}},
      // An HBM3e stack of 24 GB, but with the pins of HBM2.
      {"dram-rate",
       "/memory/dram/data_rate",
       "5.95 to 9.8",
       {{"HBM2", "HBM3e"}, {"\"10 GB", "\"24 GB"}}},
      {"dram-rate",
       "/memory/dram/bandwidth",
       "state bus_bits",
       {{"\"bus_bits\": 1024, \"data_rate\": \"2 Gbit/s\",", ""}}},
      {"dram-capacity", "/memory/dram/size", "141 GB per 1024 bit", {{"\"10 GB", "\"141 GB"}}},
      // GA100 has 48 MiB, the A30 half of it enabled; the file has 4.
      {"l2-die",
       "/memory/l2/size",
       "24 to 48 MiB",
       {{"\"isa\": \"1.0\"", "\"isa\": \"8.0\""},
        {"\"other\"", "\"nvidia\""},
        {"\"acme\"", "\"ampere\""},
        {"\"max_threads\": 1024, \"max_warps\": 32, \"max_blocks\": 16",
         "\"max_threads\": 2048, \"max_warps\": 64, \"max_blocks\": 32"},
        {"\"bf16_tensor\": 1024", "\"bf16_tensor\": 2048"},
        {"10.24 T", "20.48 T"}}},
      // 10 SMs x 16 FLOP/clk x 1 GHz / 256 GB/s = 0.625 FLOP/B
      {"ridge",
       "/peak/fp32",
       "0.625 FLOP/B",
       {{"\"isa\": \"1.0\"", "\"isa\": \"1.1\""},
        {"\"fp32_lanes\": 64", "\"fp32_lanes\": 8"},
        {"\"fp32\": 128", "\"fp32\": 16"},
        {"1.28 TFLOP/s", "0.16 TFLOP/s"},
        {"\"bf16_tensor\": 1024", "\"bf16_tensor\": 512"},
        {"10.24 TFLOP/s", "5.12 TFLOP/s"},
        {"9 TFLOP/s", "5 TFLOP/s"},
        {"100 W", "20 W"}}},
      {"bandwidth-order", "/measured/l2_read", "1.280 TB/s", {{"800 GB/s", "1300 GB/s"}}},
      {"bandwidth-order", "/measured/l2_read", "200.0 GB/s", {{"800 GB/s", "200 GB/s"}}},
      {"latency-order", "/memory/l2/latency", "30", {{"200 cycles", "25 cycles"}}},
      {"measured-above-peak", "/measured/dram_read", "256.0 GB/s", {{"240 GB/s", "280 GB/s"}}},
      {"measured-below-peak", "/measured/dram_read", "256.0 GB/s", {{"240 GB/s", "60 GB/s"}}},
      {"measured-above-peak", "/measured/rate/bf16_tensor", "10.24 TFLOP/s", {{"\"9 T", "\"11 T"}}},
      {"measured-above-peak", "/measured/l1_per_sm", "128 B/clk", {{"120 B/clk", "140 B/clk"}}},
      {"shared", "/sm/shared_per_block", "64 KiB", {{"48 KiB", "80 KiB"}}},
      {"shared", "/sm/shared", "96 KiB", {{"64 KiB", "128 KiB"}}},
      {"line-sector",
       "/memory/l1/line",
       "48 B",
       {{"\"sector\": \"32 B\"", "\"sector\": \"48 B\""}}},
      // PCIe 3.0 x16: 8 GT/s x 16 x 128/130 / 8 = 15.75 GB/s in one direction
      {"link-product",
       "/links/pcie/per_direction",
       "both directions",
       {{"15.75 GB/s", "31.5 GB/s"}}},
      {"link-product",
       "/links/interconnect/per_direction",
       "150 GB/s",
       {{"\"pcie\"",
         "\"interconnect\": {\"name\": \"Link 6 links x 25 GB/s\", \"per_direction\": \"100 "
         "GB/s\"},"
         " \"pcie\""}}},
      {"allowance",
       "/lint/allow",
       "did you mean \"power\"",
       {{"\"power\": \"100 W\"",
         "\"power\": \"100 W\", \"lint\": {\"allow\": {\"pover\": \"because\"}}"}}},
      {"allowance",
       "/lint/allow",
       "allows nothing",
       {{"\"power\": \"100 W\"",
         "\"power\": \"100 W\", \"lint\": {\"allow\": {\"power\": \"because\"}}"}}},
  };
}

INSTANTIATE_TEST_SUITE_P(Each, LintRules, ::testing::ValuesIn(cases()));

TEST(Lint, TheMinimalGpuIsClean) {
  EXPECT_TRUE(findings_of({}).empty());
}

TEST(Lint, EveryRuleHasACase) {
  std::set<std::string> tested;
  for (const Case& c : cases()) tested.insert(c.rule);
  for (const LintRule& rule : lint_rules())
    EXPECT_TRUE(tested.contains(std::string(rule.id))) << rule.id;
  EXPECT_EQ(tested.size(), lint_rules().size());
}

TEST(Lint, DeclaredExceptionsAreListedButClean) {
  const Edits broken{{"2 Gbit/s", "2.4 Gbit/s"}, {"\"1.28 TFLOP/s\"", "\"1.5 TFLOP/s\""}};
  const auto with = [&broken](std::string_view allow) {
    Edits edits = broken;
    edits.emplace_back("\"power\": \"100 W\"", allow);
    return findings_of(edits);
  };
  const auto all = with(
      "\"power\": \"100 W\", \"lint\": {\"allow\": {\"dram-product\": \"a\", "
      "\"peak-product:/peak/fp*\": \"b\"}}");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(is_clean(std::span(all)));
  EXPECT_EQ(all[0].allowed, "b");
  EXPECT_EQ(all[1].allowed, "a");
  // The pointer limits the allowance.
  const auto other = with(
      "\"power\": \"100 W\", \"lint\": {\"allow\": {\"dram-product\": \"a\", "
      "\"peak-product:/peak/*_tensor\": \"b\"}}");
  EXPECT_FALSE(is_clean(std::span(other)));
}

TEST(Lint, ExceptionsDoNotHideFactorsOfTwo) {
  const Catalog catalog = Catalog::embedded();
  const auto rules_of = [](const GpuSpec& gpu) {
    std::set<std::string> rules;
    for (const LintFinding& finding : lint(gpu)) {
      if (!finding.allowed) rules.emplace(finding.rule);
    }
    return rules;
  };
  auto nvl = load_gpu(catalog, "h100-nvl");  // peaks 13 % below boost, by an exception
  ASSERT_TRUE(nvl);
  ASSERT_TRUE(rules_of(*nvl).empty());
  for (auto& [key, peak] : nvl->peak) {
    if (key.pipe == Pipe::Tensor) peak = peak * 2.0;
  }
  EXPECT_TRUE(rules_of(*nvl).contains("peak-twice"));
  auto mi325x = load_gpu(catalog, "mi325x");  // the vendor rounds 6.144 TB/s to 6
  ASSERT_TRUE(mi325x);
  ASSERT_TRUE(rules_of(*mi325x).empty());
  mi325x->dram.bandwidth = *mi325x->dram.bandwidth * 2.0;
  EXPECT_TRUE(rules_of(*mi325x).contains("dram-factor"));
}

TEST(Lint, FilesThatCannotBeReadAreReportedWithTheOthers) {
  Catalog catalog = bare_catalog();
  catalog.add("gpus/a.json", minimal_gpu());
  catalog.add("gpus/b.json", "{\"id\": ");
  const auto files = lint_files(catalog, {});
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 4U) << "two GPUs, an architecture, a memory type";
  EXPECT_FALSE((*files)[0].error);
  EXPECT_TRUE((*files)[1].error);
  EXPECT_FALSE(is_clean(std::span(*files)));
  EXPECT_TRUE(is_clean(std::span(*files).first(1)));
  EXPECT_EQ(lint_files(catalog, std::vector<std::string>{"test-gpu", "tester"})->at(1).id,
            "test-gpu");
  EXPECT_FALSE(lint_files(catalog, std::vector<std::string>{"no-such-gpu"}));
}

TEST(Lint, GeForceRunsFp32AccumulationAtHalfRate) {
  const Edits ampere{
      {"\"isa\": \"1.0\"", "\"isa\": \"8.6\""},
      {"\"other\"", "\"nvidia\""},
      {"\"acme\"", "\"ampere\""},
      {"\"max_threads\": 1024, \"max_warps\": 32", "\"max_threads\": 1536, \"max_warps\": 48"},
      {"\"fp32_lanes\": 64", "\"fp32_lanes\": 128"},
      {"\"fp32\": 128, \"bf16_tensor\": 1024", "\"fp32\": 256, \"bf16_tensor\": 512"},
      {"1.28 TFLOP/s", "2.56 TFLOP/s"},
      {"10.24 TFLOP/s", "5.12 TFLOP/s"},
      {"9 TFLOP/s", "5 TFLOP/s"}};
  EXPECT_EQ(findings_of(ampere).size(), 1U);  // an A40 does 1024
  Edits geforce = ampere;
  geforce.emplace_back("Acme Test", "NVIDIA GeForce Test");
  EXPECT_TRUE(findings_of(geforce).empty());
}

}  // namespace
}  // namespace rooftile::hardware
