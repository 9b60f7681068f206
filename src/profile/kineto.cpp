// SPDX-License-Identifier: Apache-2.0
//
// Kineto (torch.profiler) traces of NVIDIA and AMD GPUs: kernels with their durations, the
// operators that asked for them and their shapes (profile/operator_links.h), annotations, and the
// counters of the CUPTI range profiler where it ran. Parsed as a stream of events: what is kept is
// a line per launch, per call of an operator and per call of the runtime that launched something.
// The duration of a profiler range is inflated by the replay and is not used.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/text.h"
#include "profile/importer.h"
#include "profile/json_scanner.h"
#include "profile/operator_links.h"
#include "profile/timed_launches.h"

namespace rooftile::profile {

namespace {

/// What an event is; older traces write other words.
enum class EventKind : std::uint8_t { Other, Kernel, Range, Copy, Operator, Call, Annotation };

EventKind kind_of(std::string_view category) {
  constexpr std::array<std::pair<std::string_view, EventKind>, 15> kKinds{{
      {"kernel", EventKind::Kernel},
      {"Kernel", EventKind::Kernel},
      {"cuda_profiler_range", EventKind::Range},
      {"gpu_memcpy", EventKind::Copy},
      {"gpu_memset", EventKind::Copy},
      {"Memcpy", EventKind::Copy},
      {"Memset", EventKind::Copy},
      {"cpu_op", EventKind::Operator},
      {"Operator", EventKind::Operator},
      {"operator", EventKind::Operator},
      {"cuda_runtime", EventKind::Call},
      {"cuda_driver", EventKind::Call},
      {"hip_runtime", EventKind::Call},
      {"Runtime", EventKind::Call},
      {"user_annotation", EventKind::Annotation},
  }};
  for (const auto& [name, kind] : kKinds) {
    if (name == category) return kind;
  }
  return EventKind::Other;
}

/// The list or number of "args" that is being read.
enum class Argument : std::uint8_t {
  Other,
  Grid,
  Block,
  Shapes,
  Types,
  Texts,
  External,
  Correlation,
  Device,
  Collective,
  Sent,
  Received,
  GroupSize,
  ElementType
};

/// Versions write them with other capitals: "Input dims", "external id".
Argument argument_named(std::string_view key) {
  constexpr std::array<std::pair<std::string_view, Argument>, 13> kNames{{
      {"grid", Argument::Grid},
      {"block", Argument::Block},
      {"input dims", Argument::Shapes},
      {"input type", Argument::Types},
      {"concrete inputs", Argument::Texts},
      {"external id", Argument::External},
      {"correlation", Argument::Correlation},
      {"device", Argument::Device},
      {"collective name", Argument::Collective},
      {"in msg nelems", Argument::Sent},
      {"out msg nelems", Argument::Received},
      {"group size", Argument::GroupSize},
      {"dtype", Argument::ElementType},
  }};
  const auto is = [key](std::string_view name) {
    return std::equal(name.begin(), name.end(), key.begin(), key.end(), [](char a, char b) {
      return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
    });
  };
  for (const auto& [name, argument] : kNames) {
    if (is(name)) return argument;
  }
  return Argument::Other;
}

constexpr std::size_t kMostInputs = 24;   ///< of an operator that are looked at
constexpr std::size_t kMostTensors = 64;  ///< of a list of tensors
constexpr std::size_t kMostDims = 8;
constexpr double kMostWhole = 9e15;

struct TraceEvent {
  EventKind kind = EventKind::Other;
  std::string name;
  std::optional<double> begin_us, duration_us;
  Thread thread;
  std::vector<std::pair<std::string, double>> counters;
  std::vector<double> grid, block;
  std::optional<std::int64_t> external, correlation, device;
  std::vector<std::vector<std::vector<std::int64_t>>> shapes;  ///< input, tensor, dimension
  std::vector<std::string> types, texts;
  TracedMessage message;  ///< without a name: none

