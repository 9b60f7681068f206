// SPDX-License-Identifier: Apache-2.0
#include "hardware/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "hardware/lint.h"
#include "hardware/load.h"
#include "hardware/memory_type.h"
#include "hardware/minimal_gpu.h"

namespace rooftile::hardware {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFull = R"({
  "schema": 1, "isa": "13.0", "name": "acme", "vendor": "nvidia",
  "sm": {"warp_size": 32, "schedulers": 4, "max_threads": 2048, "max_blocks": 32,
         "registers": 65536, "exponentials_per_clock": 32, "flop_per_clock": {"fp32": 256, "fp16_tensor": 4096}},
  "memory": {"sector": "32 B", "line": "128 B", "l1": "256 KiB", "l2": {"least": "50 MiB", "most": "60 MiB"}},
  "library": {"kernel_family": "ampere", "one_winograd_shape": true,
              "winograd_filter_gradient": false,
              "attention": {"family": "f", "rows": 64, "granule": 16, "packs_groups": true}},
  "counters": {"tool": "ncu", "tensor_instruction_flop": 512},
  "sources": {"/sm": "paper", "/memory": "paper", "/library": "paper", "/counters": "paper"}
})";

std::string with(std::string_view from, std::string_view to) {
  std::string text = kFull;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

std::string failure(std::string_view from, std::string_view to) {
  const auto arch = parse_architecture(with(from, to), "x.json");
  return arch ? "no error" : to_string(arch.error());
}

TEST(Architecture, ReadsEveryField) {
  const auto arch = parse_architecture(kFull, "x.json");
  ASSERT_TRUE(arch) << to_string(arch.error());
  EXPECT_EQ(arch->isa, "13.0");
  EXPECT_EQ(arch->name, "acme");
  EXPECT_EQ(arch->vendor, Vendor::Nvidia);
  EXPECT_EQ(arch->sm.warp_size, 32);
  EXPECT_EQ(arch->sm.schedulers, 4);
  EXPECT_EQ(arch->sm.max_threads, 2048);
  EXPECT_EQ(arch->sm.max_blocks, 32);
  EXPECT_EQ(arch->sm.registers, 65536);
  EXPECT_EQ(arch->sm.flop_per_clock.at({DType::Fp16, Pipe::Tensor}), 4096.0);
  EXPECT_EQ(arch->memory.sector, 32_B);
  EXPECT_EQ(arch->memory.line, 128_B);
  EXPECT_EQ(arch->memory.l1, 256_KiB);
  EXPECT_EQ(arch->memory.l2->least, 50_MiB);
  EXPECT_EQ(arch->memory.l2->most, 60_MiB);
  EXPECT_EQ(arch->library.kernel_family, "ampere");
  EXPECT_TRUE(arch->library.one_winograd_shape);
  EXPECT_FALSE(arch->library.winograd_filter_gradient);
  EXPECT_EQ(arch->sm.exponentials_per_clock, 32.0);
  ASSERT_TRUE(arch->library.attention);
  EXPECT_EQ(arch->library.attention->family, "f");
  EXPECT_EQ(arch->library.attention->rows, 64);
  EXPECT_EQ(arch->library.attention->granule, 16);
  EXPECT_TRUE(arch->library.attention->packs_groups);
  EXPECT_EQ(arch->counters->tool, Profiler::NsightCompute);
  EXPECT_EQ(arch->counters->tensor_instruction_flop, 512.0);
  EXPECT_FALSE(arch->counters->request);
  EXPECT_EQ(arch->file, "x.json");
}

TEST(Architecture, WhatIsNotStatedIsNotGuessed) {
  const auto arch = parse_architecture(minimal_architecture(), "x.json");
  ASSERT_TRUE(arch) << to_string(arch.error());
  EXPECT_FALSE(arch->sm.registers);
  EXPECT_FALSE(arch->memory.l2);
  EXPECT_FALSE(arch->counters);
  EXPECT_EQ(arch->library.kernel_family, "1.0") << "a family of its own";
}

TEST(Architecture, RefusesWhatItCannotVouchFor) {
  EXPECT_THAT(failure("\"schedulers\"", "\"shedulers\""),
              HasSubstr("did you mean \"schedulers\"?"));
  EXPECT_THAT(failure("\"library\"", "\"libary\""), HasSubstr("did you mean \"library\"?"));
  EXPECT_THAT(failure("\"granule\": 16", "\"granule\": 65"),
              HasSubstr("x.json:/library/attention"));
  EXPECT_THAT(failure("\"rows\": 64, ", ""), HasSubstr("missing key \"rows\""));
  EXPECT_THAT(failure("\"kernel_family\"", "\"family\""), HasSubstr("x.json:/library"));
  EXPECT_THAT(failure("\"fp32\": 256, ", ""),
              HasSubstr("/sm/flop_per_clock: missing key \"fp32\""));
  EXPECT_THAT(failure("\"fp16_tensor\"", "\"fp61_tensor\""), HasSubstr("unknown rate"));
  EXPECT_THAT(failure("\"32 B\"", "\"32\""), HasSubstr("has no unit"));
  EXPECT_THAT(failure("\"32 B\"", "\"48 B\""), HasSubstr("48 B is not a power of two"));
  EXPECT_THAT(failure("\"32 B\"", "\"256 B\""),
              HasSubstr("a sector of 256 B is larger than a line"));
  EXPECT_THAT(failure("\"50 MiB\"", "\"70 MiB\""),
              HasSubstr("the minimum is greater than the maximum"));
  EXPECT_THAT(failure("\"ncu\"", "\"nsys\""), HasSubstr("unknown tool \"nsys\""));
  EXPECT_THAT(failure("\"tensor_instruction_flop\": 512", "\"request\": \"64 B\""),
              HasSubstr("property of AMD's counters"));
  EXPECT_THAT(failure("\"ncu\", \"tensor_instruction_flop\": 512", "\"rocprofv3\""),
              HasSubstr("missing key \"request\""));
  EXPECT_THAT(
      failure("\"ncu\", \"tensor_instruction_flop\": 512", "\"rocprofv3\", \"request\": \"96 B\""),
      HasSubstr("requests of 96 B are not supported"));
  EXPECT_THAT(failure("\"/memory\": \"paper\", ", ""), HasSubstr("no source for /memory/sector"));
  EXPECT_THAT(failure("\"/memory\"", "\"/memroy\""), HasSubstr("did you mean \"/memory\"?"));
  EXPECT_THAT(failure("\"schema\": 1", "\"schema\": 2"), HasSubstr("schema 2 is not supported"));
}

TEST(Architecture, LintSeesWhatContradictsItself) {
  const auto rules = [](std::string_view from, std::string_view to) {
    std::string list;
    for (const LintFinding& f : lint(parse_architecture(with(from, to), "x.json").value()))
      list += f.rule + " " + f.pointer + "; ";
    return list;
  };
  EXPECT_EQ(rules("4096", "4096"), "");
  EXPECT_EQ(rules("4096", "65536"), "tensor-vector /sm/flop_per_clock/fp16_tensor; ");
  EXPECT_EQ(rules("\"fp16_tensor\": 4096", "\"fp16_tensor\": 4096, \"bf16_tensor\": 1024"),
            "tensor-ratio /sm/flop_per_clock/bf16_tensor; ");
  EXPECT_EQ(rules("\"schedulers\": 4", "\"schedulers\": 3"), "fp32-lanes /sm/schedulers; ");
  EXPECT_EQ(rules("2048", "2000"), "warps /sm/max_threads; ");
  const auto said = [](std::string_view from, std::string_view to) {
    const auto findings = lint(parse_architecture(with(from, to), "x.json").value());
    return findings.empty() ? "" : findings.front().message;
  };
  EXPECT_EQ(said("\"schedulers\": 4", "\"schedulers\": 3"),
            "128 lanes cannot be shared by 3 schedulers");
  EXPECT_EQ(said("2048", "2000"), "2000 threads are not a whole number of warps of 32");
}

TEST(Architecture, IsFoundByTheNameOfItsFile) {
  Catalog catalog = Catalog::embedded();
  catalog.add("architectures/14.0.json", kFull);
  const auto misnamed = load_architecture(catalog, "14.0");
  ASSERT_FALSE(misnamed);
  EXPECT_THAT(to_string(misnamed.error()), HasSubstr("\"13.0\" does not match the file name 14.0"));
  EXPECT_FALSE(list_architectures(catalog));
}

TEST(Architecture, RelativesStandInForDevicesWithoutAFile) {
  const Catalog catalog = Catalog::embedded();
  const auto nearest = [&](std::string_view isa) {
    const auto arch = nearest_architecture(catalog, isa).value();
    return arch ? arch->isa : "none";
  };
  EXPECT_EQ(nearest("9.0"), "9.0");
  EXPECT_EQ(nearest("7.2"), "7.0");
  EXPECT_EQ(nearest("8.7"), "8.6");
  EXPECT_EQ(nearest("11.0"), "10.3");
  EXPECT_EQ(nearest("99.0"), "12.0");
  EXPECT_EQ(nearest("3.5"), "5.2");
  EXPECT_EQ(nearest("gfx940"), "gfx942");
  EXPECT_EQ(nearest("gfx900"), "gfx906");
  EXPECT_EQ(nearest("gfx942:sramecc+"), "gfx942");
  EXPECT_EQ(nearest("gfx9"), "gfx906");
  EXPECT_EQ(nearest("PVC"), "PVC");
  EXPECT_EQ(nearest(""), "none");
  EXPECT_EQ(nearest("avx512"), "none");
  EXPECT_EQ(nearest("../gpus/nvidia_l4_24gb"), "none");
}

TEST(LoadGpu, AttachesTheArchitecture) {
  const auto gpu = load_gpu(Catalog::embedded(), "h100-sxm");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->arch.isa, "9.0");
  EXPECT_EQ(gpu->arch.name, "hopper");
  EXPECT_EQ(gpu->arch.file, "catalog:architectures/9.0.json");
  EXPECT_EQ(gpu->dram.known->name, "HBM3");
}

