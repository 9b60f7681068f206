// SPDX-License-Identifier: Apache-2.0
//
// A small GPU whose numbers agree with each other, copies of it with one text replaced, and the
// architecture that it belongs to.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/catalog.h"

namespace rooftile::hardware {

/// 10 SMs x 128 FLOP/clk x 1 GHz = 1.28 TFLOP/s; x 1024 = 10.24 TFLOP/s; 1024 bit x 2 Gbit/s / 8 =
/// 256 GB/s; L1 10 x 128 B/clk x 1 GHz = 1280 GB/s > L2 800 GB/s > DRAM 256 GB/s.
inline std::string minimal_gpu() {
  return R"({
  "schema": 1,
  "id": "test-gpu",
  "name": "Acme Test GPU 10GB",
  "aliases": ["Tester"],
  "vendor": "other",
  "architecture": "acme",
  "chip": "A1",
  "isa": "1.0",
  "process": "Acme 5",
  "year": 2020,
  "clock": {"boost": "1 GHz"},
  "sm": {
    "count": 10, "fp32_lanes": 64, "warp_size": 32,
    "max_threads": 1024, "max_warps": 32, "max_blocks": 16, "registers": 65536,
    "shared": "64 KiB", "shared_per_block": "48 KiB",
    "flop_per_clock": {"fp32": 128, "bf16_tensor": 1024}
  },
  "memory": {
    "l1": {"size": "96 KiB", "includes_shared": true, "bandwidth_per_sm": "128 B/clk",
           "line": "128 B", "sector": "32 B", "latency": "30 cycles"},
    "l2": {"size": "4 MiB", "line": "128 B", "sector": "32 B", "latency": "200 cycles"},
    "dram": {"type": "HBM2", "size": "10 GB", "bus_bits": 1024, "data_rate": "2 Gbit/s",
             "bandwidth": "256 GB/s", "latency": "400 cycles"}
  },
  "peak": {"fp32": "1.28 TFLOP/s", "bf16_tensor": "10.24 TFLOP/s"},
  "measured": {"dram_read": "240 GB/s", "l2_read": "800 GB/s", "l1_per_sm": "120 B/clk",
               "latency_clock": "1 GHz", "rate": {"bf16_tensor": "9 TFLOP/s"}},
  "links": {"pcie": {"name": "PCIe 3.0 x16", "per_direction": "15.75 GB/s"}},
  "power": "100 W",
  "doubts": ["none of this exists"],
  "sources": {"/year": "paper", "/clock": "paper", "/sm": "paper", "/memory": "paper",
              "/peak": "paper", "/measured": "paper", "/links": "paper", "/power": "paper"}
}
)";
}

/// Of the GPU above. It says nothing that the rules could hold against edited copies of the GPU but
/// its FP32 rate.
inline std::string minimal_architecture() {
  return R"({
  "schema": 1,
  "isa": "1.0",
  "name": "acme",
  "vendor": "other",
  "sm": {"warp_size": 32, "schedulers": 4, "flop_per_clock": {"fp32": 128}},
  "memory": {"sector": "32 B", "line": "128 B"},
  "sources": {"": "paper"}
}
)";
}

/// The embedded files and the architecture above.
inline Catalog minimal_catalog() {
  Catalog catalog = Catalog::embedded();
  catalog.add("architectures/1.0.json", minimal_architecture());
  return catalog;
}

/// A catalogue with nothing but the architecture above and its GPU's memory type.
inline Catalog bare_catalog() {
  Catalog catalog;
  catalog.add("architectures/1.0.json", minimal_architecture());
  catalog.add("memory_types/HBM2.json",
              Catalog::embedded().read("memory_types/HBM2.json").value().content);
  return catalog;
}

/// The GPU with the first `from` replaced by `to`.
inline std::string edited(std::string_view from, std::string_view to) {
  std::string text = minimal_gpu();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "no \"" << from << "\" in the minimal GPU";
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

}  // namespace rooftile::hardware
