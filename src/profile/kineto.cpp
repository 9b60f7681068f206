// SPDX-License-Identifier: Apache-2.0
//
// Kineto (torch.profiler) traces: kernels with their durations, and the counters of the CUPTI range
// profiler where it ran. Parsed as a stream of events, so a trace of many gigabytes needs no more
// memory than its distinct kernels (plus 8 bytes per launch). The duration of a profiler range is
// inflated by the replay and is not used. Traces with record_shapes=True also tell the matrix
// products: an operator (aten::addmm) and the kernels it launched carry the same "External id".
#include <fmt/format.h>

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/text.h"
#include "profile/importer.h"
#include "profile/json_scanner.h"

namespace rooftile::profile {

namespace {

struct TraceEvent {
  std::string category, name, phase;
  double duration_us = 0.0;
  bool has_duration = false;
  std::vector<std::pair<std::string, double>> counters;
  std::vector<double> grid, block;
  std::optional<std::int64_t> external_id;
  std::vector<std::vector<double>> input_dims;  ///< of the first inputs
  std::vector<std::string> input_types;

  void clear() {
    category.clear();
    name.clear();
    phase.clear();
    has_duration = false;
    counters.clear();
    grid.clear();
    block.clear();
    external_id.reset();
    input_dims.clear();
    input_types.clear();
  }
};

constexpr std::size_t kMostInputs = 4;                       ///< of an operator that are looked at
constexpr std::size_t kMostProducts = std::size_t{1} << 20;  ///< operators remembered

std::optional<DType> dtype_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, DType>, 5> kTypes{{
      {"float", DType::Fp32},
      {"double", DType::Fp64},
      {"c10::Half", DType::Fp16},
      {"c10::BFloat16", DType::Bf16},
      {"c10::Float8_e4m3fn", DType::Fp8E4m3},
  }};
  for (const auto& [name, dtype] : kTypes) {
    if (name == type) return dtype;
  }
  return std::nullopt;
}

/// aten::mm(A, B), aten::addmm(C, A, B), aten::bmm(A, B), aten::baddbmm(C, A, B)
std::optional<Product> product_of(const TraceEvent& event) {
  const bool batched = event.name == "aten::bmm" || event.name == "aten::baddbmm";
  const bool added = event.name == "aten::addmm" || event.name == "aten::baddbmm";
  if (!batched && !added && event.name != "aten::mm") return std::nullopt;
  const std::size_t first = added ? 1 : 0, rank = batched ? 3 : 2;
  if (event.input_dims.size() < first + 2 || event.input_types.size() <= first) return std::nullopt;
  const auto& a = event.input_dims[first];
  const auto& b = event.input_dims[first + 1];
  const auto dtype = dtype_of(event.input_types[first]);
  if (a.size() != rank || b.size() != rank || !dtype) return std::nullopt;
  for (const auto& dims : {a, b}) {
    for (const double size : dims) {
      if (!(size >= 1.0 && size < 1e9)) return std::nullopt;
    }
  }
  if (a[rank - 1] != b[rank - 2] || (batched && a[0] != b[0])) return std::nullopt;
  const auto whole = [](double value) { return static_cast<std::int64_t>(value); };
  return Product{.batch = batched ? whole(a[0]) : 1,
                 .m = whole(a[rank - 2]),
                 .n = whole(b[rank - 1]),
                 .k = whole(a[rank - 1]),
                 .dtype = *dtype};
}

/// Follows the document's nesting and collects one event at a time.
class TraceHandler {
 public:
  explicit TraceHandler(ProfileBuilder& builder) : builder_(builder) {}

  void open(bool array);
  void close();
  void key(const std::string& text) { stack_.back().key = text; }
  void string(const std::string& text);
  void number(double value);
  void other() {}

  std::string problem;  ///< the first one
  std::int64_t kernels = 0, ranges = 0, copies = 0;
  double copy_us = 0.0;

