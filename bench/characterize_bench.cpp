// SPDX-License-Identifier: Apache-2.0
//
// The host kernels of `rooftile characterize` next to likwid-bench (same access pattern, same
// working set, same number of threads) and next to the loops of STREAM as a compiler makes them.
// Ours and the rival's runs alternate, and the best of each counts: on a busy machine both have the
// same chance of an undisturbed run. The target is 95 % of the better rival; the last rows compare
// with what the FMA ports can do at the observed clock.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench.h"
#include "characterize/cpu/cpu_device.h"
#include "characterize/cpu/topology.h"
#include "characterize/cpu/worker_pool.h"
#include "characterize/device.h"

namespace {

using namespace rooftile;
using namespace rooftile::characterize;

constexpr int kRounds = 4;

struct Comparison {
  std::string what;
  Pattern pattern;
  DType dtype;
  double bytes;        ///< working set of all threads
  std::int64_t flops;  ///< per element, update only
  std::string likwid;  ///< name of likwid-bench's kernel
};

/// The best of many short runs.
double our_rate(Device& device, const Comparison& c) {
  const Case what{.pattern = c.pattern,
                  .dtype = c.dtype,
                  .pipe = hardware::Pipe::Vector,
                  .working_set = Bytes::from_base(c.bytes),
                  .flops_per_element = c.flops};
  const auto work = device.prepare(what);
  if (!work) return 0.0;
  const double amount = c.flops > 0 ? work->flops.base() : work->bytes.base();
  const auto fastest = [&](int runs, std::int64_t passes) {
    double best = 1e9;
    for (int i = 0; i < runs; ++i) {
      if (const auto time = device.run(passes)) best = std::min(best, time->base());
    }
    return best;
  };
  std::int64_t passes = 1;  // until a run takes about half a millisecond
  while (fastest(3, passes) < 3e-4 && passes < 1'000'000'000) passes *= 2;
  return amount * static_cast<double>(passes) / fastest(60, passes);
}

/// likwid-bench prints MByte/s and MFlops/s of a whole run. Short runs escape interruptions, long
/// ones hide its start-up, so `length` varies from round to round; `ours` is our rate, which tells
/// how many iterations that takes.
double likwid_rate(const Comparison& c, std::size_t threads, double ours, double length) {
  const double iteration = c.flops > 0 ? c.bytes / 8 * 16 / ours : c.bytes / ours;
  const auto iterations = std::max<std::int64_t>(1, static_cast<std::int64_t>(length / iteration));
  const std::string command =
      fmt::format("likwid-bench -t {} -w S0:{}kB:{} -i {} 2>/dev/null | awk '/{}/ {{print $2}}'",
                  c.likwid, static_cast<std::int64_t>(c.bytes / 1000), threads, iterations,
                  c.flops > 0 ? "MFlops.s:" : "MByte.s:");
  return bench::number_from(command).value_or(0.0) * 1e6;
}

bench::Row compare(const Comparison& c, std::size_t threads) {
  double ours = 0, rival = 0;
  for (int round = 0; round < kRounds; ++round) {
    {
      // The device pins this thread while it lives, and a child would inherit that.
      auto device = cpu::make_cpu_device({});
      if (device) ours = std::max(ours, our_rate(**device, c));
    }
    const double length = std::array{0.002, 0.01, 0.05, 0.2}[static_cast<std::size_t>(round) % 4];
    rival = std::max(rival, likwid_rate(c, threads, ours, length));
  }
  bench::Row row{.what = c.what,
                 .unit = c.flops > 0 ? "GFLOP/s" : "GB/s",
                 .ours = ours * 1e-9,
                 .rival = std::nullopt,
                 .target = std::nullopt,
                 .less_is_better = false};
  if (rival > 0) {
    row.rival = bench::Rival{.name = c.likwid, .value = rival * 1e-9};
    row.target = rival * 1e-9 * 0.95;
  }
  return row;
}

/// STREAM's copy and triad over doubles, as plain loops on the same pinned threads.
class Stream {
 public:
  explicit Stream(std::size_t elements)
      : processors_(cpu::choose_processors(cpu::load_topology(), std::nullopt)),
        pool_(processors_),
        share_(elements / processors_.size()),
        a_(processors_.size()),
        b_(a_),
        c_(a_) {
    pool_.run([&](std::size_t w) {  // first touch by the owner
      a_[w].assign(share_, 1.0);
      b_[w].assign(share_, 2.0);
      c_[w].assign(share_, 0.5);
    });
  }
  double copy() {
    const Seconds t = pool_.run([&](std::size_t w) {
      double* a = a_[w].data();
      const double* b = b_[w].data();
      for (std::size_t i = 0; i < share_; ++i) a[i] = b[i];
      asm volatile("" : : "r"(a) : "memory");
    });
    return 16.0 * static_cast<double>(share_ * pool_.size()) / t.base();
  }
  double triad() {
    const Seconds t = pool_.run([&](std::size_t w) {
      double* a = a_[w].data();
      const double* b = b_[w].data();
      const double* c = c_[w].data();
      for (std::size_t i = 0; i < share_; ++i) a[i] = b[i] + 3.0 * c[i];
      asm volatile("" : : "r"(a) : "memory");
    });
    return 24.0 * static_cast<double>(share_ * pool_.size()) / t.base();
  }

 private:
  std::vector<cpu::Processor> processors_;
  cpu::WorkerPool pool_;
  std::size_t share_;
  std::vector<std::vector<double>> a_, b_, c_;
};

/// STREAM may stream its stores or not, as the compiler likes: ours is the better of the two.
bench::Row compare_stream(const std::string& what, bool is_triad, double bytes) {
  double ours = 0, rival = 0;
  for (int round = 0; round < kRounds; ++round) {
    {
      auto device = cpu::make_cpu_device({});
      if (!device) break;
      for (const Pattern p : is_triad ? std::vector{Pattern::Triad, Pattern::TriadNt}
                                      : std::vector{Pattern::Copy, Pattern::CopyNt}) {
        ours = std::max(ours, our_rate(**device, {what, p, DType::Fp64, bytes, 0, ""}));
      }
    }
    Stream stream(static_cast<std::size_t>(bytes / (is_triad ? 24 : 16)));
    for (int i = 0; i < 8; ++i) rival = std::max(rival, is_triad ? stream.triad() : stream.copy());
  }
  return {.what = what,
          .unit = "GB/s",
          .ours = ours * 1e-9,
          .rival = bench::Rival{.name = "STREAM loop", .value = rival * 1e-9},
          .target = rival * 1e-9 * 0.95,
          .less_is_better = false};
}

/// Against the physical limit: at least 95 % of it.
bench::Row compare_ports(Device& device, DType dtype, const std::string& what) {
  double ours = 0, clock = 0;
  for (int round = 0; round < kRounds; ++round) {
    ours = std::max(ours, our_rate(device, {what, Pattern::Update, dtype, 24e3, 1024, ""}));
    if (const auto seen = device.observe_clock()) clock = std::max(clock, seen->base());
  }
  const double limit =
      device.description().limits.flops.at({.dtype = dtype}).value.base() * clock * 1e-9;
  return {.what = what,
          .unit = "GFLOP/s",
          .ours = ours * 1e-9,
          .rival = bench::Rival{.name = fmt::format("FMA ports at {:.2f} GHz", clock * 1e-9),
                                .value = limit},
          .target = limit * 0.95,
          .less_is_better = false};
}

}  // namespace

int main() {
  std::vector<bench::Row> rows;
  const std::size_t threads = cpu::choose_processors(cpu::load_topology(), std::nullopt).size();
  {
    const double l1 = 12e3 * static_cast<double>(threads),
                 l2 = 256e3 * static_cast<double>(threads);
    const double memory = 100e6;
    const std::vector<Comparison> comparisons{
        {"load in L1", Pattern::Load, DType::Fp64, l1, 0, "load_avx"},
        {"copy in L1", Pattern::Copy, DType::Fp64, l1, 0, "copy_avx"},
        {"triad in L1", Pattern::Triad, DType::Fp64, l1, 0, "stream_avx_fma"},
        {"load in L2", Pattern::Load, DType::Fp64, l2, 0, "load_avx"},
        {"copy in L2", Pattern::Copy, DType::Fp64, l2, 0, "copy_avx"},
        {"load in L3", Pattern::Load, DType::Fp64, 4e6, 0, "load_avx"},
        {"load from DRAM", Pattern::Load, DType::Fp64, memory, 0, "load_avx"},
        {"store to DRAM, streaming", Pattern::StoreNt, DType::Fp64, memory, 0, "store_mem_avx"},
        {"copy in DRAM", Pattern::Copy, DType::Fp64, memory, 0, "copy_avx"},
        {"copy in DRAM, streaming", Pattern::CopyNt, DType::Fp64, memory, 0, "copy_mem_avx"},
        {"triad in DRAM, streaming", Pattern::TriadNt, DType::Fp64, memory, 0,
         "stream_mem_avx_fma"},
        {"FP64 FLOP/s", Pattern::Update, DType::Fp64, l1, 1024, "peakflops_avx_fma"},
        {"FP32 FLOP/s", Pattern::Update, DType::Fp32, l1, 1024, "peakflops_sp_avx_fma"}};
    for (const Comparison& c : comparisons) rows.push_back(compare(c, threads));
  }
  if (auto device = cpu::make_cpu_device({})) {
    rows.push_back(compare_ports(**device, DType::Fp64, "FP64 FLOP/s, limit"));
    rows.push_back(compare_ports(**device, DType::Fp32, "FP32 FLOP/s, limit"));
  }
  rows.push_back(compare_stream("STREAM copy in DRAM", false, 100e6));
  rows.push_back(compare_stream("STREAM triad in DRAM", true, 100e6));
  return bench::print(rows);
}
