// SPDX-License-Identifier: Apache-2.0
//
// Which rows a fit looks at: per class, equally many per GPU and campaign, chosen by a hash of the
// seed so that the choice depends on nothing else; campaigns that contradict another one of the
// same GPU are left out.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fit/dataset.h"

namespace rooftile::fit {

using Samples = std::vector<const Sample*>;

Samples of_class(const Samples& samples, std::string_view name);

/// Rows of one GPU and campaign carry the same group number, from 0.
struct Groups {
  std::vector<std::size_t> of;                                        ///< group of each sample
  std::vector<std::pair<std::uint32_t, std::uint32_t>> gpu_campaign;  ///< of each group
  std::vector<double> weight;  ///< of each sample: groups count equally, mean 1
};
Groups group(const Samples& samples);

/// At most `rows` samples of every group, in file order.
Samples thin(const Samples& samples, std::size_t rows, std::uint64_t seed);

/// A campaign whose compute-bound products take more than twice as long as those of another
/// campaign on the same GPU ran other kernels.
struct Disagreement {
  std::uint32_t gpu = 0, campaign = 0;
  double ratio = 1;
};
std::vector<Disagreement> disagreements(const Dataset& dataset, const Samples& samples);
Samples without_disagreements(const Dataset& dataset, const Samples& samples);

/// The value below which `share` of them lie, in [0, 1); 0 for none.
double quantile(std::vector<double> values, double share);
double median(std::vector<double> values);

}  // namespace rooftile::fit
