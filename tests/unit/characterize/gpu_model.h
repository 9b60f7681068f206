// SPDX-License-Identifier: Apache-2.0
//
// A GPU without a GPU: a driver that executes the code of the kernels it is given (kernel_work.h)
// and takes the time that a memory hierarchy, the units and the links of its description need. What
// a kernel does not do costs no time here, and what it does beyond the counted work does: a rate
// comes out right only if the code does exactly what is counted, with enough of it in flight.
#pragma once

#include <map>
#include <string>

#include "characterize/gpu/gpu_api.h"
#include "hardware/gpu_spec.h"

namespace rooftile::characterize::gpu {

struct GpuModel {
  std::string vendor = "cuda", name, isa;
  int major = 0, minor = 0, units = 1, threads_per_unit = 2048, warp = 32;
  double clock = 1e9;                         ///< Hz
  double l1 = 0, l2 = 0, l3 = 0, memory = 0;  ///< bytes; l1 of one unit; l3 0: none
  double stated_l2 = 0;                       ///< what the driver says
  double l1_rate = 0, l2_rate = 0, l3_rate = 0, dram_rate = 0, shared_rate = 0;  ///< B/s
  double l1_wait = 0, l2_wait = 0, l3_wait = 0, dram_wait = 0;                   ///< s per load
  bool write_allocate = false;          ///< a line that is stored to is first loaded from memory
  std::map<std::string, double> rates;  ///< FLOP/s by rate key
  double launch = 4e-6, launch_wait = 9e-6;
  double copy_in = 24e9, copy_out = 22e9, copy_peer = 240e9, host_wait = 1.1e-6, peer_wait = 0.9e-6;
  int devices = 2;
  bool does_nothing = false, refuses_module = false;
  std::string missing;  ///< a kernel that the module does not have
};

/// A part of the catalogue at fractions of its data sheet.
GpuModel model_of(const hardware::GpuSpec& gpu);

/// The driver of one model at a time: the interface has no user data.
GpuApi model_driver(const GpuModel& model);

/// What the driver has seen since model_driver().
struct DriverLog {
  std::map<std::string, int> launches;
  std::string module;
  unsigned grid = 0, threads = 0, n = 0, links = 0;
  std::size_t buffers = 0;  ///< that are not released
};
const DriverLog& driver_log();

}  // namespace rooftile::characterize::gpu
