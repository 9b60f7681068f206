// SPDX-License-Identifier: Apache-2.0
//
// Which rows a fit looks at: per class, equally many per GPU and campaign, chosen by a hash of the
// seed so that the choice depends on nothing else; campaigns that contradict another one of the
// same GPU are left out.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "calibration/dataset.h"

namespace rooftile::calibration {

using Samples = std::vector<const Sample*>;

Samples of_class(const Samples& samples, std::string_view name);

/// Rows of one GPU and campaign carry the same group number, from 0.
struct Groups {
  std::vector<std::size_t> of;                                        ///< group of each sample
  std::vector<std::pair<std::uint32_t, std::uint32_t>> gpu_campaign;  ///< of each group
  std::vector<double> weight;  ///< of each sample: groups count equally, mean 1
};
Groups group(const Samples& samples);
/// By GPU, whatever the campaign (which is then the first one's).
Groups group_by_gpu(const Samples& samples);

/// At most `rows` samples of every group, in file order.
Samples thin(const Samples& samples, std::size_t rows, std::uint64_t seed);

/// A campaign whose long kernels take longer than those of another one on the same GPU: `ratio` of
/// their medians of time over roofline.
struct Disagreement {
  std::uint32_t gpu = 0, campaign = 0;
  double ratio = 1;
};
/// Campaigns that are more than `factor` slower than the fastest one of the GPU.
std::vector<Disagreement> slower_campaigns(const Dataset& dataset, const Samples& samples,
                                           double factor);
/// A campaign of products that takes more than twice as long ran other kernels.
inline constexpr double kContradiction = 2.0;
inline bool is_product(std::string_view name) {
  return name == "linear" || name == "bmm";
}
std::vector<Disagreement> disagreements(const Dataset& dataset, const Samples& samples);
Samples without_disagreements(const Dataset& dataset, const Samples& samples);

/// Fewer rows of a class and vendor than this are not fitted.
inline constexpr std::size_t kEnoughRows = 50;
/// Fails where no class has enough rows: there would be nothing in the result.
Status check_enough_rows(const Dataset& dataset);

/// The value below which `share` of them lie, in [0, 1); 0 for none.
double quantile(std::vector<double> values, double share);
double median(std::vector<double> values);

}  // namespace rooftile::calibration