 private:
  struct Frame {
    bool array;
    std::string key;  ///< of the member being read
  };
  void finish_event();
  [[nodiscard]] bool in_event() const { return event_depth_ != 0 && stack_.size() >= event_depth_; }
  /// True inside args of an event, at its own level.
  [[nodiscard]] bool in_args(std::size_t below) const {
    return in_event() && stack_.size() == event_depth_ + 1 + below &&
           stack_[event_depth_ - 1].key == "args";
  }
  [[nodiscard]] bool in_device() const {
    return stack_.size() == 3 && stack_[0].key == "deviceProperties" && !stack_[2].array;
  }

  ProfileBuilder& builder_;
  std::vector<Frame> stack_;
  std::size_t event_depth_ = 0;  ///< stack size inside the current event object
  TraceEvent event_;
  std::string major_, minor_;
  bool first_device_ = true;
  std::unordered_map<std::int64_t, Product> products_;  ///< by external id
};

void TraceHandler::open(bool array) {
  stack_.push_back({array, {}});
  if (array && in_args(2) && stack_[event_depth_].key == "Input Dims" &&
      event_.input_dims.size() < kMostInputs) {
    event_.input_dims.emplace_back();
  }
  if (event_depth_ != 0 || array) return;
  const bool listed = stack_.size() == 2 && stack_[0].array;
  const bool member = stack_.size() == 3 && stack_[1].array && stack_[0].key == "traceEvents";
  if (listed || member) {
    event_depth_ = stack_.size();
    event_.clear();
  }
}

void TraceHandler::close() {
  if (event_depth_ != 0 && stack_.size() == event_depth_) {
    finish_event();
    event_depth_ = 0;
  }
  if (in_device()) {
    if (first_device_ && !major_.empty()) {
      // HIP reports its gfx version in these fields; 9.0 is then not Hopper.
      const std::string& name = builder_.profile().device.name;
      const bool amd = name.find("AMD") != std::string::npos ||
                       name.find("Instinct") != std::string::npos ||
                       name.find("Radeon") != std::string::npos;
      builder_.profile().device.isa = amd ? "gfx" + major_ : fmt::format("{}.{}", major_, minor_);
    }
    first_device_ = false;
  }
  stack_.pop_back();
}

void TraceHandler::string(const std::string& value) {
  if (in_event() && stack_.size() == event_depth_) {
    const std::string& key = stack_.back().key;
    if (key == "cat") event_.category = value;
    if (key == "name") event_.name = value;
    if (key == "ph") event_.phase = value;
  } else if (in_args(1) && stack_[event_depth_].key == "Input type") {
    if (event_.input_types.size() < kMostInputs) event_.input_types.push_back(value);
  } else if (in_device() && first_device_ && stack_.back().key == "name") {
    builder_.profile().device.name = value;
  }
}

void TraceHandler::number(double value) {
  if (in_event() && stack_.size() == event_depth_) {
    if (stack_.back().key == "dur") {
      event_.duration_us = value;
      event_.has_duration = true;
    }
  } else if (in_args(0)) {
    const std::string& name = stack_.back().key;
    if (name == "External id" && value >= 0.0 && value < 9e15) {
      event_.external_id = static_cast<std::int64_t>(value);
    }
    // Most arguments ("stream", "External id") are not counters, and say so by their name.
    if (name.find("__") != std::string::npos && is_used_metric(name))
      event_.counters.emplace_back(stack_.back().key, value);
  } else if (in_args(1) && stack_.back().array) {
    const std::string& list = stack_[event_depth_].key;
    if (list == "grid" && event_.grid.size() < 3) event_.grid.push_back(value);
    if (list == "block" && event_.block.size() < 3) event_.block.push_back(value);
  } else if (in_args(2) && stack_[event_depth_].key == "Input Dims") {
    constexpr std::size_t kMostDims = 8;
    if (!event_.input_dims.empty() && event_.input_dims.back().size() < kMostDims) {
      event_.input_dims.back().push_back(value);
    }
  } else if (in_device() && first_device_) {
    const std::string& key = stack_.back().key;
    if (key == "computeMajor") major_ = fmt::format("{}", value);
    if (key == "computeMinor") minor_ = fmt::format("{}", value);
    if (key == "numSms" && value >= 0 && value < 1e6) {
      builder_.profile().device.sm_count = static_cast<std::int64_t>(value);
    }
  }
}

std::optional<Dim3> to_dim3(const std::vector<double>& values) {
  if (values.size() != 3) return std::nullopt;
  Dim3 dims{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(values[i] >= 0.0 && values[i] < 9e15)) return std::nullopt;
    dims[i] = static_cast<std::int64_t>(values[i]);
  }
  return dims;
}

