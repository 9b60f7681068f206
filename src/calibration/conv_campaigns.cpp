// SPDX-License-Identifier: Apache-2.0
#include "calibration/conv_campaigns.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace rooftile::calibration {

namespace {

/// The place of a GPU among those of a campaign.
class CampaignGpus {
 public:
  CampaignGpus(const Dataset& dataset, std::vector<CampaignGpu>& gpus)
      : dataset_(dataset), gpus_(gpus) {}

  std::size_t find(std::uint32_t gpu) {
    const auto [known, is_new] = places_.try_emplace(gpu, gpus_.size());
    if (is_new) {
      gpus_.push_back({.name = dataset_.devices[gpu], .machine = dataset_.machines[gpu]});
    }
    return known->second;
  }

 private:
  const Dataset& dataset_;
  std::vector<CampaignGpu>& gpus_;
  std::map<std::uint32_t, std::size_t> places_;
};

/// GPUs in the order of their names, so that tables do not depend on the order of rows.
template <typename Row>
void sort_gpus(std::vector<CampaignGpu>& gpus, std::vector<Row>& rows) {
  std::vector<std::size_t> order(gpus.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return gpus[a].name < gpus[b].name; });
  std::vector<std::size_t> place(gpus.size());
  std::vector<CampaignGpu> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(std::move(gpus[order[i]]));
  }
  gpus = std::move(sorted);
  for (Row& row : rows) row.gpu = place[row.gpu];
}

/// Calls of one line belong together, and follow each other.
DeepBenchRow& row_of(const Sample& sample, const ops::ConvShape& conv, std::size_t gpu,
                     std::vector<DeepBenchRow>& rows) {
  if (rows.empty() || rows.back().file != sample.file || rows.back().line != sample.line) {
    rows.push_back({.gpu = gpu, .conv = conv, .file = sample.file, .line = sample.line});
    rows.back().conv.pass = ops::ConvPass::Forward;
  }
  return rows.back();
}

}  // namespace

double CampaignGpu::peak() const {
  return 2.0 * static_cast<double>(machine.gpu.sm.count) *
         static_cast<double>(machine.gpu.sm.fp32_lanes) * machine.gpu.clock.boost.base();
}

double DeepBenchRow::rate(double seconds) const {
  return 2.0 * static_cast<double>(conv.n * conv.p() * conv.q()) *
         static_cast<double>(conv.k * conv.c * conv.r * conv.s) / seconds;
}

Campaigns campaigns_of(const Dataset& dataset) {
  Campaigns out;
  CampaignGpus deepbench(dataset, out.deepbench.gpus);
  CampaignGpus neusight(dataset, out.neusight.gpus);
  std::map<std::uint32_t, std::int64_t> serial;
  for (const Sample& sample : dataset.samples) {
    const auto* conv = std::get_if<ops::ConvShape>(&sample.work.shape);
    if (conv == nullptr || sample.work.compute != DType::Fp32) continue;
    const std::string& algorithm = dataset.algorithms[sample.algorithm];
    cost::Job job = *cost::bind(sample.work, dataset.machines[sample.gpu]);  // checked when read
    if (!sample.host) {
      out.neusight.rows.push_back({.gpu = neusight.find(sample.gpu),
                                   .job = std::move(job),
                                   .algorithm = algorithm,
                                   .measured = sample.measured,
                                   .index = serial[sample.gpu]++});
      continue;
    }
    DeepBenchRow& row = row_of(sample, *conv, deepbench.find(sample.gpu), out.deepbench.rows);
    row.implicit = row.implicit || algorithm == "implicit_gemm";
    auto& time = conv->pass == ops::ConvPass::Forward        ? row.forward
                 : conv->pass == ops::ConvPass::DataGradient ? row.data
                                                             : row.filter;
    time = TimedPass{.job = std::move(job), .seconds = sample.measured};
  }
  sort_gpus(out.deepbench.gpus, out.deepbench.rows);
  sort_gpus(out.neusight.gpus, out.neusight.rows);
  return out;
}

}  // namespace rooftile::calibration
