// SPDX-License-Identifier: Apache-2.0
// The host processor: topology, environment, and a real measurement that takes a second.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "characterize/characterize.h"
#include "characterize/cpu/cpu_device.h"
#include "characterize/cpu/dispatch.h"
#include "characterize/cpu/topology.h"
#include "characterize/environment.h"
#include "characterize/sweep.h"
#include "temporary_folder.h"

namespace rooftile::characterize::cpu {
namespace {

TEST(Topology, ParsesListsOfProcessors) {
  EXPECT_EQ(parse_cpu_list("0-3,8"), (std::vector<std::int64_t>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("5\n"), (std::vector<std::int64_t>{5}));
  for (const char* bad : {"", "a", "3-1", "-1", "0-", "0-9999999999", "1,,2"}) {
    EXPECT_FALSE(parse_cpu_list(bad).has_value()) << bad;
  }
}

/// Two sockets of two cores with two hardware threads each, as /sys shows them.
class SysfsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    put("proc/cpuinfo", "processor : 0\nmodel name\t: Test CPU\n");
    put("proc/meminfo", "MemTotal:       1024 kB\n");
    put("sys/devices/system/cpu/online", "0-7");
    put("sys/devices/system/node/node0/cpulist", "0-1,4-5");
    put("sys/devices/system/node/node1/cpulist", "2-3,6-7");
    for (int p = 0; p < 8; ++p) {
      const int core = p % 4;  // the second threads are 4 to 7, as on most x86 machines
      const std::string cpu = "sys/devices/system/cpu/cpu" + std::to_string(p) + "/";
      const std::string siblings = std::to_string(core) + "," + std::to_string(core + 4);
      put(cpu + "cpufreq/cpuinfo_max_freq", p == 5 ? "3700000" : "3500000");
      put(cpu + "topology/physical_package_id", std::to_string(core / 2));
      put(cpu + "topology/thread_siblings_list", siblings);
      put_cache(cpu + "cache/index0/", "1", "Data", "32K", siblings);
      put_cache(cpu + "cache/index1/", "1", "Instruction", "32K", siblings);
      put_cache(cpu + "cache/index2/", "2", "Unified", "1M", core < 2 ? "0-1,4-5" : "2-3,6-7");
    }
  }
  void put(const std::string& name, const std::string& text) const { root_.write(name, text); }
  void put_cache(const std::string& folder, const char* level, const char* type, const char* size,
                 const std::string& shared) const {
    put(folder + "level", level);
    put(folder + "type", type);
    put(folder + "size", size);
    put(folder + "shared_cpu_list", shared);
    put(folder + "coherency_line_size", "64");
  }
  rooftile::testing::TemporaryFolder root_;
};

TEST_F(SysfsTest, ReadsSocketsCoresAndCaches) {
  const Topology t = load_topology_from_sysfs(root_.file(""));
  EXPECT_EQ(t.model, "Test CPU");
  EXPECT_EQ(t.memory, 1_MiB);
  EXPECT_EQ(t.max_clock, 3700_MHz);  // the highest of them
  ASSERT_EQ(t.processors.size(), 8u);
  EXPECT_EQ(t.processors[6], (Processor{.index = 6, .core = 2, .package = 1, .node = 1}));
  EXPECT_EQ(t.caches.size(), 6u);  // 4 data caches, 2 shared ones
}

TEST_F(SysfsTest, TakesOneThreadPerCoreAndSumsTheirCaches) {
  const Topology t = load_topology_from_sysfs(root_.file(""));
  const auto all = choose_processors(t, std::nullopt);
  ASSERT_EQ(all.size(), 4u);
  const auto levels = cache_levels(t, all);
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_EQ(levels[0].capacity, 128_KiB);    // 4 x 32 KiB
  EXPECT_EQ(levels[1].capacity, 2_MiB);      // 2 x 1 MiB
  const auto two = choose_processors(t, 2);  // the cores of one socket
  EXPECT_EQ(two[0].package, two[1].package);
  EXPECT_EQ(cache_levels(t, two)[1].capacity, 1_MiB);
  EXPECT_EQ(choose_processors(t, 6).size(), 6u);  // the second threads come last
}

TEST(Topology, HwlocAndSysfsAgreeOnThisMachine) {
  if (!std::filesystem::exists("/sys/devices/system/cpu")) GTEST_SKIP() << "no /sys is mounted";
  const Topology a = load_topology();
  const Topology b = load_topology_from_sysfs("/");
  ASSERT_FALSE(a.processors.empty());
  EXPECT_EQ(a.processors.size(), b.processors.size());
  EXPECT_EQ(cache_levels(a, choose_processors(a, 1)), cache_levels(b, choose_processors(b, 1)));
}

TEST(Environment, TellsTheLoadOfOthers) {
  const auto before = parse_proc_stat("cpu  100 0 0 900 0 0 0 0 0 0\ncpu0 1 2 3\n");
  const auto after = parse_proc_stat("cpu  200 0 0 950 0 0 0 50 0 0\n");
  ASSERT_TRUE(before && after);
  auto own = *after;
  own.own = 40;
  // 200 ticks passed: 100 busy (40 of them ours), 50 idle, 50 stolen.
  const BackgroundLoad load = background_load(*before, own);
  EXPECT_DOUBLE_EQ(load.others_fraction, 0.3);
  EXPECT_DOUBLE_EQ(load.stolen_fraction, 0.25);
  EXPECT_EQ(load_warnings(load).size(), 2u);
  EXPECT_TRUE(load_warnings({}).empty());
  for (const char* bad : {"", "cpu", "cpu  1 2", "cpu  1 2 x 4", "intr 1 2 3 4"}) {
    EXPECT_FALSE(parse_proc_stat(bad).has_value()) << bad;
  }
}

TEST(Environment, WarnsWhenTheClockMoves) {
  EXPECT_FALSE(clock_warning({3000_MHz, 2950_MHz}).has_value());
  EXPECT_TRUE(clock_warning({3000_MHz, 2500_MHz}).has_value());
}

Plan short_plan(const Device& device, const PlanOptions& options) {
  auto plan = make_plan(device.description(), device.capabilities(), options);
  EXPECT_TRUE(plan.has_value());
  plan->warm_up = Seconds{};
  plan->second_look = Seconds{};
  plan->target_run = Seconds::from_base(5e-5);
  plan->stopping.min_repetitions = 4;
  plan->stopping.max_repetitions = 8;
  return *plan;
}

/// Measures a handful of cases in about a second with each instruction set.
TEST(CpuDevice, MeasuresThisMachineWithinPhysicalLimits) {
  for (const std::string& isa : available_isas()) {
    auto device = make_cpu_device({.threads = {}, .isa = isa});
    ASSERT_TRUE(device.has_value()) << to_string(device.error());
    const auto clock = (*device)->observe_clock();
    ASSERT_TRUE(clock.has_value());
    // Other processes only ever make it look slower: no lower limit holds on a shared machine.
    EXPECT_GT(clock->base(), 0);
    EXPECT_LT(clock->base(), 8e9);
    const Plan plan = short_plan(
        **device,
        {.effort = Effort::Quick, .dtypes = {}, .patterns = {}, .max_working_set = 256_KiB});
    const auto result = run_sweep(**device, plan, {});
    ASSERT_TRUE(result.has_value()) << to_string(result.error());
    // Every kernel does what it is counted for, on every processor.
    EXPECT_EQ(result->samples.size(), plan.cases.size());
    for (const std::string& w : describe_omissions(result->omissions)) ADD_FAILURE() << w;
    const auto& limits = (*device)->description().limits.flops;
    for (const Sample& s : result->samples) {
      EXPECT_GT(s.time.fast.base(), 0);
      if (s.what.pattern == Pattern::Update) {
        // No clock is that high, so nothing that runs can be faster.
        EXPECT_LT(flop_rate(s), limits.at({.dtype = s.what.dtype}).value * Hertz::from_base(6e9))
            << describe(s.what);
      }
      if (is_streaming(s.what.pattern)) {
        EXPECT_GT(bandwidth(s).base(), 0) << describe(s.what);
      }
    }
  }
}

/// A kernel that returns at once.
void do_nothing(const KernelArguments&) {
}

/// Latencies of this machine, and the warnings about those that are left out.
std::pair<std::map<std::string, double>, std::string> latencies_now() {
  const auto device = make_cpu_device({}).value();
  const auto result = characterize(*device, {.plan = {.effort = Effort::Quick,
                                                      .dtypes = {},
                                                      .patterns = {Pattern::Chase},
                                                      .dense_update = false,
                                                      .max_working_set = 136_MiB},
                                             .sweep = {}});
  std::pair<std::map<std::string, double>, std::string> out;
  EXPECT_TRUE(result.has_value()) << to_string(result.error());
  for (const Plateau& p : result->own.latencies) out.first[p.level] = p.value;
  for (const std::string& w : result->own.warnings) out.second += w + "\n";
  return out;
}

// A busy machine may take the cache away, but then the level is left out and a warning says so: two
// runs never contradict each other. A factor of 1.5 is wide, but 14 and 138 ns are far outside
// it.
TEST(CpuDevice, TwoRunsAgreeOnLatencies) {
  const auto [first, first_warnings] = latencies_now();
  const auto [second, second_warnings] = latencies_now();
  for (const auto& [level, value] : first) {
    const auto other = second.find(level);
    if (other == second.end()) {
      EXPECT_NE(second_warnings.find("latency of " + level + " is left out"), std::string::npos);
      continue;
    }
    EXPECT_LT(value / other->second, 1.5) << level;
    EXPECT_GT(value / other->second, 1 / 1.5) << level;
  }
  EXPECT_TRUE(first.contains("L1") || first_warnings.find("L1 is left out") != std::string::npos);
}

TEST(CpuDevice, AnEmptyKernelIsFoundOut) {
  constexpr UpdateKernels kEmpty{.link = Link::Fma,
                                 .add = &do_nothing,
                                 .one = &do_nothing,
                                 .two = &do_nothing,
                                 .four = &do_nothing,
                                 .eights = &do_nothing};
  KernelTable table{};
  table.isa = "empty";
  table.vector_bytes = 64;
  table.granule = 64 * 24;
  table.load = table.copy = &do_nothing;
  table.update_bf16 = kEmpty;
  auto device = make_cpu_device({.threads = 1, .isa = {}}, table);
  ASSERT_TRUE(device.has_value()) << to_string(device.error());
  CharacterizeOptions options;
  options.plan = {.effort = Effort::Quick,
                  .dtypes = {},
                  .patterns = {Pattern::Load, Pattern::Copy, Pattern::Update},
                  .max_working_set = 64_KiB};
  const testing::TemporaryFolder folder;
  options.sweep.checkpoint = folder.file("machine.json.partial");
  const auto result = characterize(**device, options);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::BadInput);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));  // nothing to take up, nothing to draw
}

