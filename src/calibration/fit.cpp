// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>

#include "calibration/conv_fit.h"
#include "calibration/fit_attention.h"
#include "calibration/fit_eager.h"
#include "calibration/fit_experts.h"
#include "calibration/fit_forms.h"
#include "calibration/fit_links.h"
#include "calibration/intervals.h"
#include "calibration/neighbours.h"
#include "calibration/plausible.h"
#include "calibration/rules.h"
#include "calibration/task_pool.h"
#include "core/hash.h"
#include "core/provenance.h"
#include "cost/learned/classes.h"
#include "hardware/load.h"
#include "hardware/plausible.h"

namespace rooftile::calibration {

namespace {

using namespace cost::learned;

constexpr std::array<std::string_view, 4> kGemmClasses{"linear", "bmm", "linear_16bit",
                                                       "linear_8bit"};
constexpr std::array<std::string_view, 2> kRowClasses{"softmax", "layernorm"};
constexpr std::array<std::string_view, 2> kAttentionClasses{"prefill", "decode"};
constexpr std::size_t kRowRows = 1000, kAttentionRows = 1200, kTrivialRows = 1000;

/// "vendor" or "vendor/isa": whose samples a model is fitted to.
std::string vendor_of(std::string_view key) {
  return std::string(key.substr(0, key.find('/')));
}

struct Part {
  std::string task;  ///< name of the fit; folds that do not change the rows share it
  Samples samples;
  Samples remembered;  ///< of products: rows of the table of neighbours
};

/// One predictor in the making: everything, or all but one GPU.
struct Fold {
  std::optional<std::uint32_t> left_out;
  Samples kept;
  Weights weights;
  std::map<std::string, std::map<std::string, Part, std::less<>>> parts;  ///< by model, class
  std::string convolution;  ///< the task of its constants; empty without rows
};

class Fitter {
 public:
  Fitter(const Dataset& dataset, const FitOptions& options)
      : dataset_(dataset), options_(options) {}

  Result<Fits> run(const Catalog& catalog) {
    ROOFTILE_CHECK(check_fittable(dataset_));
    ROOFTILE_TRY(catalogue_, hardware::list_gpus(catalog));
    ROOFTILE_TRY(const auto shipped, read_weights_file(catalog, "default"));
    read_shipped(shipped);
    for (const hardware::GpuSpec& gpu : catalogue_) ROOFTILE_CHECK(hardware::check_plausible(gpu));
    if (options_.all_gpus) prepare(std::nullopt);
    if (options_.leave_one_out) {
      for (std::uint32_t gpu = 0; gpu < dataset_.machines.size(); ++gpu) prepare(gpu);
    }
    campaigns_ = campaigns_of(dataset_);
    for (Fold& fold : folds_) add_tasks(fold);
    ROOFTILE_TRY(results_, run_tasks(tasks_, {.threads = options_.threads,
                                              .checkpoint = options_.checkpoint,
                                              .key = data_key(dataset_, options_.seed, format()),
                                              .progress = options_.progress}));
    Fits fits;
    for (Fold& fold : folds_) {
      set_constants(fold);
      finish(fold);
      // What cannot be read back is not handed on either.
      ROOFTILE_CHECK(parse_weights(to_json(fold.weights), "fit"));
      (fold.left_out ? fits.without.emplace_back() : fits.all.emplace()) = std::move(fold.weights);
    }
    fits.inputs = inputs_of(dataset_);
    if (!notes_.empty()) add_inputs({shipped_input_}, fits.inputs);  // parts of it stay
    for (const hardware::GpuSpec& gpu : catalogue_) add_inputs({gpu.input}, fits.inputs);
    fits.notes = std::move(notes_);
    return fits;
  }

 private:
  /// Those of another version of the forms say nothing: their parts start anew.
  void read_shipped(const Catalog::File& shipped) {
    if (auto weights = parse_weights(shipped.content, shipped.name)) {
      shipped_ = *std::move(weights);
    } else {
      notes_.push_back(fmt::format("{}: {}; what no row decides starts anew", weights.error().where,
                                   weights.error().message));
      shipped_.constants = cost::starting_constants();
      for (const char* part : {"clock", "convolution", "step", "eager", "links"})
        shipped_.origins[part] = {};
    }
    shipped_input_ = make_input("predictor", shipped_.name, shipped);
  }

  /// The forms, and the catalogue: what it publishes about GPUs without rows goes into the fit.
  [[nodiscard]] std::string format() const {
    Fnv1a hash;
    hash.add(shipped_input_.sha256);
    for (const hardware::GpuSpec& gpu : catalogue_) {
      hash.add(gpu.input.sha256);
      hash.add(gpu.arch.input.sha256);
    }
    return fmt::format("{}-{:016x}", features_hash(), hash.value());
  }

