// SPDX-License-Identifier: Apache-2.0
//
// A run with several ranks: `mpirun -np 4 rooftile characterize`. Every rank measures a device or a
// share of the cores, all of them at the same time, as ERT does; rank 0 adds up what the node (or
// the job) reaches and how much the ranks differ.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "characterize/backends.h"
#include "characterize/characterization.h"
#include "characterize/mpi/mpi_interface.h"
#include "characterize/sweep.h"
#include "core/result.h"

namespace rooftile::characterize::mpi {

/// True when a launcher of MPI started this process together with others.
bool started_by_mpi();

class Session final : public Coordinator {
 public:
  /// Opens the plug-in: ROOFTILE_MPI_PLUGIN, or librooftile_mpi.so next to the program or in
  /// ../lib/rooftile.
  static Result<std::unique_ptr<Session>> open();
  explicit Session(const RooftileMpi& table) : table_(table) {}
  ~Session() override { table_.finish(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] std::int64_t rank() const { return table_.rank; }
  [[nodiscard]] std::int64_t size() const { return table_.size; }
  /// The device (cuda, hip, opencl) or the share of the cores (cpu) that this rank takes. Ranks
  /// that the launcher already bound to different cores keep what they have.
  [[nodiscard]] BackendOptions share(BackendOptions options);
  /// Ends all ranks: those that wait for one that failed would wait for ever.
  void abort() const { table_.abort(); }
  /// The texts of all ranks on rank 0, nothing elsewhere.
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) const;

 private:
  void do_barrier() override { table_.barrier(); }
  double do_largest(double value) override { return table_.largest(value); }
  Seconds do_simultaneous(Seconds own, Seconds begin, Seconds end) override {
    return max(own, Seconds::from_base(table_.span(begin.base(), end.base())));
  }
  RooftileMpi table_;
};

/// Work of all ranks in the time of the slowest: what the ranks reach together. `ranks` holds the
/// samples of every rank in the same order as `simultaneous`.
Result<std::vector<Sample>> add_up(const std::vector<std::vector<Sample>>& ranks,
                                   std::vector<Sample> simultaneous);

/// "4 ranks; L1 per rank 101 to 103 GB/s": one line per level and number format.
std::vector<std::string> describe_spread(const std::vector<Characterization>& ranks);

}  // namespace rooftile::characterize::mpi
