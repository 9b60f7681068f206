// SPDX-License-Identifier: Apache-2.0
#include "characterize/mpi/mpi_session.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "characterize/dynamic_library.h"
#include "core/operations.h"
#include "core/text.h"

namespace rooftile::characterize::mpi {

namespace {

/// A number that is equal for equal sets of allowed processors and fits into a double.
double affinity_mark() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 0.0;
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    hash = (hash ^ (CPU_ISSET(static_cast<std::size_t>(i), &set) ? 2U : 1U)) * 0x100000001b3ULL;
  }
  return static_cast<double>(hash >> 12U);
}

std::vector<std::string> plugin_candidates() {
  std::vector<std::string> out;
  if (const char* given = std::getenv("ROOFTILE_MPI_PLUGIN")) return {given};
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto folder = program.parent_path();
    out.push_back((folder / "librooftile_mpi.so").string());
    out.push_back((folder / "../lib/rooftile/librooftile_mpi.so").string());
  }
  out.emplace_back("librooftile_mpi.so");
  return out;
}

}  // namespace

bool started_by_mpi() {
  constexpr std::array kSizes{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
  return std::any_of(kSizes.begin(), kSizes.end(), [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && parse_int(value).value_or(1) > 1;
  });
}

Result<std::unique_ptr<Session>> Session::open() {
  const auto library = DynamicLibrary::open(plugin_candidates());
  if (!library) {
    return unsupported("mpi", "started by mpirun, but there is no MPI plug-in (librooftile_mpi.so)",
                       "build rooftile where MPI is installed, or set ROOFTILE_MPI_PLUGIN");
  }
  int (*open_mpi)(RooftileMpi*) = nullptr;
  ROOFTILE_CHECK(library->find("rooftile_mpi_open", open_mpi));
  RooftileMpi table{};
  if (open_mpi(&table) != 0) return unsupported("mpi", "MPI cannot be initialised");
  return std::make_unique<Session>(table);
}

BackendOptions Session::share(BackendOptions options) {
  if (options.backend != "cpu") {
    options.device += table_.local_rank;
    return options;
  }
  const double mark = affinity_mark();
  const double highest = largest(mark);  // both calls on every rank: they wait for each other
  const double lowest = -largest(-mark);
  if (highest == lowest && table_.local_size > 1) {
    options.part = table_.local_rank;
    options.parts = table_.local_size;
  }
  return options;
}

std::vector<std::string> Session::gather(const std::string& text) const {
  std::vector<long long> sizes(static_cast<std::size_t>(table_.size));
  const char* all = table_.gather(text.data(), static_cast<long long>(text.size()), sizes.data());
  std::vector<std::string> out;
  if (all == nullptr) return out;
  for (const long long size : sizes) {
    out.emplace_back(all, static_cast<std::size_t>(size));
    all += size;
  }
  return out;
}

Result<std::vector<Sample>> add_up(const std::vector<std::vector<Sample>>& ranks,
                                   std::vector<Sample> simultaneous) {
  for (std::size_t i = 0; i < simultaneous.size(); ++i) {
    Sample& sum = simultaneous[i];
    sum.work = {};
    for (const std::vector<Sample>& rank : ranks) {
      if (i >= rank.size() || rank[i].what.pattern != sum.what.pattern ||
          rank[i].what.dtype != sum.what.dtype) {
        return unsupported("mpi", "the ranks measured different things",
                           "start them on equal machines with equal options");
      }
      sum.work.bytes += rank[i].work.bytes;
      sum.work.flops += rank[i].work.flops;
      sum.work.steps = rank[i].work.steps;  // latency and overhead do not add up
    }
  }
  return simultaneous;
}

std::vector<std::string> describe_spread(const std::vector<Characterization>& ranks) {
  std::vector<std::string> names;  // in the order of the first rank
  std::map<std::string, std::pair<double, double>> range;
  const auto add = [&](const std::string& name, double value) {
    const auto [found, is_new] = range.try_emplace(name, value, value);
    if (is_new) names.push_back(name);
    found->second.first = std::min(found->second.first, value);
    found->second.second = std::max(found->second.second, value);
  };
  for (const Characterization& rank : ranks) {
    for (const LevelBandwidth& b : best_bandwidths(rank)) {
      add(b.plateau.level + " GB/s", b.plateau.value * 1e-9);
    }
    for (const auto& [key, rate] : rank.rates) {
      add(fmt::format("{}{} G{}/s", name_of(key.dtype),
                      key.pipe == hardware::Pipe::Tensor ? "_tensor" : "",
                      operation_name(key.dtype)),
          rate.value.base() * 1e-9);
    }
  }
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const auto& [low, high] = range.at(name);
    out.push_back(
        fmt::format("{} ranks; {} per rank: {:.4g} to {:.4g}", ranks.size(), name, low, high));
  }
  return out;
}

}  // namespace rooftile::characterize::mpi
