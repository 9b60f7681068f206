// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "cost/predictor.h"
#include "hardware/lint.h"
#include "hardware/load.h"
#include "hardware/machine.h"
#include "ops/any_op.h"

// A GPU file that loads can be linted, and answers or refuses a kernel.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const rooftile::Catalog catalog = rooftile::Catalog::embedded();
  const auto gpu = rooftile::hardware::parse_gpu(text, "fuzz.json", catalog);
  if (!gpu) return 0;
  (void)rooftile::hardware::lint(*gpu);
  rooftile::ops::KernelList kernels;
  rooftile::ops::forward(rooftile::ops::Linear{.rows = 512, .in = 1024, .out = 1024},
                         {.precision = rooftile::ops::precision_of(rooftile::DType::Fp32)},
                         kernels);
  const rooftile::hardware::Machine machine{.gpu = *gpu, .ceilings = {}};
  static const auto predictor = rooftile::cost::make_predictor("bound", catalog).value();
  if (const auto job = rooftile::cost::bind(kernels.front(), machine)) {
    (void)predictor->estimate(*job, machine);
  }
  return 0;
}