TEST(LoadGpu, AnInstructionSetWithoutAnArchitectureIsAnErrorWithAHint) {
  const auto gpu =
      parse_gpu(edited("\"isa\": \"1.0\"", "\"isa\": \"9.O\""), "x.json", Catalog::embedded());
  ASSERT_FALSE(gpu);
  EXPECT_EQ(to_string(gpu.error()),
            "error: x.json:/isa: no architecture file for \"9.O\"\n"
            "hint: did you mean \"9.0\"? A new architecture is a file architectures/9.O.json in a "
            "--catalog folder (docs/howto/add_an_architecture.md)\n");
}

TEST(LoadGpu, ABrokenArchitectureIsNamed) {
  Catalog catalog = minimal_catalog();
  catalog.add("architectures/1.0.json", "{\"schema\": 1}");
  const auto gpu = parse_gpu(minimal_gpu(), "x.json", catalog);
  ASSERT_FALSE(gpu);
  EXPECT_THAT(to_string(gpu.error()),
              HasSubstr("catalog:architectures/1.0.json:/: missing key \"isa\""));
}

TEST(LoadGpu, TheArchitectureIsAnInputToo) {
  const auto before = parse_gpu(minimal_gpu(), "x.json", minimal_catalog());
  Catalog changed = minimal_catalog();
  std::string text = minimal_architecture();
  text.replace(text.find("paper"), 5, "books");
  changed.add("architectures/1.0.json", text);
  const auto after = parse_gpu(minimal_gpu(), "x.json", changed);
  ASSERT_TRUE(before && after);
  EXPECT_NE(before->arch.input.sha256, after->arch.input.sha256);
}

