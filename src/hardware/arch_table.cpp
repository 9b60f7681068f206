// SPDX-License-Identifier: Apache-2.0
#include "hardware/arch_table.h"

#include <algorithm>
#include <array>

namespace rooftile::hardware {

namespace {

struct ArchRate {
  std::string_view isa;
  RateKey key;
  double flop_per_clock;
};

constexpr std::array<ArchRate, 130> kArchRates{{
    {"5.2", {DType::Fp32, Pipe::Vector}, 256},
    {"5.2", {DType::Fp64, Pipe::Vector}, 8},
    {"6.0", {DType::Fp32, Pipe::Vector}, 128},
    {"6.0", {DType::Fp64, Pipe::Vector}, 64},
    {"6.0", {DType::Fp16, Pipe::Vector}, 256},
    {"6.1", {DType::Fp32, Pipe::Vector}, 256},
    {"6.1", {DType::Fp64, Pipe::Vector}, 8},
    {"6.1", {DType::Fp16, Pipe::Vector}, 4},
    {"6.1", {DType::Int8, Pipe::Vector}, 1024},
    {"7.0", {DType::Fp32, Pipe::Vector}, 128},
    {"7.0", {DType::Fp64, Pipe::Vector}, 64},
    {"7.0", {DType::Fp16, Pipe::Vector}, 256},
    {"7.0", {DType::Fp16, Pipe::Tensor}, 1024},
    {"7.0", {DType::Int8, Pipe::Vector}, 512},
    {"7.5", {DType::Fp32, Pipe::Vector}, 128},
    {"7.5", {DType::Fp64, Pipe::Vector}, 4},
    {"7.5", {DType::Fp16, Pipe::Vector}, 256},
    {"7.5", {DType::Fp16, Pipe::Tensor}, 1024},
    {"7.5", {DType::Int8, Pipe::Tensor}, 2048},
    {"8.0", {DType::Fp32, Pipe::Vector}, 128},
    {"8.0", {DType::Fp64, Pipe::Vector}, 64},
    {"8.0", {DType::Fp64, Pipe::Tensor}, 128},
    {"8.0", {DType::Fp16, Pipe::Vector}, 512},
    {"8.0", {DType::Tf32, Pipe::Tensor}, 1024},
    {"8.0", {DType::Fp16, Pipe::Tensor}, 2048},
    {"8.0", {DType::Bf16, Pipe::Tensor}, 2048},
    {"8.0", {DType::Int8, Pipe::Tensor}, 4096},
    {"8.6", {DType::Fp32, Pipe::Vector}, 256},
    {"8.6", {DType::Fp64, Pipe::Vector}, 4},
    {"8.6", {DType::Fp16, Pipe::Vector}, 256},
    {"8.6", {DType::Tf32, Pipe::Tensor}, 512},
    {"8.6", {DType::Fp16, Pipe::Tensor}, 1024},
    {"8.6", {DType::Bf16, Pipe::Tensor}, 1024},
    {"8.6", {DType::Int8, Pipe::Tensor}, 2048},
    {"8.9", {DType::Fp32, Pipe::Vector}, 256},
    {"8.9", {DType::Fp64, Pipe::Vector}, 4},
    {"8.9", {DType::Fp16, Pipe::Vector}, 256},
    {"8.9", {DType::Tf32, Pipe::Tensor}, 512},
    {"8.9", {DType::Fp16, Pipe::Tensor}, 1024},
    {"8.9", {DType::Bf16, Pipe::Tensor}, 1024},
    {"8.9", {DType::Fp8E4m3, Pipe::Tensor}, 2048},
    {"8.9", {DType::Fp8E5m2, Pipe::Tensor}, 2048},
    {"8.9", {DType::Int8, Pipe::Tensor}, 2048},
    {"9.0", {DType::Fp32, Pipe::Vector}, 256},
    {"9.0", {DType::Fp64, Pipe::Vector}, 128},
    {"9.0", {DType::Fp64, Pipe::Tensor}, 256},
    {"9.0", {DType::Fp16, Pipe::Vector}, 512},
    {"9.0", {DType::Tf32, Pipe::Tensor}, 2048},
    {"9.0", {DType::Fp16, Pipe::Tensor}, 4096},
    {"9.0", {DType::Bf16, Pipe::Tensor}, 4096},
    {"9.0", {DType::Fp8E4m3, Pipe::Tensor}, 8192},
    {"9.0", {DType::Fp8E5m2, Pipe::Tensor}, 8192},
    {"9.0", {DType::Int8, Pipe::Tensor}, 8192},
    {"10.0", {DType::Fp32, Pipe::Vector}, 256},
    {"10.0", {DType::Fp64, Pipe::Vector}, 128},
    {"10.0", {DType::Fp64, Pipe::Tensor}, 128},
    {"10.0", {DType::Tf32, Pipe::Tensor}, 4096},
    {"10.0", {DType::Fp16, Pipe::Tensor}, 8192},
    {"10.0", {DType::Bf16, Pipe::Tensor}, 8192},
    {"10.0", {DType::Fp8E4m3, Pipe::Tensor}, 16384},
    {"10.0", {DType::Fp8E5m2, Pipe::Tensor}, 16384},
    {"10.0", {DType::Int8, Pipe::Tensor}, 16384},
    {"10.0", {DType::Fp4, Pipe::Tensor}, 32768},
    {"10.3", {DType::Fp32, Pipe::Vector}, 256},
    {"10.3", {DType::Fp64, Pipe::Vector}, 4},
    {"10.3", {DType::Fp64, Pipe::Tensor}, 4},
    {"10.3", {DType::Tf32, Pipe::Tensor}, 4096},
    {"10.3", {DType::Fp16, Pipe::Tensor}, 8192},
    {"10.3", {DType::Bf16, Pipe::Tensor}, 8192},
    {"10.3", {DType::Fp8E4m3, Pipe::Tensor}, 16384},
    {"10.3", {DType::Fp8E5m2, Pipe::Tensor}, 16384},
    {"10.3", {DType::Fp4, Pipe::Tensor}, 49152},
    {"12.0", {DType::Fp32, Pipe::Vector}, 256},
    {"12.0", {DType::Fp64, Pipe::Vector}, 4},
    {"12.0", {DType::Fp16, Pipe::Vector}, 256},
    {"12.0", {DType::Tf32, Pipe::Tensor}, 512},
    {"12.0", {DType::Fp16, Pipe::Tensor}, 1024},
    {"12.0", {DType::Bf16, Pipe::Tensor}, 1024},
    {"12.0", {DType::Fp8E4m3, Pipe::Tensor}, 2048},
    {"12.0", {DType::Fp8E5m2, Pipe::Tensor}, 2048},
    {"12.0", {DType::Int8, Pipe::Tensor}, 2048},
    {"12.0", {DType::Fp4, Pipe::Tensor}, 4096},
    {"gfx906", {DType::Fp32, Pipe::Vector}, 128},
    {"gfx906", {DType::Fp64, Pipe::Vector}, 64},
    {"gfx906", {DType::Fp16, Pipe::Vector}, 256},
    {"gfx906", {DType::Int8, Pipe::Vector}, 512},
    {"gfx908", {DType::Fp32, Pipe::Vector}, 128},
    {"gfx908", {DType::Fp64, Pipe::Vector}, 64},
    {"gfx908", {DType::Fp16, Pipe::Vector}, 256},
    {"gfx908", {DType::Fp32, Pipe::Tensor}, 256},
    {"gfx908", {DType::Fp16, Pipe::Tensor}, 1024},
    {"gfx908", {DType::Bf16, Pipe::Tensor}, 512},
    {"gfx908", {DType::Int8, Pipe::Tensor}, 1024},
    {"gfx90a", {DType::Fp32, Pipe::Vector}, 128},
    {"gfx90a", {DType::Fp64, Pipe::Vector}, 128},
    {"gfx90a", {DType::Fp64, Pipe::Tensor}, 256},
    {"gfx90a", {DType::Fp32, Pipe::Tensor}, 256},
    {"gfx90a", {DType::Fp16, Pipe::Tensor}, 1024},
    {"gfx90a", {DType::Bf16, Pipe::Tensor}, 1024},
    {"gfx90a", {DType::Int8, Pipe::Tensor}, 1024},
    {"gfx942", {DType::Fp32, Pipe::Vector}, 256},
    {"gfx942", {DType::Fp64, Pipe::Vector}, 128},
    {"gfx942", {DType::Fp64, Pipe::Tensor}, 256},
    {"gfx942", {DType::Fp32, Pipe::Tensor}, 256},
    {"gfx942", {DType::Tf32, Pipe::Tensor}, 1024},
    {"gfx942", {DType::Fp16, Pipe::Tensor}, 2048},
    {"gfx942", {DType::Bf16, Pipe::Tensor}, 2048},
    {"gfx942", {DType::Fp8E4m3, Pipe::Tensor}, 4096},
    {"gfx942", {DType::Fp8E5m2, Pipe::Tensor}, 4096},
    {"gfx942", {DType::Int8, Pipe::Tensor}, 4096},
    {"gfx950", {DType::Fp32, Pipe::Vector}, 256},
    {"gfx950", {DType::Fp64, Pipe::Vector}, 128},
    {"gfx950", {DType::Fp64, Pipe::Tensor}, 128},
    {"gfx950", {DType::Fp32, Pipe::Tensor}, 256},
    {"gfx950", {DType::Fp16, Pipe::Tensor}, 4096},
    {"gfx950", {DType::Bf16, Pipe::Tensor}, 4096},
    {"gfx950", {DType::Fp8E4m3, Pipe::Tensor}, 8192},
    {"gfx950", {DType::Fp8E5m2, Pipe::Tensor}, 8192},
    {"gfx950", {DType::Int8, Pipe::Tensor}, 8192},
    {"gfx950", {DType::Fp4, Pipe::Tensor}, 16384},
    {"PVC", {DType::Fp32, Pipe::Vector}, 256},
    {"PVC", {DType::Fp64, Pipe::Vector}, 256},
    {"PVC", {DType::Tf32, Pipe::Tensor}, 2048},
    {"PVC", {DType::Fp16, Pipe::Tensor}, 4096},
    {"PVC", {DType::Bf16, Pipe::Tensor}, 4096},
    {"PVC", {DType::Int8, Pipe::Tensor}, 8192},
    {"BMG", {DType::Fp32, Pipe::Vector}, 256},
    {"BMG", {DType::Fp16, Pipe::Tensor}, 2048},
    {"BMG", {DType::Bf16, Pipe::Tensor}, 2048},
    {"BMG", {DType::Int8, Pipe::Tensor}, 4096},
}};

}  // namespace

std::optional<double> arch_flop_per_clock(std::string_view isa, RateKey key) {
  for (const ArchRate& rate : kArchRates) {
    if (rate.isa == isa && rate.key == key) return rate.flop_per_clock;
  }
  return std::nullopt;
}

double widest_flop_per_clock(RateKey key) {
  double same = 0, any = 0;
  for (const ArchRate& rate : kArchRates) {
    if (rate.key.pipe == key.pipe) any = std::max(any, rate.flop_per_clock);
    if (rate.key == key) same = std::max(same, rate.flop_per_clock);
  }
  return same > 0 ? same : any;
}

}  // namespace rooftile::hardware
