// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/learned.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "core/integer.h"
#include "cost/conv_estimate.h"
#include "cost/learned/attention_form.h"
#include "cost/learned/calibrated.h"
#include "cost/learned/chip.h"
#include "cost/learned/classes.h"
#include "cost/learned/gemm_form.h"
#include "cost/learned/row_form.h"
#include "cost/stream_parts.h"
#include "ops/moe.h"

namespace rooftile::cost::learned {

namespace {

/// GPU time, what a call adds in an operator benchmark, and how well the form fits the kernel.
struct FormTime {
  Breakdown gpu;
  double host = 0;   ///< added when the kernel is timed alone
  double floor = 0;  ///< the shortest call when the kernel is timed alone
  bool nearest_class = false;
  std::optional<mapping::TilePlan> plan;
  std::optional<KernelTime> analysis = {};  ///< of a convolution: how it runs
  traffic::PanelMisses misses = {};         ///< of a product
  double dram_bytes = 0;  ///< of rows: what the time counts, re-reads included; 0 for others
};

/// What the weights say of one class of kernels on one machine.
struct ClassFacts {
  const std::array<double, kBuckets>* widths = nullptr;  ///< half-widths; null: not calibrated
  const Range* range = nullptr;                          ///< null: the fit has seen none
  bool vendor = false;                                   ///< is one that the fit has seen
  std::array<bool, kAllDTypes.size()> dtypes{};          ///< that it has seen
  std::vector<std::array<double, 2>> limits;             ///< in the order of for_each_dimension()
};

/// The plateau of a product's rate.
struct Level {
  const Plateau* of = nullptr;
  hardware::RateKey key;
  bool sustained = false;
  double value = 1;
};

/// What the weights say of one machine, looked up when it is first needed.
struct LearnedFacts final : MachineFacts {
  const DeviceModel* own = nullptr;      ///< of its vendor or instruction set
  const DeviceModel* model = nullptr;    ///< that, or another one's
  Chip chip;                             ///< not bound to a kernel
  std::optional<Calibrated> calibrated;  ///< by what was measured on it
  std::array<std::optional<ClassFacts>, kClasses.size()> classes;
  std::vector<Level> levels;
};

struct Question {
  const Job& job;
  const hardware::Machine& machine;
  const Weights& weights;
  const DeviceModel& model;
  Chip chip;
  LearnedFacts& facts;
};

hardware::RateKey rate_key(const Question& q) {
  return q.job.units;
}

/// TF32 has the level of the 16-bit products that run on the same units, which were measured.
double plateau_of(const Question& q, hardware::RateKey units, double peak, const Plateau& p) {
  for (const Level& level : q.facts.levels) {
    if (level.of == &p && level.key == units && level.sustained == !q.job.burst) return level.value;
  }
  const bool measured = q.machine.ceilings && q.machine.ceilings->rate.contains(units);
  const hardware::RateKey half{DType::Bf16, hardware::Pipe::Tensor};
  const bool shares = units.dtype == DType::Tf32 && q.machine.gpu.peak.contains(half);
  const double value = plateau(q.machine.gpu,
                               {.peak = peak,
                                .key = shares ? half : units,
                                .measured_ceiling = measured,
                                .sustained = !q.job.burst},
                               p, q.weights);
  q.facts.levels.push_back({.of = &p, .key = units, .sustained = !q.job.burst, .value = value});
  return value;
}

/// The fitted product nearest to the kernel on these units: own precision first, then the other
/// one.
std::pair<const GemmModel*, bool> gemm_model(const Question& q, hardware::RateKey units) {
  const ops::KernelWork& work = q.job.work;
  const double size = size_of(work.dtype).base();
  const bool batched = work.kind == ops::KernelClass::BatchedGemm;
  const auto pick = [](const std::optional<GemmModel>& m) { return m ? &*m : nullptr; };
  if (units.dtype == DType::Fp32) {
    const bool converted = work.compute != DType::Fp32;
    if (const GemmModel* own = pick(batched ? q.model.bmm : q.model.gemm)) return {own, converted};
    return {pick(q.model.gemm), true};
  }
  if (size == 2 && work.op == ops::ExpertLinear::kName) {
    if (const GemmModel* own = pick(q.model.experts)) return {own, true};
  }
  if (size <= 1) {
    if (const GemmModel* own = pick(q.model.gemm_8bit)) return {own, batched};
  }
  if (const GemmModel* own = pick(q.model.gemm_16bit)) return {own, batched || size != 2};
  return {pick(q.model.gemm), true};
}

mapping::TilePlan plan_of(const ops::GemmShape& shape, const GemmTime& time, const Question& q) {
  mapping::TilePlan plan{.tile_m = time.tile.along_m, .tile_n = time.tile.along_n, .tile_k = 8};
  const std::int64_t rows = ceil_div(shape.m, plan.tile_m);
  const std::int64_t columns = ceil_div(shape.n, plan.tile_n);
  plan.split_k = time.split_k;
  plan.cluster = static_cast<std::int64_t>(q.chip.cluster);
  plan.tiles = shape.batch * rows * columns * time.split_k;
  plan.concurrent = std::max<std::int64_t>(q.machine.gpu.sm.count, 1);
  return plan;
}

std::optional<FormTime> gemm_form_on(const Question& q, const ops::GemmShape& shape,
                                     hardware::RateKey units, double peak) {
  const auto [model, nearest] = gemm_model(q, units);
  if (model == nullptr) return std::nullopt;
  Chip chip = clocked(q.chip, *model);
  chip.peak = peak;
  chip.units = full_units(q.machine.gpu, units);
  const GemmTime time =
      gemm_time(traffic::product_work(q.job.work, shape, q.job.copies), chip, *model, q.machine.gpu,
                q.weights, plateau_of(q, units, peak, model->plateau));
  const double correction = neighbour_correction(model->neighbours, q.weights.constants.neighbours,
                                                 q.machine.gpu.isa, shape);
  const GemmParameters& p = model->parameters;
  return FormTime{.gpu = time.breakdown(std::exp(correction)),
                  .host = chip.slower_clock * p.host,
                  .floor = p.floor,
                  .nearest_class = nearest,
                  .plan = plan_of(shape, time, q),
                  .misses = misses_of(p)};
}

/// On vector lanes 16-bit operands may also be multiplied in FP32, with the kernels of FP32: the
/// faster way is taken.
std::optional<FormTime> gemm_form(const Question& q, const ops::GemmShape& shape) {
  const hardware::RateKey own = rate_key(q);
  auto best = gemm_form_on(q, shape, own, q.chip.peak);
  const hardware::RateKey fp32{DType::Fp32, hardware::Pipe::Vector};
  const bool convertible =
      own.pipe == hardware::Pipe::Vector && (own.dtype == DType::Fp16 || own.dtype == DType::Bf16);
  const auto rate = convertible ? q.machine.rate(fp32.dtype, fp32.pipe) : std::nullopt;
  if (!rate) return best;
  auto converted = gemm_form_on(q, shape, fp32, rate->base());
  if (!best || (converted && converted->gpu.time() < best->gpu.time())) return converted;
  return best;
}

Estimate planned(const Job& job, const hardware::Machine& machine,
                 std::optional<mapping::TilePlan> plan, const traffic::PanelMisses& misses = {}) {
  Estimate estimate;
  estimate.plan = plan ? *plan : mapping::decompose(job.work, machine.gpu);
  estimate.traffic = traffic::model(job.work, estimate.plan, machine.gpu, misses, job.copies);
  return estimate;
}

/// The product that a convolution hands to the library, as any other of this shape. Operands that
/// were just written are found where a repeated product finds its own.
Job product_job(const Job& conv, const ops::GemmShape& gemm, Operands operands) {
  const double element = size_of(conv.work.dtype).base();
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return Bytes::from_base(element * real(gemm.batch) * real(rows) * real(columns));
  };
  Job job = conv;
  job.work = {.op = gemm.batch > 1 ? "bmm" : "linear",
              .kind = gemm.batch > 1 ? ops::KernelClass::BatchedGemm : ops::KernelClass::Gemm,
              .dtype = conv.work.dtype,
              .compute = conv.work.compute,
              .matrix = conv.work.matrix,
              .shape = gemm,
              .flops = Flops::from_base(2.0 * real(gemm.batch) * real(gemm.m) * real(gemm.n) *
                                        real(gemm.k)),
              .read = matrix(gemm.m, gemm.k) + matrix(gemm.k, gemm.n),
              .written = Bytes::from_base(output_bytes(gemm, conv.work.dtype))};
  if (operands == Operands::JustWritten) job.copies = 1;
  return job;
}

std::optional<LibraryProduct> library_product(const Question& conv, const ops::GemmShape& gemm,
                                              Operands operands) {
  const Job job = product_job(conv.job, gemm, operands);
  const Question q{.job = job,
                   .machine = conv.machine,
                   .weights = conv.weights,
                   .model = conv.model,
                   .chip = conv.chip,
                   .facts = conv.facts};
  const auto form = gemm_form(q, gemm);
  if (!form) return std::nullopt;  // the weights hold no product on these units
  const traffic::Traffic bytes = planned(job, q.machine, form->plan, form->misses).traffic;
  const Bytes written = bytes.dram_written;
  return LibraryProduct{.breakdown = form->gpu,
                        .seconds = form->gpu.time().base(),
                        .plan = *form->plan,
                        .read = {.l1 = (bytes.l1 - written).base(),
                                 .l2 = (bytes.l2 - written).base(),
                                 .dram = bytes.dram_read.base()},
                        .written = written.base()};
}

ConvTimeOptions conv_options(const Question& q) {
  return {.product = [&q](const ops::GemmShape& gemm, Operands operands) {
    return library_product(q, gemm, operands);
  }};
}

TimeMachine conv_machine(const Question& q) {
  return make_time_machine(q.machine, q.job.roof.compute, q.job.work.compute, q.job.work.matrix,
                           q.weights.constants);
}

FormTime conv_form(const Question& q, const ops::ConvShape& conv) {
  const KernelTime analysis =
      conv_time(q.job.work, conv, conv_machine(q), q.machine.gpu, conv_options(q));
  return FormTime{.gpu = analysis.breakdown,
                  .host = q.model.conv ? q.model.conv->host : 0.0,
                  .floor = 0,
                  .nearest_class = !q.model.conv || q.job.work.compute != DType::Fp32,
                  .plan = analysis.plan,
                  .analysis = analysis};
}

std::optional<FormTime> row_form(const Question& q, const ops::RowShape& shape) {
  const ops::KernelWork& work = q.job.work;
  const bool softmax = work.kind == ops::KernelClass::Softmax;
  const auto& model = softmax ? q.model.softmax : q.model.norm;
  if (!model) return std::nullopt;
  const RowGeometry geometry = row_geometry(work, shape, q.chip, *model);
  const Breakdown gpu = row_time(geometry, model->parameters);
  const double passes =
      gpu.of(Resource::Dram).base() / (geometry.stream_seconds * model->parameters.traffic);
  return FormTime{.gpu = gpu,
                  .host = model->parameters.host,
                  .floor = model->parameters.floor,
                  .nearest_class = work.op != (softmax ? "softmax" : "ln"),
                  .plan = {},
                  .dram_bytes = work.moved().base() * passes};
}

std::optional<FormTime> pointwise_form(const Question& q) {
  if (!q.model.pointwise) return std::nullopt;
  const PointwiseModel& model = *q.model.pointwise;
  const auto call = model.call.find(q.job.work.op);
  return FormTime{
      .gpu = pointwise_time(q.job.work, q.chip, model),
      .host = call == model.call.end() ? model.host : call->second * kReferenceClock / q.chip.clock,
      .floor = q.job.setting == Setting::Isolated ? pointwise_floor(q.job.work, model) : 0.0,
      .nearest_class = !model.floor.contains(q.job.work.op),
      .plan = {}};
}

mapping::TilePlan plan_of(const AttentionCut& cut) {
  constexpr std::int64_t kKeys = 128;
  return {.tile_m = cut.rows,
          .tile_n = kKeys,
          .split_k = static_cast<std::int64_t>(cut.splits),
          .tiles = static_cast<std::int64_t>(cut.ctas * cut.splits),
          .concurrent = static_cast<std::int64_t>(cut.sms)};
}

std::optional<FormTime> attention_form(const Question& q, const ops::AttentionShape& shape) {
  // One query per sequence is decoding: it streams the cache.
  const bool decode = shape.queries == 1;
  const auto& fitted = decode ? q.model.decode : q.model.prefill;
  static const AttentionModel kStart{.common = starting<AttentionParameters>(), .families = {}};
  const AttentionParameters& p = parameters_for(fitted ? *fitted : kStart, q.machine.gpu);
  const AttentionCut cut =
      cut_attention(q.job, shape, q.chip, q.machine.gpu, q.weights.constants.clock);
  // Repeated, what fits comes from the L2.
  const bool resident = q.job.copies > 0 && q.job.work.bytes().base() < q.chip.l2;
  FormTime form{.gpu = attention_time(cut, p, resident), .plan = plan_of(cut)};
  // The shortest call was measured with the gap behind it, which a stream of kernels adds.
  const double gap = std::min(q.weights.constants.step.gap, cut.slower_clock * p.start);
  form.gpu.of(Resource::Launch) -= Seconds::from_base(gap);
  form.host = gap + (decode ? 0.0 : cache_seconds(cut, p, resident));
  form.nearest_class = !fitted || q.job.work.op != "attention";
  return form;
}

std::optional<FormTime> form_time(const Question& q) {
  const ops::WorkShape& shape = q.job.work.shape;
  if (const auto* gemm = std::get_if<ops::GemmShape>(&shape)) return gemm_form(q, *gemm);
  if (const auto* conv = std::get_if<ops::ConvShape>(&shape)) return conv_form(q, *conv);
  if (const auto* attention = std::get_if<ops::AttentionShape>(&shape))
    return attention_form(q, *attention);
  const ops::KernelClass kind = q.job.work.kind;
  if (kind == ops::KernelClass::Softmax || kind == ops::KernelClass::Norm) {
    if (auto form = row_form(q, std::get<ops::RowShape>(shape))) return form;
  }
  return pointwise_form(q);
}

bool lists(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

ClassFacts make_class_facts(const ops::KernelWork& work, const hardware::GpuSpec& gpu,
                            const Weights& weights) {
  ClassFacts facts;
  const std::string_view name = class_of(work);
  const auto it = weights.ranges.find(name);
  const auto widths = weights.intervals.find(name);
  if (widths != weights.intervals.end() && it != weights.ranges.end())
    facts.widths =
        &widths->second.at(familiarity(gpu, name, weights.constants.clock, it->second.kin));
  if (it == weights.ranges.end()) return facts;
  const Range& range = it->second;
  facts.range = &range;
  facts.vendor = lists(range.vendors, name_of(gpu.vendor));
  for (const DType dtype : kAllDTypes)
    facts.dtypes[static_cast<std::size_t>(dtype)] = lists(range.dtypes, name_of(dtype));
  constexpr std::array<double, 2> kNowhere{1, 0};
  for_each_dimension(work, [&](std::string_view dimension, double /*value*/) {
    const auto limits = range.dimensions.find(dimension);
    facts.limits.push_back(limits != range.dimensions.end() ? limits->second : kNowhere);
  });
  return facts;
}

const ClassFacts& class_facts(const Question& q) {
  auto& facts = q.facts.classes[class_index(q.job.work)];
  if (!facts) facts = make_class_facts(q.job.work, q.machine.gpu, q.weights);
  return *facts;
}

bool has_seen(const ClassFacts& facts, DType dtype) {
  return facts.dtypes[static_cast<std::size_t>(dtype)];
}

/// Octaves between the kernel and the sizes of its class that were fitted, over all dimensions; 0
/// inside them, at most 10. A dimension that the class does not have counts as one octave.
double octaves_outside(const Question& q) {
  const ClassFacts& facts = class_facts(q);
  if (facts.range == nullptr) return 0;
  double octaves = 0;
  std::size_t i = 0;
  for_each_dimension(q.job.work, [&](std::string_view /*name*/, double value) {
    const auto [low, high] = facts.limits[i++];
    if (low > high) {
      octaves += 1;
    } else if (value < low) {
      octaves += std::log2(low / value);
    } else if (value > high) {
      octaves += std::log2(value / high);
    }
  });
  constexpr double kMost = 10;
  return std::min(octaves, kMost);
}

bool outside(const Question& q) {
  const ClassFacts& facts = class_facts(q);
  return facts.range == nullptr || !facts.vendor || !has_seen(facts, q.job.work.dtype) ||
         octaves_outside(q) > 0;
}

/// The interval of the class comes from rows of this vendor in this number format, or in one that
/// runs on the same units at the same rate.
bool calibrated(const Question& q) {
  const ClassFacts& facts = class_facts(q);
  if (facts.range == nullptr || !facts.vendor) return false;
  if (has_seen(facts, q.job.work.dtype)) return true;
  const auto twin =
      same_units(q.machine.gpu, {.dtype = q.job.work.dtype, .pipe = rate_key(q).pipe});
  return q.job.work.compute == q.job.work.dtype && twin && has_seen(facts, twin->dtype);
}

double half_width(const Question& q, double seconds, bool nearest_class) {
  const IntervalConstants& assumed = q.weights.constants.intervals;
  const auto* widths = class_facts(q).widths;
  if (widths == nullptr) return assumed.uncalibrated;
  const double fitted = (*widths)[bucket_of(seconds)];
  const bool known = !nearest_class && calibrated(q);
  return (known ? fitted : std::max(fitted, assumed.uncalibrated)) +
         assumed.per_octave * octaves_outside(q);
}

/// DRAM bytes that were not counted from the plan; the levels above see them as well.
void set_dram_bytes(double bytes, traffic::Traffic& traffic) {
  traffic.dram_read = Bytes::from_base(bytes) - traffic.dram_written;
  traffic.l2 = max(traffic.l2, traffic.dram());
  traffic.l1 = max(traffic.l1, traffic.l2);
}

void set_interval(Estimate& estimate, double half_width) {
  estimate.low = max(estimate.time * std::exp(-half_width), estimate.bound);
  estimate.high = estimate.time * std::exp(half_width);
}

/// The kernel timed alone: what the host adds, and no call is shorter than the floor.
Breakdown isolated(const FormTime& form) {
  Breakdown breakdown = form.gpu;
  const double gpu = form.gpu.time().base();
  breakdown.of(Resource::Host) = Seconds::from_base(std::max(form.host, form.floor - gpu));
  return breakdown;
}

class LearnedPredictor final : public Predictor {
 public:
  explicit LearnedPredictor(Weights weights) : weights_(std::move(weights)) {}

 private:
  [[nodiscard]] Status do_check(const hardware::Machine& machine) const override {
    return check_calibration(machine);
  }
  [[nodiscard]] std::unique_ptr<MachineFacts> do_prepare(
      const hardware::Machine& machine) const override {
    auto facts = std::make_unique<LearnedFacts>();
    const DeviceModel* own = find_model(machine.gpu, weights_);
    facts->own = own;
    facts->model =
        own != nullptr || weights_.models.empty() ? own : &weights_.models.rbegin()->second;
    facts->chip = chip_of(machine, weights_);
    const bool measured = machine.ceilings && machine.ceilings->calibration &&
                          machine.ceilings->calibration->predictor == weights_.name;
    if (measured) facts->calibrated.emplace(*machine.ceilings->calibration);
    return facts;
  }
  [[nodiscard]] Estimate do_estimate(const Job& job, const hardware::Machine& machine,
                                     MachineFacts& known) const override {
    auto& facts = static_cast<LearnedFacts&>(known);  // from do_prepare()
    const Question question = ask(job, machine, facts);
    std::optional<FormTime> form;
    if (facts.model != nullptr) form = form_time(question);
    Estimate estimate = form ? planned(job, machine, form->plan, form->misses)
                             : planned(job, machine, std::nullopt);
    if (!form) {  // the weights hold no model of this class: the bound is all that is known
      set_time(job.work, job.roof, machine.gpu, {}, estimate);
      estimate.extrapolated = true;
      return estimate;
    }
    const Breakdown breakdown = job.setting == Setting::Isolated ? isolated(*form) : form->gpu;
    set_time(job.work, job.roof, machine.gpu, breakdown, estimate);
    double width = half_width(question, breakdown.time().base(), form->nearest_class);
    if (facts.calibrated)
      width = calibrate_estimate(job, machine, *facts.calibrated, width, estimate);
    set_interval(estimate, width);
    if (form->dram_bytes > 0) set_dram_bytes(form->dram_bytes, estimate.traffic);
    if (form->analysis) {
      estimate.algorithm = form->analysis->algorithm;
      estimate.traffic = form->analysis->traffic;
    }
    estimate.provenance = Provenance::Learned;
    estimate.extrapolated = facts.own == nullptr || form->nearest_class ||
                            (form->analysis && !form->analysis->calibrated) || outside(question);
    return estimate;
  }
  [[nodiscard]] std::vector<ConvCandidate> do_convolutions(const Job& job,
                                                           const hardware::Machine& machine,
                                                           MachineFacts& known) const override {
    const Question q = ask(job, machine, static_cast<LearnedFacts&>(known));
    return conv_candidates(std::get<ops::ConvShape>(job.work.shape), job.work.dtype,
                           conv_machine(q), conv_options(q));
  }
  [[nodiscard]] std::string_view do_name() const override { return weights_.name; }
  [[nodiscard]] Question ask(const Job& job, const hardware::Machine& machine,
                             LearnedFacts& facts) const {
    static const DeviceModel kNone;
    return {.job = job,
            .machine = machine,
            .weights = weights_,
            .model = facts.model != nullptr ? *facts.model : kNone,
            .chip = bound_to(job, facts.chip),
            .facts = facts};
  }

  Weights weights_;
};

}  // namespace

std::unique_ptr<Predictor> make_learned(Weights weights) {
  Constants constants = weights.constants;
  auto made = std::make_unique<LearnedPredictor>(std::move(weights));
  made->set_constants(std::move(constants));
  return made;
}

}  // namespace rooftile::cost::learned