void TraceHandler::finish_event() {
  const bool kernel_event = event_.category == "kernel" || event_.category == "Kernel";
  const bool range = event_.category == "cuda_profiler_range";
  if (event_.category == "gpu_memcpy" || event_.category == "gpu_memset") {
    copies += 1;
    copy_us += event_.has_duration ? event_.duration_us : 0.0;
  }
  if (event_.category == "cpu_op" && event_.external_id && products_.size() < kMostProducts) {
    if (const auto product = product_of(event_)) products_[*event_.external_id] = *product;
  }
  if (!kernel_event && !range) return;
  (kernel_event ? kernels : ranges) += 1;
  const std::size_t kernel = builder_.kernel(event_.name);
  KernelSeries& series = builder_.series(kernel);
  series.rows += 1;
  Launch launch{.grid = to_dim3(event_.grid), .block = to_dim3(event_.block)};
  if (const auto it = products_.find(event_.external_id.value_or(-1)); it != products_.end()) {
    launch.product = it->second;
  }
  builder_.add_launch(kernel, launch);
  if (problem.empty() && kernel_event && event_.has_duration && event_.duration_us < 0.0) {
    problem = fmt::format("\"dur\" of the kernel {} is {} us: a time cannot be negative",
                          printable(event_.name), event_.duration_us);
  }
  if (kernel_event && event_.has_duration) {
    builder_.add(kernel, "duration", event_.duration_us * 1e-6, 1.0);
  }
  for (const auto& [metric, value] : event_.counters) {
    builder_.profile().counters += 1;
    if (problem.empty() && value < 0.0) {
      problem = fmt::format("{} of the kernel {} is {}: it cannot be negative", metric,
                            printable(event_.name), value);
    }
    builder_.add(kernel, metric, value, 1.0);
  }
}

}  // namespace

bool recognises_kineto(std::string_view head) {
  const std::string_view text = trim(head);
  if (text.starts_with('{')) {
    return text.find("\"traceEvents\"") != std::string_view::npos ||
           text.find("\"deviceProperties\"") != std::string_view::npos ||
           text.find("\"schemaVersion\"") != std::string_view::npos;
  }
  return text.starts_with('[') && text.find("\"ph\"") != std::string_view::npos;
}

Result<RawProfile> import_kineto(TextSource& source) {
  ProfileBuilder builder("kineto", source.name());
  TraceHandler handler(builder);
  ROOFTILE_CHECK(JsonScanner(source).run(handler));
  if (!handler.problem.empty()) {
    return bad_input(source.name(), handler.problem, "the trace is damaged; record it again");
  }
  if (handler.kernels == 0 && handler.ranges == 0) {
    return bad_input(source.name(), "there are no GPU kernels in this trace",
                     "record with activities=[ProfilerActivity.CUDA]");
  }
  if (handler.copies > 0) {
    builder.profile().notes.push_back(
        fmt::format("left out, as they are not kernels: {} memory copies and fills ({:.3f} ms)",
                    handler.copies, handler.copy_us * 1e-3));
  }
  return builder.finish(false);
}

}  // namespace rooftile::profile
