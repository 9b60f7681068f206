// SPDX-License-Identifier: Apache-2.0
#include "calibration/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "aggregate/communication.h"
#include "calibration/intervals.h"
#include "calibration/plausible.h"
#include "calibration/rules.h"
#include "calibration/selection.h"
#include "core/error_statistics.h"
#include "core/provenance.h"
#include "core/text.h"
#include "cost/learned/classes.h"
#include "cost/learned/learned.h"

namespace rooftile::calibration {

namespace {

using namespace cost::learned;

struct Predictors {
  const cost::Predictor& main;
  Baselines baselines;
};

Case predict_row(const Dataset& dataset, std::size_t index, const Predictors& predictors) {
  const Sample& sample = dataset.samples[index];
  const hardware::Machine& machine = dataset.machines[sample.gpu];
  cost::Job job = *cost::bind(sample.work, machine);  // checked when read
  job.setting = sample.host ? cost::Setting::InStream : cost::Setting::Isolated;
  job.copies = sample.copies;
  job.burst = dataset.campaigns[sample.campaign] != kSustainedCampaign;
  // The gap behind a kernel of a stream is the host's time here.
  const double gap = cost::launch_gap(machine, predictors.main.constants().step).base();
  const double host = sample.host ? std::max(0.0, *sample.host - gap) : 0.0;
  const cost::Estimate estimate = predictors.main.estimate(job, machine);
  Case row{.sample = index,
           .measured = sample.measured,
           .predicted = estimate.time.base() + host,
           .low = estimate.low.base() + host,
           .high = estimate.high.base() + host,
           .bound = estimate.bound.base(),
           .roofline = dram_roofline(job),
           .trivial = {},
           .neusight = {},
           .extrapolated = estimate.extrapolated};
  if (const auto* trivial = predictors.baselines.trivial)
    row.trivial = trivial->estimate(job, machine).time.base() + host;
  const auto* neusight = predictors.baselines.neusight;
  if (neusight != nullptr && cost::neusight::covers(sample.work))
    row.neusight = neusight->estimate(job, machine).time.base();
  return row;
}

OtherCase predict_collective(const Collective& row, const Predictors& predictors) {
  const aggregate::TransferTime time =
      aggregate::all_reduce(row.bytes, row.gpus, row.link, predictors.main.constants().links);
  OtherCase out;
  out.kind = row.op;
  out.campaign = fmt::format("{} GPUs", row.gpus);
  out.name = fmt::format("{} {} x {}", row.op, row.gpus, format_bytes(row.bytes));
  out.gpu = row.gpu;
  out.measured = row.measured;
  out.predicted = time.time.base();
  out.low = time.low.base();
  out.high = time.high.base();
  out.bound = time.bound.base();
  out.roofline = ring_roofline(row);
  if (const auto& line = predictors.baselines.ring)
    out.trivial = out.roofline / line->utilization + line->overhead;
  return out;
}

/// The kernels of a fused layer one after another, as in a stream, repeated; the last one with what
/// the call adds.
OtherCase predict_layer(const Dataset& dataset, const FusedLayer& layer,
                        const Predictors& predictors) {
  const hardware::Machine& machine = dataset.machines[layer.gpu];
  OtherCase out;
  out.kind = out.name = layer.name;
  out.gpu = layer.gpu;
  out.measured = layer.measured;
  out.campaign = layer.campaign;
  for (const ops::KernelWork& work : layer.kernels) {
    cost::Job job = *cost::bind(work, machine);  // checked when read
    job.copies = 1, job.burst = true;
    if (&work == &layer.kernels.back()) job.setting = cost::Setting::Isolated;
    const cost::Estimate estimate = predictors.main.estimate(job, machine);
    out.predicted += estimate.time.base();
    out.low += estimate.low.base();
    out.high += estimate.high.base();
    out.bound += estimate.bound.base();
    out.roofline += dram_roofline(job);
    out.extrapolated = out.extrapolated || estimate.extrapolated;
    if (const auto* trivial = predictors.baselines.trivial)
      out.trivial = out.trivial.value_or(0.0) + trivial->estimate(job, machine).time.base();
  }
  const auto& shape = layer.kernels.front().shape;
  out.name = fmt::format("{} {}", layer.name, shape_text(shape));
  return out;
}

/// Everything that is not a single kernel; `of` gives the predictors for a GPU.
template <typename PredictorsOf>
void predict_others(const Dataset& dataset, const PredictorsOf& of, Evaluation& evaluation) {
  for (const Collective& row : dataset.collectives)
    evaluation.others.push_back(predict_collective(row, of(row.gpu)));
  for (const FusedLayer& layer : dataset.layers)
    evaluation.others.push_back(predict_layer(dataset, layer, of(layer.gpu)));
}

void add_case(const std::string& group, const Case& c, ErrorGroups& groups) {
  ErrorGroups::Baselines baselines{{"bound", c.bound}, {"roofline", c.roofline}};
  if (c.trivial) baselines.emplace_back("trivial", *c.trivial);
  if (c.neusight) baselines.emplace_back("neusight", *c.neusight);
  groups.add(group,
             {.measured = c.measured, .predicted = c.predicted, .low = c.low, .high = c.high},
             baselines);
}

/// By class, by GPU, by campaign.
void add_case(const std::string& kind, const std::string& gpu, const std::string& campaign,
              const Case& c, ErrorGroups& groups) {
  const std::string name = fmt::format("{}/{}", kind, gpu);
  if (campaign != kSustainedCampaign) add_case(kind, c, groups), add_case(name, c, groups);
  if (!campaign.empty()) add_case(fmt::format("{}/{}", name, campaign), c, groups);
}

void add_summary(const Dataset& dataset, Evaluation& evaluation) {
  evaluation.skipped = dataset.skipped;
  for (std::string& warning : warnings_of(dataset))
    evaluation.warnings.push_back(std::move(warning));
  ErrorGroups groups;
  for (const Case& c : evaluation.cases) {
    const Sample& sample = dataset.samples[c.sample];
    add_case(std::string(class_of(sample.work)), dataset.machines[sample.gpu].gpu.id,
             dataset.campaigns[sample.campaign], c, groups);
  }
  for (const OtherCase& c : evaluation.others)
    add_case(c.kind, dataset.machines[c.gpu].gpu.id, c.campaign, c, groups);
  evaluation.summary = groups.summary();
}

}  // namespace

void for_each_case(const Evaluation& evaluation, const Dataset& dataset,
                   const std::function<void(const CaseFacts&, const Case&)>& visit) {
  for (const Case& c : evaluation.cases) {
    const Sample& sample = dataset.samples[c.sample];
    const std::string dtype =
        sample.work.dtype == DType::Fp32 ? "" : fmt::format(" {}", name_of(sample.work.dtype));
    visit({.device = dataset.devices[sample.gpu],
           .name = fmt::format("{} {}{}", sample.work.op, shape_text(sample.work.shape), dtype),
           .kind = std::string(class_of(sample.work)),
           .campaign = dataset.campaigns[sample.campaign]},
          c);
  }
  for (const OtherCase& c : evaluation.others)
    visit(
        {.device = dataset.devices[c.gpu], .name = c.name, .kind = c.kind, .campaign = c.campaign},
        c);
}

Evaluation evaluate(const Dataset& dataset, const cost::Predictor& predictor,
                    const Baselines& baselines) {
  Evaluation evaluation;
  evaluation.predictor = predictor.name();
  std::vector<Input> inputs = inputs_of(dataset);
  for (const auto* one : {&predictor, baselines.trivial, baselines.neusight}) {
    if (one != nullptr) add_inputs(one->inputs(), inputs);
  }
  for (std::size_t i = 0; i < dataset.samples.size(); ++i)
    evaluation.cases.push_back(
        predict_row(dataset, i, {.main = predictor, .baselines = baselines}));
  predict_others(
      dataset, [&](std::uint32_t) { return Predictors{.main = predictor, .baselines = baselines}; },
      evaluation);
  add_summary(dataset, evaluation);
  set_provenance(inputs, evaluation);
  return evaluation;
}

namespace {

using PredictorList = std::vector<std::unique_ptr<cost::Predictor>>;

PredictorList predictors_of(const NeuSightFits& fits) {
  PredictorList list;
  for (const auto& weights : fits.without) list.push_back(cost::neusight::make_neusight(weights));
  return list;
}

}  // namespace

Evaluation evaluate_left_out(const Dataset& dataset, const Fits& fits,
                             const NeuSightFits* neusight) {
  Evaluation evaluation;
  evaluation.predictor = "rooftile";
  evaluation.left_out = true;
  PredictorList main;
  PredictorList trivial;
  for (const Weights& weights : fits.without) {
    main.push_back(make_learned(weights));
    trivial.push_back(make_trivial(weights));
  }
  const PredictorList rivals = neusight != nullptr ? predictors_of(*neusight) : PredictorList();
  for (std::size_t i = 0; i < dataset.samples.size(); ++i) {
    const std::uint32_t gpu = dataset.samples[i].gpu;
    const Baselines baselines{.trivial = trivial[gpu].get(),
                              .neusight = rivals.empty() ? nullptr : rivals[gpu].get()};
    evaluation.cases.push_back(
        predict_row(dataset, i, {.main = *main[gpu], .baselines = baselines}));
  }
  set_left_out_intervals(dataset, fits, evaluation.cases);
  predict_others(
      dataset,
      [&](std::uint32_t gpu) {
        const auto& lines = fits.without[gpu].trivial;
        const auto ring = lines.find(kRing);
        return Predictors{.main = *main[gpu],
                          .baselines = {.trivial = trivial[gpu].get(),
                                        .ring = ring == lines.end() ? std::nullopt
                                                                    : std::optional(ring->second)}};
      },
      evaluation);
  for (const std::string& note : fits.notes) evaluation.warnings.push_back("not left out: " + note);
  add_summary(dataset, evaluation);
  set_provenance(fits.inputs, evaluation);
  return evaluation;
}

Evaluation evaluate_left_out(const Dataset& dataset, const NeuSightFits& fits) {
  Evaluation evaluation;
  evaluation.predictor = "neusight";
  evaluation.left_out = true;
  const PredictorList main = predictors_of(fits);
  for (std::size_t i = 0; i < dataset.samples.size(); ++i) {
    const Sample& sample = dataset.samples[i];
    if (!cost::neusight::covers(sample.work)) continue;
    evaluation.cases.push_back(
        predict_row(dataset, i, {.main = *main[sample.gpu], .baselines = {}}));
  }
  add_summary(dataset, evaluation);
  set_provenance(inputs_of(dataset), evaluation);
  return evaluation;
}

std::string card_json(const Dataset& dataset, const CardFacts& facts, const Evaluation& left_out) {
  using nlohmann::ordered_json;
  ordered_json card{{"schema", 1},
                    {"name", facts.name},
                    {"features", facts.features},
                    {"seed", facts.seed},
                    {"command", facts.command},
                    {"data", ordered_json::array()},
                    {"gpus", ordered_json::array()},
                    {"ranges", ordered_json::object()},
                    {"leave_one_gpu_out", ordered_json::array()}};
  card["provenance"] = provenance_json(facts.provenance);
  if (!facts.notes.empty()) card["notes"] = facts.notes;
  std::vector<std::int64_t> rows(dataset.files.size(), 0);
  for (const Sample& sample : dataset.samples) ++rows[sample.file];
  for (const Collective& row : dataset.collectives) ++rows[row.file];
  for (const FusedLayer& row : dataset.layers) ++rows[row.file];
  for (const HostCall& row : dataset.host_calls) ++rows[row.file];
  for (std::size_t i = 0; i < dataset.files.size(); ++i) {
    const std::filesystem::path path(dataset.files[i]);
    const std::string name = (path.parent_path().filename() / path.filename()).generic_string();
    card["data"].push_back({{"file", name}, {"rows", rows[i]}, {"licence", dataset.licences[i]}});
  }
  for (const hardware::Machine& machine : dataset.machines) card["gpus"].push_back(machine.gpu.id);
  for (const auto& [name, range] : facts.ranges) {
    ordered_json entry{{"vendors", range.vendors}, {"dtypes", range.dtypes}};
    for (const auto& [dimension, limits] : range.dimensions) entry[dimension] = limits;
    card["ranges"][name] = std::move(entry);
  }
  const auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
  for (const ErrorSummary& s : left_out.summary) {
    ordered_json entry{{"group", s.group},
                       {"cases", s.cases},
                       {"mean_error", rounded(s.mean_error)},
                       {"median_error", rounded(s.median_error)},
                       {"geometric_error", rounded(s.geometric_error)},
                       {"p90_error", rounded(s.p90_error)},
                       {"bias", rounded(s.bias)}};
    if (s.coverage) entry["coverage"] = rounded(*s.coverage);
    if (const auto trivial = s.baseline("trivial")) entry["trivial_error"] = rounded(*trivial);
    if (const auto roofline = s.baseline("roofline")) entry["roofline_error"] = rounded(*roofline);
    card["leave_one_gpu_out"].push_back(std::move(entry));
  }
  return card.dump(1) + "\n";
}

}  // namespace rooftile::calibration
