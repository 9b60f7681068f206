// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit_neusight.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <map>

#include "calibration/plausible.h"
#include "calibration/selection.h"
#include "calibration/task_pool.h"

namespace rooftile::calibration {

namespace {

namespace neusight = cost::neusight;

cost::Job job_of(const Dataset& dataset, const Sample& sample) {
  return *cost::bind(sample.work, dataset.machines[sample.gpu]);  // checked when read
}

/// One vendor and class of one fold.
struct NeuSightPart {
  std::string task;
  neusight::ClassModel model;  ///< network and normalization are filled in from the task's result
  Samples samples;             ///< training rows
};

struct NeuSightFold {
  std::optional<std::uint32_t> left_out;
  std::map<std::string, NeuSightPart> parts;  ///< by "nvidia/linear"
};

std::vector<neusight::Cut> cuts_of(const Dataset& dataset, const NeuSightPart& part) {
  std::vector<neusight::Cut> cuts;
  for (const Sample* s : part.samples) {
    const hardware::GpuSpec& gpu = dataset.machines[s->gpu].gpu;
    const cost::Job job = job_of(dataset, *s);
    const auto launched = launched_tile(*s);
    cuts.push_back(neusight::cut(
        job, gpu, launched ? *launched : neusight::choose_tile(part.model.tiles, job, gpu)));
  }
  return cuts;
}

void set_normalization(const std::vector<neusight::Cut>& cuts, neusight::ClassModel& model) {
  for (std::size_t i = 0; i < neusight::kFeatures; ++i) {
    double count = 0;
    double sum = 0;
    double squares = 0;
    for (const neusight::Cut& c : cuts) {
      if (c.features[i]) count += 1, sum += *c.features[i];
    }
    model.mean[i] = count > 0 ? sum / count : 0.0;
    for (const neusight::Cut& c : cuts) {
      if (c.features[i]) squares += std::pow(*c.features[i] - model.mean[i], 2);
    }
    const double deviation = count > 0 ? std::sqrt(squares / count) : 0.0;
    model.deviation[i] = deviation > 0 ? deviation : 1.0;
  }
}

/// Before the values of the network, a result has mean and deviation of the features and the least
/// utilization.
constexpr std::size_t kLeading = 2 * neusight::kFeatures + 1;

Outcome fit_part(const Dataset& dataset, NeuSightPart part, TrainOptions options) {
  const std::vector<neusight::Cut> cuts = cuts_of(dataset, part);
  set_normalization(cuts, part.model);
  std::vector<TrainingRow> rows;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    rows.push_back({.inputs = neusight::normalized(cuts[i], part.model),
                    .waves = cuts[i].waves,
                    .ratio = part.samples[i]->measured / cuts[i].seconds});
  }
  options.least_utilization = 1;
  for (const TrainingRow& row : rows)
    options.least_utilization =
        std::clamp(1.0 / row.ratio, neusight::kLeastUtilization, options.least_utilization);
  const TrainedNetwork trained = train(rows, options);
  Outcome outcome{.x = {}, .loss = trained.loss};
  outcome.x.reserve(kLeading + trained.network.values.size());
  outcome.x.insert(outcome.x.end(), part.model.mean.begin(), part.model.mean.end());
  outcome.x.insert(outcome.x.end(), part.model.deviation.begin(), part.model.deviation.end());
  outcome.x.push_back(options.least_utilization);
  outcome.x.insert(outcome.x.end(), trained.network.values.begin(), trained.network.values.end());
  return outcome;
}

void apply(const std::vector<double>& x, const TrainOptions& options, neusight::ClassModel& model) {
  std::copy_n(x.begin(), neusight::kFeatures, model.mean.begin());
  std::copy_n(x.begin() + neusight::kFeatures, neusight::kFeatures, model.deviation.begin());
  model.least_utilization = x[2 * neusight::kFeatures];
  model.network.widths = widths_of(options);
  for (std::size_t i = kLeading; i < x.size(); ++i)
    model.network.values.push_back(static_cast<float>(x[i]));
}

NeuSightFold make_fold(const Dataset& dataset, std::optional<std::uint32_t> left_out,
                       const FitOptions& options, const NeuSightOptions& form) {
  NeuSightFold fold{.left_out = left_out, .parts = {}};
  std::map<std::pair<std::string, std::string_view>, Samples> by_class;
  for (const Sample* s : samples_without(dataset, left_out)) {
    if (!neusight::covers(s->work)) continue;
    const std::string vendor(name_of(dataset.machines[s->gpu].gpu.vendor));
    by_class[{vendor, *neusight::class_of(s->work)}].push_back(s);
  }
  for (auto& [key, samples] : by_class) {
    const auto& [vendor, name] = key;
    const bool product = is_product(name);
    if (product) samples = without_disagreements(dataset, samples);
    if (samples.size() < kEnoughRows) continue;
    NeuSightPart& part = fold.parts[vendor + "/" + std::string(name)];
    part.task = fold_task(dataset, left_out, vendor, name);
    part.samples = thin(samples, form.rows, options.seed);
    if (product || name == "elementwise")
      part.model.tiles = tile_table(dataset, thin(samples, form.table_rows, options.seed));
  }
  return fold;
}

}  // namespace