TEST(MemoryType, IsReadAndChecked) {
  constexpr const char* kText = R"({"schema": 1, "name": "HBM9", "kind": "hbm",
    "data_rate": {"least": "10 Gbit/s", "most": "20 Gbit/s"},
    "device": {"bits": 2048, "least": "24 GB", "most": "64 GB"}, "sources": {"": "paper"}})";
  const auto type = parse_memory_type(kText, "x.json");
  ASSERT_TRUE(type) << to_string(type.error());
  EXPECT_EQ(type->kind, "hbm");
  EXPECT_EQ(type->most_gbit, 20);
  EXPECT_EQ(type->device_bits, 2048);
  EXPECT_EQ(type->least_gb, 24);
  const auto failed = [&](std::string_view from, std::string_view to) {
    std::string text = kText;
    text.replace(text.find(from), from.size(), to);
    const auto bad = parse_memory_type(text, "x.json");
    return bad ? "no error" : to_string(bad.error());
  };
  EXPECT_THAT(failed("\"bits\"", "\"bist\""), HasSubstr("known keys are bits, least, most"));
  EXPECT_THAT(failed("\"hbm\"", "\"hmb\""), HasSubstr("kinds are hbm, gddr"));
  EXPECT_THAT(failed("\"20 Gbit/s\"", "\"5 Gbit/s\""), HasSubstr("the minimum is greater"));
  EXPECT_THAT(failed("\"\": \"paper\"", ""), HasSubstr("no source for /data_rate/least"));
  Catalog catalog;
  catalog.add("memory_types/HBM8.json", kText);
  EXPECT_THAT(to_string(find_memory_type(catalog, "HBM8").error()),
              HasSubstr("\"HBM9\" does not match the file name HBM8"));
}

}  // namespace
}  // namespace rooftile::hardware