  void prepare(std::optional<std::uint32_t> left_out) {
    Fold& fold = folds_.emplace_back();
    fold.left_out = left_out;
    fold.kept = samples_without(dataset_, left_out);
    fold.weights.name = options_.name;
    fold.weights.constants = shipped_.constants;
    fold.weights.origins = shipped_.origins;
    set_assumed(fold.weights.constants);
    set_tables(catalogue_, fold.weights);
    set_streaming(dataset_, fold.kept, catalogue_, fold.weights);
    set_ceilings(catalogue_, fold.weights);
    std::map<std::string_view, Samples> by_class;
    for (const Sample* s : fold.kept) {
      by_class[class_of(s->work)].push_back(s);
    }
    for (auto& [name, samples] : by_class) {
      Range& range = fold.weights.ranges[std::string(name)] = range_of(dataset_, samples);
      range.kin = kin_of(dataset_, samples, name, fold.weights.constants.clock);
      const bool product = is_product(name);
      if (product) samples = without_disagreements(dataset_, samples);
      for (const Sample* s : samples) {
        const hardware::GpuSpec& gpu = dataset_.machines[s->gpu].gpu;
        const std::string vendor(name_of(gpu.vendor));
        fold.parts[vendor][std::string(name)].samples.push_back(s);
        // AMD's library is tuned per chip: a sibling with the same instruction set runs the same
        // kernels, so each instruction set has a model of its own next to the common one.
        if (gpu.vendor == hardware::Vendor::Amd)
          fold.parts[vendor + "/" + gpu.isa][std::string(name)].samples.push_back(s);
      }
    }
  }

  /// Whether the constants of convolutions depend on the row: some convolutions launch products.
  static bool decides_convolutions(const Sample& s) {
    const std::string_view name = class_of(s.work);
    return name == "conv" || name == "linear" || name == "bmm";
  }

  /// The constants of convolutions are one set for all GPUs, fitted when products are.
  void add_convolution(Fold& fold) {
    const auto rows = std::count_if(fold.kept.begin(), fold.kept.end(),
                                    [](const Sample* s) { return class_of(s->work) == "conv"; });
    if (static_cast<std::size_t>(rows) < kEnoughRows) return;
    const bool measured =
        fold.left_out &&
        std::any_of(dataset_.samples.begin(), dataset_.samples.end(), [&](const Sample& s) {
          return s.gpu == *fold.left_out && decides_convolutions(s);
        });
    const std::string id = measured ? dataset_.machines[*fold.left_out].gpu.id : std::string();
    fold.convolution = fmt::format("{}/convolution", measured ? id : "all");
    const auto run = [this, id, &fold](const TaskResults& earlier) -> Outcome {
      Outcome out;
      Weights products = fold.weights;
      set_products(fold, earlier, products);
      const auto weights_with = [&](const ConvolutionForm& form) {
        Weights weights = products;
        weights.constants = with_form(std::move(weights.constants), form);
        set_plateau_rules(weights);  // which depend on the clock
        return weights;
      };
      const ConvolutionForm found = fit_convolutions(campaigns_, weights_with, id);
      for (const auto& p : parameters_of(found)) {
        if (p.fitted) out.x.push_back(std::log(found.*p.value / p.start));
      }
      return out;
    };
    const auto& list = parameters_of(ConvolutionForm());
    const auto size =
        std::count_if(list.begin(), list.end(), [](const auto& p) { return p.fitted; });
    tasks_.try_emplace(fold.convolution,
                       Task{.run = run, .size = static_cast<std::size_t>(size), .last = true});
  }

  void add_tasks(Fold& fold) {
    add_convolution(fold);
    for (auto& [model, classes] : fold.parts) {
      const std::string vendor = vendor_of(model);
      for (auto& [name, part] : classes) {
        if (part.samples.size() < kEnoughRows) continue;
        part.task = fold_task(dataset_, fold.left_out, model, name);
        const auto is = [&label = name](std::span<const std::string_view> list) {
          return std::find(list.begin(), list.end(), label) != list.end();
        };
        if (is(kGemmClasses)) {
          const GemmPlan plan = gemm_plan(vendor, name);
          part.remembered = thin(part.samples, plan.neighbours, options_.seed);
          part.samples = thin(part.samples, plan.rows, options_.seed);
          add(part, gemm_size(plan, part.samples),
              [this, &fold, &part, plan] { return fit_gemm(data(fold, part), plan); });
        } else if (is(kRowClasses)) {
          const RowModel plan = row_plan(vendor, name);
          part.samples = thin(part.samples, kRowRows, options_.seed);
          add(part, kRowSize,
              [this, &fold, &part, plan] { return fit_rows(data(fold, part), plan); });
        } else if (is(kAttentionClasses)) {
          part.samples = thin(part.samples, kAttentionRows, options_.seed);
          add(part, attention_size(data(fold, part), name), [this, &fold, &part, label = name] {
            return fit_attention(data(fold, part), label);
          });
        }
      }
    }
  }

