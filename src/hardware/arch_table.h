// SPDX-License-Identifier: Apache-2.0
//
// What one SM (CU, Xe core) of an instruction set does per clock: dense FLOP, tensor rates with
// FP32 accumulation. These are properties of the architecture, so one GPU file cannot get them
// wrong alone; lint compares each file with this table. From the CUDA programming guide, the
// architecture white papers, AMD's CDNA ISA guides and Intel's optimization guide; GeForce parts
// run floating-point tensor work with FP32 accumulation at half of the rates here.
#pragma once

#include <optional>
#include <string_view>

#include "hardware/gpu_spec.h"

namespace rooftile::hardware {

/// FLOP per SM and clock of the full-rate parts; nothing for an unknown ISA or rate.
std::optional<double> arch_flop_per_clock(std::string_view isa, RateKey key);

/// The most that any ISA does; of a rate that none has, the most of any rate of its pipe.
double widest_flop_per_clock(RateKey key);

}  // namespace rooftile::hardware
