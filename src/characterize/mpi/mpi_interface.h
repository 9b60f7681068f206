// SPDX-License-Identifier: Apache-2.0
//
// What the program needs of MPI, as a table of functions with C linkage. The plug-in
// librooftile_mpi.so fills it; the program itself is not linked with MPI and opens the plug-in only
// when it was started by mpirun.
#pragma once

extern "C" {

struct RooftileMpi {
  int rank;
  int size;
  int local_rank;  ///< among the ranks of this node
  int local_size;
  void (*barrier)();
  double (*largest)(double value);
  /// The longest time, over the nodes, from the first begin to the last end of the node's ranks;
  /// ranks of a node share its monotonic clock.
  double (*span)(double begin, double end);
  /// The texts of all ranks, one after the other, on rank 0; `sizes` must have room for all ranks.
  /// The result lives until the next call; null on the other ranks.
  // NOLINTNEXTLINE(google-runtime-int): MPI_LONG_LONG
  const char* (*gather)(const char* text, long long length, long long* sizes);
  void (*finish)();
  void (*abort)();  ///< ends all ranks; does not return
};

/// Zero when MPI is up and the table is filled.
int rooftile_mpi_open(RooftileMpi* table);

}  // extern "C"