  FitData data(const Fold& fold, const Part& part) const {
    return {.dataset = dataset_, .weights = fold.weights, .samples = part.samples};
  }

  /// `size` is that of the result.
  template <typename Fit>
  void add(const Part& part, std::size_t size, const Fit& fit_class) {
    const auto run = [fit_class, rows = static_cast<double>(part.samples.size())](
                         const TaskResults& /*earlier*/) -> Outcome {
      LeastSquaresResult result = fit_class();
      return {.x = std::move(result.x), .loss = result.cost / rows};
    };
    tasks_.try_emplace(part.task, Task{.run = run, .size = size});
  }

  [[nodiscard]] Origin origin_of(const Seen& seen) const {
    Origin origin{.rows = static_cast<double>(seen.rows), .gpus = {}, .command = options_.command};
    for (const std::uint32_t gpu : seen.gpus) origin.gpus.push_back(dataset_.machines[gpu].gpu.id);
    std::sort(origin.gpus.begin(), origin.gpus.end());
    return origin;
  }

  void set_convolution(Fold& fold) const {
    const auto found = results_.find(fold.convolution);
    if (found == results_.end()) return;
    auto form = cost::starting<ConvolutionForm>();
    std::size_t next = 0;
    for (const auto& p : parameters_of(form)) {
      if (p.fitted) form.*p.value *= std::exp(found->second[next++]);
    }
    fold.weights.constants = with_form(std::move(fold.weights.constants), form);
    cost::TimeModel& model = fold.weights.constants.convolution;
    std::set<std::string> architectures;
    std::set<std::uint32_t> gpus;
    Seen seen;
    for (const Sample* s : fold.kept) {
      if (class_of(s->work) != "conv") continue;
      ++seen.rows;
      gpus.insert(s->gpu);
      architectures.insert(dataset_.machines[s->gpu].gpu.arch.name);
    }
    seen.gpus.assign(gpus.begin(), gpus.end());
    model.architectures.assign(architectures.begin(), architectures.end());
    fold.weights.origins["convolution"] = fold.weights.origins["clock"] = origin_of(seen);
  }

  /// Of `part`, where the data say nothing: the catalogue's, which may know the GPU.
  void keep_shipped(const Fold& fold, const std::string& part) {
    const auto& gpus = shipped_.origins.at(part).gpus;
    const std::string& id =
        fold.left_out ? dataset_.machines[*fold.left_out].gpu.id : std::string();
    const bool knows = std::find(gpus.begin(), gpus.end(), id) != gpus.end();
    std::string note = fmt::format("{}: no rows to fit on, the catalogue's numbers stay", part);
    if (knows) note += fmt::format("; they have seen {}, which is left out of the rest", id);
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
  }

  void set_constants(Fold& fold) {
    Weights& weights = fold.weights;
    if (fold.convolution.empty()) {
      keep_shipped(fold, "convolution");
    }
    if (const auto links = fit_links(dataset_, fold.left_out)) {
      weights.constants.links = links->constants;
      weights.origins["links"] = origin_of(links->seen);
    } else {
      keep_shipped(fold, "links");
    }
    cost::StepConstants& step = weights.constants.step;
    if (const auto host = fit_host(dataset_, fold.left_out)) {
      step.host_launch = host->launch;
      step.host_spread = host->spread;
      weights.origins["step"] = origin_of(host->seen);
    } else {
      keep_shipped(fold, "step");
    }
    if (const auto eager = fit_eager(dataset_, fold.left_out, weights.constants)) {
      weights.constants.eager = eager->constants;
      weights.origins["eager"] = origin_of(eager->seen);
    } else {
      keep_shipped(fold, "eager");
    }
  }

  void finish(Fold& fold) const {
    Weights& weights = fold.weights;
    set_convolution(fold);
    set_products(fold, results_, weights);
    set_plateau_rules(weights);
    for (const auto& [model, classes] : fold.parts)
      finish_rows(fold, classes, vendor_of(model), weights.models[model]);
    fit_experts(dataset_, fold.left_out, weights);
    if (const auto line = fit_trivial_ring(dataset_, fold.left_out))
      weights.trivial[std::string(kRing)] = *line;
    for (const auto& [model, classes] : fold.parts) {
      const bool common = model.find('/') == std::string::npos;
      for (const auto& [name, part] : classes) {
        if (name == "conv") weights.models[model].conv = fit_conv(data(fold, part));
        if (common && !part.samples.empty())
          weights.trivial[fmt::format("{}/{}", model, name)] =
              fit_trivial(dataset_, thin(part.samples, kTrivialRows, options_.seed));
      }
    }
  }