TEST(CpuKernels, FormatsWithoutAnAdditionStartAtTwoFlops) {
  UpdateKernels kernels{.link = Link::DotBf16,
                        .add = nullptr,
                        .one = &do_nothing,
                        .two = &do_nothing,
                        .four = &do_nothing,
                        .eights = &do_nothing};
  EXPECT_EQ(least_flops(kernels), 2);
  EXPECT_EQ(kernel_for(kernels, 1), nullptr);
  EXPECT_NE(kernel_for(kernels, 2), nullptr);
  EXPECT_FALSE(least_flops({}).has_value());
  for (const std::int64_t flops : {0, -16, 3, 6, 12, 17, 24}) {
    EXPECT_EQ(kernel_for(kernels, flops), nullptr) << flops;
  }
  for (const std::int64_t flops : {16, 32, 48, 1024}) {
    EXPECT_EQ(blocks_for(flops), flops / 16);
    EXPECT_NE(kernel_for(kernels, flops), nullptr) << flops;
  }
}

/// From x = 0, n multiply-adds x * 0.5 + 0.5 give 1 - 2^-n: the kernels do as many as they say.
template <typename T>
void expect_links(const KernelTable& table, const UpdateKernels& kernels, std::int64_t flops) {
  alignas(64) std::array<T, 64 * 24 / sizeof(T)> data{};
  const Kernel kernel = kernel_for(kernels, flops);
  ASSERT_NE(kernel, nullptr);
  kernel({.a = data.data(),
          .b = data.data(),
          .c = data.data(),
          .bytes = table.granule,
          .passes = 1,
          .blocks = blocks_for(flops)});
  const std::size_t used = static_cast<std::size_t>(table.granule) / sizeof(T);
  for (std::size_t i = 0; i < used; ++i) {
    ASSERT_EQ(data[i], T(1) - static_cast<T>(std::exp2(-static_cast<double>(flops / 2))))
        << table.isa << ", " << flops << " FLOP";
  }
}

