// SPDX-License-Identifier: Apache-2.0
// Compiled into the plug-in only (CMakeLists.txt of this layer); empty in the program itself.
#ifdef ROOFTILE_MPI_PLUGIN
#include <mpi.h>

#include <string>
#include <vector>

#include "characterize/mpi/mpi_interface.h"

namespace {

void barrier() {
  MPI_Barrier(MPI_COMM_WORLD);
}

double largest(double value) {
  double result = value;
  MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return result;
}

// Set once, when the plug-in is opened; the interface has no place for a state of its own.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
MPI_Comm node = MPI_COMM_NULL;

double span(double begin, double end) {
  double mine[2] = {-begin, end}, both[2] = {};
  MPI_Allreduce(mine, both, 2, MPI_DOUBLE, MPI_MAX, node);
  return largest(both[0] + both[1]);
}

const char* gather(const char* text, long long length, long long* sizes) {
  static std::string all;  // handed out to the caller, which has no way to free it
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Gather(&length, 1, MPI_LONG_LONG, sizes, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  std::vector<int> counts, offsets;
  if (rank == 0) {
    int total = 0;
    for (int i = 0; i < size; ++i) {
      counts.push_back(static_cast<int>(sizes[i]));
      offsets.push_back(total);
      total += counts.back();
    }
    all.resize(static_cast<std::size_t>(total));
  }
  MPI_Gatherv(text, static_cast<int>(length), MPI_CHAR, all.data(), counts.data(), offsets.data(),
              MPI_CHAR, 0, MPI_COMM_WORLD);
  return rank == 0 ? all.data() : nullptr;
}

void finish() {
  MPI_Comm_free(&node);
  MPI_Finalize();
}

void abort_all() {
  MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace

extern "C" int rooftile_mpi_open(RooftileMpi* table) {
  int provided = 0;
  // The worker threads make no MPI calls.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &table->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &table->size);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &table->local_rank);
  MPI_Comm_size(node, &table->local_size);
  table->barrier = barrier;
  table->largest = largest;
  table->span = span;
  table->gather = gather;
  table->finish = finish;
  table->abort = abort_all;
  return 0;
}
#endif