  void clear() {
    kind = EventKind::Other;
    name.clear();
    begin_us.reset();
    duration_us.reset();
    thread = {};
    counters.clear();
    grid.clear();
    block.clear();
    external.reset();
    correlation.reset();
    device.reset();
    shapes.clear();
    types.clear();
    texts.clear();
    message = {};
  }
  /// In nanoseconds.
  [[nodiscard]] std::optional<Span> span() const {
    if (!begin_us || !duration_us || !(std::abs(*begin_us) < kMostWhole) ||
        !(std::abs(*duration_us) < kMostWhole / 10)) {
      return std::nullopt;
    }
    return Span{.begin = std::llround(*begin_us * 1e3),
                .end = std::llround((*begin_us + *duration_us) * 1e3)};
  }
};

std::optional<std::int64_t> whole(double value) {
  if (!(std::abs(value) < kMostWhole)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

/// Versions write a thread as 1234, as "1234" or by a name, and one trace can mix them.
std::int64_t thread_number(const std::string& text) {
  const auto number = parse_int(text);
  return number ? *number : static_cast<std::int64_t>(std::hash<std::string>{}(text) >> 1);
}

/// Follows the document's nesting and collects one event at a time.
class TraceHandler {
 public:
  explicit TraceHandler(ProfileBuilder& builder) : builder_(builder), launches_(builder) {}

  void open(bool array);
  void close();
  void key(const std::string& text);
  void string(const std::string& text);
  void number(double value);
  void other() {}
  /// After the last event.
  void finish();

  std::string problem;  ///< the first one
  std::int64_t kernels = 0, ranges = 0;

 private:
  struct Frame {
    bool array;
    std::string key;  ///< of the member being read
  };
  void finish_event();
  void finish_kernel();
  void finish_operator();
  [[nodiscard]] TracedMessage annotated_message() const;
  void finish_counters(std::size_t kernel);
  void plain_number(double value);
  void argument_number(double value);
  [[nodiscard]] bool in_event() const { return event_depth_ != 0 && stack_.size() >= event_depth_; }
  /// True inside args of an event, `below` lists deeper than its own level.
  [[nodiscard]] bool in_args(std::size_t below) const {
    return in_event() && stack_.size() == event_depth_ + 1 + below &&
           stack_[event_depth_ - 1].key == "args";
  }
  [[nodiscard]] bool in_device() const {
    return stack_.size() == 3 && stack_[0].key == "deviceProperties" && !stack_[2].array;
  }
  void finish_device();

  ProfileBuilder& builder_;
  TimedLaunches launches_;
  OperatorLinks links_;
  std::vector<Frame> stack_;
  std::size_t event_depth_ = 0;  ///< stack size inside the current event object
  Argument argument_ = Argument::Other;
  TraceEvent event_;
  std::string major_, minor_;
  bool first_device_ = true;
  std::vector<HostCall> calls_;
};

void TraceHandler::key(const std::string& text) {
  stack_.back().key = text;
  if (in_args(0)) argument_ = argument_named(text);
}

void TraceHandler::open(bool array) {
  stack_.push_back({array, {}});
  if (array && argument_ == Argument::Shapes) {
    if (in_args(2) && event_.shapes.size() < kMostInputs) event_.shapes.emplace_back();
    if (in_args(3) && !event_.shapes.empty() && event_.shapes.back().size() < kMostTensors) {
      event_.shapes.back().emplace_back();
    }
  }
  if (event_depth_ != 0 || array) return;
  const bool listed = stack_.size() == 2 && stack_[0].array;
  const bool member = stack_.size() == 3 && stack_[1].array && stack_[0].key == "traceEvents";
  if (listed || member) {
    event_depth_ = stack_.size();
    argument_ = Argument::Other;
    event_.clear();
  }
}

void TraceHandler::finish_device() {
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

void TraceHandler::close() {
  if (event_depth_ != 0 && stack_.size() == event_depth_) {
    finish_event();
    event_depth_ = 0;
  }
  if (in_device()) finish_device();
  stack_.pop_back();
}

void TraceHandler::string(const std::string& value) {
  if (in_event() && stack_.size() == event_depth_) {
    const std::string& key = stack_.back().key;
    if (key == "cat") event_.kind = kind_of(value);
    if (key == "name") event_.name = value;
    if (key == "pid") event_.thread.first = thread_number(value);
    if (key == "tid") event_.thread.second = thread_number(value);
  } else if (in_args(1) && argument_ == Argument::Types) {
    if (event_.types.size() < kMostInputs) event_.types.push_back(value);
  } else if (in_args(1) && argument_ == Argument::Texts) {
    if (event_.texts.size() < kMostInputs) event_.texts.push_back(value);
  } else if (in_args(0) &&
             (argument_ == Argument::External || argument_ == Argument::Correlation)) {
    if (const auto id = parse_int(value)) argument_number(static_cast<double>(*id));
  } else if (in_args(0) && argument_ == Argument::Collective) {
    event_.message.name = value;
  } else if (in_args(0) && argument_ == Argument::ElementType) {
    event_.message.type = value;
  } else if (in_device() && first_device_ && stack_.back().key == "name") {
    builder_.profile().device.name = value;
  }
}

void TraceHandler::plain_number(double value) {
  const std::string& key = stack_.back().key;
  if (key == "ts") event_.begin_us = value;
  if (key == "dur") event_.duration_us = value;
  if (key == "pid") event_.thread.first = whole(value).value_or(0);
  if (key == "tid") event_.thread.second = whole(value).value_or(0);
}

void TraceHandler::argument_number(double value) {
  if (argument_ == Argument::External && value >= 0.0) event_.external = whole(value);
  if (argument_ == Argument::Correlation) event_.correlation = whole(value);
  if (argument_ == Argument::Device) event_.device = whole(value);
  if (argument_ == Argument::Sent) event_.message.in = value;
  if (argument_ == Argument::Received) event_.message.out = value;
  if (argument_ == Argument::GroupSize) event_.message.gpus = whole(value).value_or(0);
  if (argument_ != Argument::Other) return;
  // Most arguments ("stream", "queued") are not counters, as their names say.
  const std::string& name = stack_.back().key;
  if (name.find("__") != std::string::npos && is_used_metric(name)) {
    event_.counters.emplace_back(name, value);
  }
}

void TraceHandler::number(double value) {
  if (in_event() && stack_.size() == event_depth_) {
    plain_number(value);
  } else if (in_args(0)) {
    argument_number(value);
  } else if (in_args(1) && stack_.back().array) {
    if (argument_ == Argument::Grid && event_.grid.size() < 3) event_.grid.push_back(value);
    if (argument_ == Argument::Block && event_.block.size() < 3) event_.block.push_back(value);
  } else if (argument_ == Argument::Shapes && (in_args(2) || in_args(3))) {
    if (event_.shapes.empty()) return;
    auto& tensors = event_.shapes.back();
    if (tensors.empty()) tensors.emplace_back();
    if (tensors.back().size() < kMostDims) tensors.back().push_back(whole(value).value_or(0));
  } else if (stack_.size() == 2 && stack_[0].key == "distributedInfo" &&
             stack_[1].key == "world_size") {
    links_.set_world(whole(value).value_or(0));
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
    if (!(values[i] >= 0.0 && values[i] < kMostWhole)) return std::nullopt;
    dims[i] = static_cast<std::int64_t>(values[i]);
  }
  return dims;
}

void TraceHandler::finish_counters(std::size_t kernel) {
  for (const auto& [metric, value] : event_.counters) {
    builder_.profile().counters += 1;
    if (problem.empty() && value < 0.0) {
      problem = fmt::format("{} of the kernel {} is {}: it cannot be negative", metric,
                            printable(event_.name), value);
    }
    builder_.add(kernel, metric, value, 1.0);
  }
}

void TraceHandler::finish_kernel() {
  kernels += 1;
  const std::size_t kernel = builder_.kernel(event_.name);
  if (event_.duration_us && *event_.duration_us < 0.0 && problem.empty()) {
    problem = fmt::format("\"dur\" of the kernel {} is {} us: a time cannot be negative",
                          printable(event_.name), *event_.duration_us);
  }
  const bool placed = event_.span().has_value();
  if (!placed && event_.duration_us) event_.begin_us = 0.0;
  const auto span = event_.span();
  if (!span) {  // no duration: a launch of unknown time
    builder_.series(kernel).rows += 1;
    builder_.add_launch(kernel, {.grid = to_dim3(event_.grid), .block = to_dim3(event_.block)});
    finish_counters(kernel);
    return;
  }
  TimedLaunch launch{.kernel = kernel, .begin = span->begin, .end = span->end};
  launch.seconds = *event_.duration_us * 1e-6;
  launch.placed = placed;
  launch.device = event_.device.value_or(0);
  launch.grid = to_dim3(event_.grid);
  launch.block = to_dim3(event_.block);
  launch.correlation = event_.correlation.value_or(-1);
  launch.external = event_.external;
  if (!event_.message.name.empty()) {
    launch.stated =
        links_.stated({.name = event_.message.name, .inputs = {}, .message = event_.message});
  }
  launches_.add(std::move(launch));
  finish_counters(kernel);
}

/// "nccl:all_reduce" with the shapes of what is sent.
TracedMessage TraceHandler::annotated_message() const {
  TracedMessage message{.name = event_.name, .type = {}};
  if (!event_.types.empty()) message.type = event_.types.front();
  for (const auto& input : event_.shapes) {
    for (const auto& dims : input) {
      double elements = dims.empty() ? 0.0 : 1.0;
      for (const std::int64_t size : dims) elements *= static_cast<double>(size);
      message.in += elements;
    }
  }
  return message;
}

void TraceHandler::finish_operator() {
  const auto span = event_.span();
  TracedOperator traced{.name = event_.name, .inputs = {}};
  if (event_.kind == EventKind::Annotation) {
    if (!span) return;
    launches_.annotate(event_.thread, *span, event_.name);
    if (event_.name.starts_with("nccl:")) traced.message = annotated_message();
  } else {
    if (!event_.message.name.empty()) traced.message = event_.message;
    traced.inputs.resize(
        std::max({event_.shapes.size(), event_.types.size(), event_.texts.size()}));
    for (std::size_t i = 0; i < traced.inputs.size(); ++i) {
      if (i < event_.shapes.size()) traced.inputs[i].shapes = event_.shapes[i];
      if (i < event_.types.size()) traced.inputs[i].type = event_.types[i];
      if (i < event_.texts.size()) traced.inputs[i].text = event_.texts[i];
    }
  }
  links_.add(event_.thread, span, std::move(traced), event_.external);
}

void TraceHandler::finish_event() {
  constexpr std::size_t kMostCalls = std::size_t{1} << 23;
  switch (event_.kind) {
    case EventKind::Kernel: finish_kernel(); break;
    case EventKind::Range: {
      ranges += 1;
      const std::size_t kernel = builder_.kernel(event_.name);
      builder_.series(kernel).rows += 1;
      builder_.add_launch(kernel, {.grid = to_dim3(event_.grid), .block = to_dim3(event_.block)});
      finish_counters(kernel);
      break;
    }
    case EventKind::Copy: {
      if (!event_.begin_us) event_.begin_us = 0.0;
      const auto span = event_.span();
      const Span nothing;
      const Span& one = span ? *span : nothing;
      launches_.copy(one.begin, one.end, event_.device.value_or(0));
      break;
    }
    case EventKind::Operator:
    case EventKind::Annotation: finish_operator(); break;
    case EventKind::Call:
      if (const auto span = event_.span();
          span && event_.correlation && calls_.size() < kMostCalls) {
        calls_.push_back({*event_.correlation, event_.thread, span->begin});
      }
      break;
    case EventKind::Other: break;
  }
}

void TraceHandler::finish() {
  launches_.tell_ranks_apart(calls_);
  for (const HostCall& call : calls_) launches_.call(call.correlation, call.thread, call.moment);
  links_.link(launches_.launches(), builder_.profile());
  launches_.finish();
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
  handler.finish();
  return builder.finish(false);
}

}  // namespace rooftile::profile