TEST(CpuKernels, DoAsManyLinksAsTheySay) {
  for (const KernelTable* table : base_tables()) {
    for (const std::int64_t flops : {2, 4, 8, 16, 32}) {
      expect_links<double>(*table, table->update_fp64, flops);
      expect_links<float>(*table, table->update_fp32, flops);
    }
  }
}

TEST(CpuDevice, CountsTheWorkOfAPassExactly) {
  auto device = make_cpu_device({.threads = 1, .isa = {}});
  ASSERT_TRUE(device.has_value());
  const auto triad = (*device)->prepare({.pattern = Pattern::Triad,
                                         .dtype = DType::Fp64,
                                         .pipe = {},
                                         .working_set = 36_KiB,
                                         .flops_per_element = 0});
  ASSERT_TRUE(triad.has_value());
  // 3 arrays of 12 KiB, each a whole number of granules on every instruction set.
  EXPECT_EQ(triad->bytes, 36_KiB);
  EXPECT_DOUBLE_EQ(triad->flops.base(), 12 * 1024 / 8 * 2);
  const auto update = (*device)->prepare({.pattern = Pattern::Update,
                                          .dtype = DType::Fp32,
                                          .pipe = {},
                                          .working_set = 12_KiB,
                                          .flops_per_element = 64});
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->bytes, 24_KiB);  // read and written
  EXPECT_DOUBLE_EQ(update->flops.base(), 12 * 1024 / 4 * 64);
  EXPECT_FALSE((*device)
                   ->prepare({.pattern = Pattern::Update,
                              .dtype = DType::Fp32,
                              .pipe = {},
                              .working_set = 12_KiB,
                              .flops_per_element = 3})
                   .has_value());
  EXPECT_FALSE((*device)
                   ->prepare({.pattern = Pattern::Mma,
                              .dtype = DType::Fp16,
                              .pipe = {},
                              .working_set = {},
                              .flops_per_element = 0})
                   .has_value());
}

TEST(CpuDevice, RefusesAnUnknownInstructionSet) {
  const auto device = make_cpu_device({.threads = {}, .isa = "mmx"});
  ASSERT_FALSE(device.has_value());
  EXPECT_EQ(device.error().code, ErrorCode::Usage);
  EXPECT_FALSE(make_cpu_device({.threads = 0, .isa = {}}).has_value());
}

}  // namespace
}  // namespace rooftile::characterize::cpu