std::vector<std::string> card_notes(const NeuSightOptions& form) {
  return {
      fmt::format("hidden layers {} instead of 8 x 512; {} epochs instead of 100; batches of {}",
                  fmt::join(form.train.hidden, ", "), form.train.epochs, form.train.batch),
      fmt::format("{} rows per GPU and campaign for the networks and {} shapes for the tile "
                  "tables instead of all; the last epoch instead of the best one of a random "
                  "validation split",
                  form.rows, form.table_rows),
      "utilization is not below the least one of the training rows; the tile of an element-wise "
      "kernel is not longer than its row; features are normalized"};
}

std::optional<neusight::TileSize> launched_tile(const Sample& sample) {
  const auto name = neusight::class_of(sample.work);
  if (name == "linear" || name == "bmm") {
    if (!sample.tile) return std::nullopt;
    return neusight::TileSize{.m = sample.tile->along_m, .n = sample.tile->along_n};
  }
  const auto* rows = std::get_if<ops::RowShape>(&sample.work.shape);
  if (name != "elementwise" || rows == nullptr || !sample.blocks) return std::nullopt;
  const std::int64_t elements = rows->rows * rows->columns;
  const std::int64_t per_block = (elements + *sample.blocks - 1) / *sample.blocks;
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  return neusight::TileSize{.m = 1,
                            .n = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(
                                std::clamp<std::int64_t>(per_block, 1, kMost))))};
}

neusight::TileTable tile_table(const Dataset& dataset, const Samples& samples) {
  neusight::TileTable table;
  std::map<std::uint32_t, std::size_t> device_of;
  for (const Sample* s : samples) {
    const auto tile = launched_tile(*s);
    if (!tile) continue;
    const auto [it, added] = device_of.try_emplace(s->gpu, table.devices.size());
    if (added) {
      table.devices.push_back(
          neusight::device_numbers(job_of(dataset, *s), dataset.machines[s->gpu].gpu));
    }
    table.entries.push_back(
        {.device = it->second, .shape = neusight::shape_numbers(s->work), .tile = *tile});
  }
  return table;
}

Result<NeuSightFits> fit_neusight(const Dataset& dataset, const FitOptions& options,
                                  const NeuSightOptions& form) {
  ROOFTILE_CHECK(check_fittable(dataset));
  std::deque<NeuSightFold> folds;  // tasks keep references
  if (options.all_gpus) folds.push_back(make_fold(dataset, std::nullopt, options, form));
  for (std::uint32_t gpu = 0; options.leave_one_out && gpu < dataset.machines.size(); ++gpu)
    folds.push_back(make_fold(dataset, gpu, options, form));
  TrainOptions train = form.train;
  train.seed = options.seed;
  Tasks tasks;
  for (const NeuSightFold& fold : folds) {
    for (const auto& [name, part] : fold.parts) {
      tasks.try_emplace(
          part.task, Task{.run = [&dataset, &part, &train](
                                     const TaskResults&) { return fit_part(dataset, part, train); },
                          .size = kLeading + neusight::value_count(widths_of(train))});
    }
  }
  const std::string format = fmt::format("{}-{}-{}-{}", neusight::features_hash(), form.rows,
                                         train.epochs, fmt::join(train.hidden, "x"));
  ROOFTILE_TRY(const TaskResults results,
               run_tasks(tasks, {.threads = options.threads,
                                 .checkpoint = options.checkpoint,
                                 .key = data_key(dataset, options.seed, format),
                                 .progress = options.progress}));
  NeuSightFits fits;
  for (NeuSightFold& fold : folds) {
    neusight::Weights& weights = fold.left_out ? fits.without.emplace_back() : fits.all.emplace();
    for (auto& [name, part] : fold.parts) {
      neusight::ClassModel& model = weights.classes[name] = std::move(part.model);
      apply(results.at(part.task), train, model);
    }
    ROOFTILE_CHECK(
        neusight::parse_weights(neusight::to_json(weights), "fit"));  // as it will be read
  }
  return fits;
}

}  // namespace rooftile::calibration