  using Classes = std::map<std::string, Part, std::less<>>;

  static const std::vector<double>* result(const TaskResults& results, const Classes& classes,
                                           std::string_view name) {
    const auto part = classes.find(name);
    if (part == classes.end() || part->second.task.empty()) return nullptr;
    const auto found = results.find(part->second.task);
    return found == results.end() ? nullptr : &found->second;
  }

  /// The products of a class in a device's model.
  static std::optional<GemmModel>& slot_of(std::string_view name, DeviceModel& device) {
    return name == "linear"         ? device.gemm
           : name == "bmm"          ? device.bmm
           : name == "linear_16bit" ? device.gemm_16bit
                                    : device.gemm_8bit;
  }

  /// Products, but for the rules about levels that nobody measured.
  void set_products(const Fold& fold, const TaskResults& results, Weights& weights) const {
    for (const auto& [key, classes] : fold.parts) {
      for (const std::string_view name : kGemmClasses) {
        const std::vector<double>* x = result(results, classes, name);
        if (x == nullptr) continue;
        const Part& part = classes.find(name)->second;
        const GemmPlan plan = gemm_plan(vendor_of(key), name);
        GemmModel model;
        apply_gemm(*x, plan, model);
        if (plan.neighbours > 0)  // timed one by one from a host, as rows are
          model.parameters.floor = shortest_call(part.samples).value_or(model.parameters.floor);
        model.plateau.measured = plateaus(*x, plan, data(fold, part));
        if (plan.named_tiles) set_named_tiles(dataset_, part.samples, model);
        const FitData rows{
            .dataset = dataset_, .weights = fold.weights, .samples = part.remembered};
        model.neighbours = measured_neighbours(rows, model);
        model.neighbours.foreign = plan.foreign_neighbours;
        slot_of(name, weights.models[key]) = std::move(model);
      }
    }
  }

  /// Of all products, from their measured levels and the clock.
  void set_plateau_rules(Weights& weights) const {
    for (auto& [key, device] : weights.models) {
      for (const std::string_view name : kGemmClasses) {
        std::optional<GemmModel>& model = slot_of(name, device);
        if (!model) continue;
        const Units units = name == "linear"         ? Units::DenseFp32
                            : name == "bmm"          ? Units::BatchedFp32
                            : name == "linear_16bit" ? Units::Tensor16
                                                     : Units::Tensor8;
        set_plateau_rule(dataset_, gemm_plan(vendor_of(key), name), units,
                         device.gemm ? &device.gemm->plateau : nullptr, weights, model->plateau);
      }
    }
  }

  void finish_rows(const Fold& fold, const Classes& classes, const std::string& vendor,
                   DeviceModel& device) const {
    for (const std::string_view name : kRowClasses) {
      const std::vector<double>* x = result(results_, classes, name);
      if (x == nullptr) continue;
      RowModel model = row_plan(vendor, name);
      apply_rows(*x, model);
      const auto floor = shortest_call(classes.find(name)->second.samples);
      if (floor) model.parameters.floor = *floor;
      (name == "softmax" ? device.softmax : device.norm) = model;
    }
    for (const std::string_view name : kAttentionClasses) {
      if (const auto* x = result(results_, classes, name)) {
        const FitData rows = data(fold, classes.find(name)->second);
        (name == "prefill" ? device.prefill : device.decode) = apply_attention(*x, rows, name);
      }
    }
    const auto pointwise = classes.find("elementwise");
    if (pointwise != classes.end() && !pointwise->second.samples.empty())
      device.pointwise = fit_pointwise(data(fold, pointwise->second), vendor);
  }

  const Dataset& dataset_;
  const FitOptions& options_;
  std::vector<hardware::GpuSpec> catalogue_;
  Weights shipped_;      ///< for parts that the data say nothing about
  Input shipped_input_;  ///< the record of their file
  Campaigns campaigns_;
  std::vector<std::string> notes_;
  std::deque<Fold> folds_;  ///< tasks keep references
  Tasks tasks_;
  TaskResults results_;
};

}  // namespace

Result<Fits> fit(const Dataset& dataset, const Catalog& catalog, const FitOptions& options) {
  return Fitter(dataset, options).run(catalog);
}

}  // namespace rooftile::calibration
