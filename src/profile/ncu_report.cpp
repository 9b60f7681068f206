// SPDX-License-Identifier: Apache-2.0
//
// .ncu-rep, the report that Nsight Compute writes by default, read from its bytes (there is no
// public schema; docs/format/profiles.md says what was observed and on how much that rests):
//   file   := "NVR\0"  msg(header)  block*
//   msg    := u32 little-endian length, then that many bytes of protocol buffers
//   block  := msg(block header)  msg(code)*  msg(result)*  msg(range result)*
// A block header counts its messages and says how many bytes follow, which is what the reader goes
// by where the two disagree. Results are launches; their metrics name an entry of a table of
// strings and stand in base units. A metric without a value, or with NaN, was not measured.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/text.h"
#include "profile/dimension.h"
#include "profile/importer.h"
#include "profile/wire.h"

namespace rooftile::profile {

namespace {

constexpr std::string_view kMagic{"NVR\0", 4};
constexpr std::uint64_t kKnownVersion = 7;        ///< of all 133 reports that were looked at
constexpr std::size_t kMostMessage = 256U << 20;  ///< of a result or a header
constexpr std::size_t kMostNames = std::size_t{1} << 20;  ///< metrics of a report
constexpr std::size_t kMostBlocks = std::size_t{1} << 20;

/// The messages of the file, one after the other.
class MessageSource {
 public:
  explicit MessageSource(TextSource& source) : source_(source) {}

  Result<std::uint32_t> length() {
    std::array<char, 4> word{};
    ROOFTILE_TRY(const std::size_t got, fill(word.data(), word.size()));
    if (got < word.size()) return cut();
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < word.size(); ++i) {
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(word[i])) << (8 * i);
    }
    return value;
  }

  /// The next message, whole. Memory grows with what is there, not with what the length says.
  Result<std::string_view> message() {
    ROOFTILE_TRY(const std::uint32_t size, length());
    if (size > kMostMessage) {
      return bad_input(source_.name(),
                       fmt::format("a message of {} bytes is longer than any report has", size),
                       "the report is damaged; profile again");
    }
    constexpr std::size_t kStep = std::size_t{1} << 20;
    buffer_.clear();
    while (buffer_.size() < size) {
      const std::size_t before = buffer_.size();
      const std::size_t step = std::min<std::size_t>(kStep, size - before);
      buffer_.resize(before + step);
      ROOFTILE_TRY(const std::size_t got, fill(buffer_.data() + before, step));
      if (got < step) return cut();
    }
    return std::string_view(buffer_);
  }

  Status skip_message() {
    ROOFTILE_TRY(const std::uint32_t size, length());
    return skip(size);
  }

  Status skip(std::uint64_t bytes) {
    std::array<char, 1 << 14> unread{};
    while (bytes > 0) {
      const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(unread.size(), bytes));
      ROOFTILE_TRY(const std::size_t got, fill(unread.data(), step));
      if (got < step) return cut();
      bytes -= got;
    }
    return {};
  }

  /// Whether the file goes on.
  Result<bool> more() {
    ROOFTILE_TRY(const std::string_view next, source_.peek(1));
    return !next.empty();
  }
  /// Whether a report begins here: the first, or another one that was glued to it.
  Result<bool> at_report() {
    ROOFTILE_TRY(const std::string_view next, source_.peek(kMagic.size()));
    return next == kMagic;
  }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] const std::string& name() const { return source_.name(); }

 private:
  Result<std::size_t> fill(char* data, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      ROOFTILE_TRY(const std::size_t got, source_.read(data + done, size - done));
      if (got == 0) break;
      done += got;
    }
    position_ += done;
    return done;
  }
  [[nodiscard]] tl::unexpected<Error> cut() const {
    return bad_input(source_.name(),
                     fmt::format("the report ends after {} bytes, in the middle of "
                                 "a message",
                                 position_),
                     "copy the file again, or profile again");
  }

  TextSource& source_;
  std::string buffer_;
  std::uint64_t position_ = 0;
};

struct BlockHeader {
  std::uint64_t codes = 0, results = 0, ranges = 0;
  std::optional<std::uint64_t> bytes;  ///< of all that follows in the block
};

/// A name of the table: what its values are used for.
struct MetricName {
  std::string text;
  bool used = false;
  bool time = false;         ///< in nanoseconds
  bool seen = false;         ///< in some result
  std::int64_t launch = -1;  ///< the last one that had it: a metric can come twice
};

class NcuReport {
 public:
  explicit NcuReport(TextSource& source) : messages_(source), builder_("ncu-rep", source.name()) {}
  Result<RawProfile> run();

 private:
  Status file_header();
  Status block();
  Result<BlockHeader> block_header(std::string_view message);
  Status add_names(std::string_view table);
  void session(std::string_view record);
  void device(std::string_view record);
  Status result(std::string_view message);
  std::uint32_t range_of(std::string_view state);
  Status metric(std::size_t kernel, std::string_view message);
  void count(MetricName& name);
  void pad(std::size_t kernel, const std::string& metric, std::int64_t launches);
  void device_attribute(std::string_view name, std::string_view value);
  [[nodiscard]] tl::unexpected<Error> damaged() const {
    return bad_input(
        messages_.name(),
        fmt::format("the message that ends at byte {} is damaged", messages_.position()),
        "copy the file again, or profile again");
  }

  MessageSource messages_;
  ProfileBuilder builder_;
  std::vector<MetricName> names_;
  std::string major_, minor_;
  std::int64_t launches_ = 0, lost_bytes_ = 0;
};

/// A message of three numbered whole numbers.
std::optional<Dim3> dim3_of(std::string_view message) {
  Dim3 dims{1, 1, 1};
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
    if (field.number > 3 || field.type != WireType::Varint || field.value > kMost) continue;
    dims[field.number - 1] = static_cast<std::int64_t>(field.value);
  }
  if (reader.damaged()) return std::nullopt;
  return dims;
}

Status NcuReport::add_names(std::string_view table) {
  WireReader reader(table);
  for (WireField field; reader.next(field);) {
    if (field.number != 1 || field.type != WireType::Bytes) continue;
    if (names_.size() == kMostNames) {
      return bad_input(messages_.name(), fmt::format("more than {} names of metrics", kMostNames));
    }
    MetricName& name = names_.emplace_back();
    name.text = field.bytes;
    name.used = is_used_metric(name.text);
    name.time = name.used && dimension_of(name.text) == Dimension::Time;
  }
  if (reader.damaged()) return damaged();
  return {};
}

void NcuReport::device_attribute(std::string_view name, std::string_view value) {
  DeviceFacts& facts = builder_.profile().device;
  if (name == "device__attribute_display_name") {
    if (facts.name.empty()) facts.name = value;
  } else if (name == "device__attribute_compute_capability_major") {
    major_ = value;
  } else if (name == "device__attribute_compute_capability_minor") {
    minor_ = value;
  } else if (name == "device__attribute_multiprocessor_count") {
    facts.sm_count = parse_int(value);
  }
}

/// A value as text: 1 text, 3 double, 5 unsigned; 2 and 4 were never seen.
std::string value_text(std::string_view message) {
  WireReader reader(message);
  std::string text;
  for (WireField field; reader.next(field);) {
    text = field.type == WireType::Bytes    ? std::string(field.bytes)
           : field.type == WireType::Varint ? fmt::format("{}", field.value)
                                            : fmt::format("{}", field.number_value());
  }
  return text;
}

void NcuReport::device(std::string_view record) {
  DeviceFacts& facts = builder_.profile().device;
  if (!facts.name.empty()) return;  // the first device stands for all
  WireReader reader(record);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::Bytes) continue;
    if (field.number == 2) facts.name = field.bytes;
    if (field.number != 3) continue;
    std::string_view name, value;
    WireReader attribute(field.bytes);
    for (WireField part; attribute.next(part);) {
      if (part.number == 1) name = part.bytes;
      if (part.number == 2) value = part.bytes;
    }
    device_attribute(name, value_text(value));
  }
}

void NcuReport::session(std::string_view record) {
  constexpr std::uint32_t kDevice = 6;
  WireReader reader(record);
  for (WireField field; reader.next(field);) {
    if (field.number == kDevice && field.type == WireType::Bytes) device(field.bytes);
  }
}

Result<BlockHeader> NcuReport::block_header(std::string_view message) {
  constexpr std::uint32_t kSession = 3, kNames = 4;
  BlockHeader header;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type == WireType::Varint) {
      if (field.number == 1) header.codes = field.value;
      if (field.number == 2) header.results = field.value;
      if (field.number == 5) header.bytes = field.value;
      if (field.number == 7) header.ranges = field.value;
    } else if (field.type == WireType::Bytes) {
      if (field.number == kSession) session(field.bytes);
      if (field.number == kNames) ROOFTILE_CHECK(add_names(field.bytes));
    }
  }
  if (reader.damaged()) return damaged();
  return header;
}

void NcuReport::count(MetricName& name) {
  if (std::exchange(name.seen, true)) return;
  RawProfile& profile = builder_.profile();
  if (name.text.ends_with(".sum")) profile.counters += 1;
  if (!name.used) profile.ignored_metrics += 1;
}

/// Of the first `launches` those that lack the metric have a gap, so that values stay with launches.
void NcuReport::pad(std::size_t kernel, const std::string& metric, std::int64_t launches) {
  const Column* column = builder_.series(kernel).find(metric);
  auto known = static_cast<std::int64_t>(column == nullptr ? 0 : column->values.size());
  known += column == nullptr ? 0 : column->missing;
  for (; known < launches; ++known) builder_.add_missing(kernel, metric, 1);
}

Status NcuReport::metric(std::size_t kernel, std::string_view message) {
  std::optional<std::uint64_t> index;
  std::string_view value;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == WireType::Varint) index = field.value;
    if (field.number == 2 && field.type == WireType::Bytes) value = field.bytes;
  }
  if (reader.damaged()) return damaged();
  if (!index) return {};
  if (*index >= names_.size()) return damaged();
  MetricName& name = names_[*index];
  count(name);
  if (!name.used) {
    if (name.text.starts_with("device__attribute_")) {
      device_attribute(name.text, value_text(value));
    }
    return {};
  }
  if (std::exchange(name.launch, launches_) == launches_) return {};
  pad(kernel, name.text, builder_.series(kernel).rows - 1);
  std::optional<double> number;
  WireReader parts(value);
  for (WireField field; parts.next(field);) {
    if (field.type != WireType::Bytes) number = field.number_value();
  }
  if (!number || !std::isfinite(*number)) {
    builder_.add_missing(kernel, name.text, 1);
    return {};
  }
  if (*number < 0.0) {
    return bad_input(messages_.name(),
                     fmt::format("{} is {}: it cannot be negative", printable(name.text), *number),
                     "the report is damaged; profile again");
  }
  builder_.add(kernel, name.text, *number * (name.time ? 1e-9 : 1.0), 1.0);
  return {};
}

/// The texts below the threads of an NVTX state: ranges that are open there, outermost first.
/// Domains, whose names are ranges of nobody, are its first field. No sample has a range, so what
/// else may stand next to their names is not known.
void collect_texts(std::string_view message, int depth, std::vector<std::string>& texts) {
  constexpr int kDeepest = 6;
  constexpr std::size_t kMostTexts = 64, kLongest = 512;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::Bytes || field.bytes.empty() || texts.size() == kMostTexts)
      continue;
    WireReader inner(field.bytes);
    for (WireField skipped; inner.next(skipped);) {
    }
    if (!inner.damaged()) {
      if (depth < kDeepest) collect_texts(field.bytes, depth + 1, texts);
    } else if (field.bytes.size() <= kLongest && printable(field.bytes) == field.bytes) {
      texts.emplace_back(field.bytes);
    }
  }
}

std::uint32_t NcuReport::range_of(std::string_view state) {
  constexpr std::uint32_t kThread = 2;
  std::vector<std::string> nest;
  WireReader reader(state);
  for (WireField field; reader.next(field);) {
    if (field.number == kThread && field.type == WireType::Bytes) {
      collect_texts(field.bytes, 0, nest);
    }
  }
  if (nest.empty()) return 0;
  auto& ranges = builder_.profile().ranges;
  const auto found = std::find(ranges.begin(), ranges.end(), nest);
  if (found != ranges.end()) return static_cast<std::uint32_t>(found - ranges.begin()) + 1;
  constexpr std::size_t kMostRanges = 4096;
  if (ranges.size() == kMostRanges) return 0;
  ranges.push_back(std::move(nest));
  return static_cast<std::uint32_t>(ranges.size());
}

/// One launch. Field 7 is the name as the tool's tables show it; old reports may lack it.
Status NcuReport::result(std::string_view message) {
  constexpr std::uint32_t kMangled = 5, kFunction = 6, kDemangled = 7, kGrid = 10, kBlock = 11,
                          kMetric = 13, kNvtx = 21;
  std::array<std::string_view, 3> names;
  Launch launch;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.type != WireType::Bytes) continue;
    if (field.number >= kMangled && field.number <= kDemangled) {
      names[field.number - kMangled] = field.bytes;
    }
    if (field.number == kGrid) launch.grid = dim3_of(field.bytes);
    if (field.number == kBlock) launch.block = dim3_of(field.bytes);
    if (field.number == kNvtx) launch.range = range_of(field.bytes);
  }
  if (reader.damaged()) return damaged();
  std::string_view name = names[kDemangled - kMangled];
  if (name.empty()) name = names[kFunction - kMangled];
  if (name.empty()) name = names[0];
  if (name.empty()) name = "(unnamed)";
  const std::size_t kernel = builder_.kernel(name);
  builder_.series(kernel).rows += 1;
  builder_.add_launch(kernel, launch);
  WireReader metrics(message);
  for (WireField field; metrics.next(field);) {
    if (field.number == kMetric && field.type == WireType::Bytes) {
      ROOFTILE_CHECK(metric(kernel, field.bytes));
    }
  }
  launches_ += 1;
  return {};
}

Status NcuReport::block() {
  ROOFTILE_TRY(const std::string_view message, messages_.message());
  ROOFTILE_TRY(const BlockHeader header, block_header(message));
  const std::uint64_t begin = messages_.position();
  const auto left = [&] { return !header.bytes || messages_.position() - begin < *header.bytes; };
  for (std::uint64_t i = 0; i < header.codes && left(); ++i) {
    ROOFTILE_CHECK(messages_.skip_message());  // machine code
  }
  for (std::uint64_t i = 0; i < header.results && left(); ++i) {
    ROOFTILE_TRY(const std::string_view one, messages_.message());
    ROOFTILE_CHECK(result(one));
  }
  for (std::uint64_t i = 0; i < header.ranges && left(); ++i) {
    ROOFTILE_CHECK(messages_.skip_message());
  }
  if (header.bytes && messages_.position() - begin < *header.bytes) {
    const std::uint64_t rest = *header.bytes - (messages_.position() - begin);
    lost_bytes_ += static_cast<std::int64_t>(std::min<std::uint64_t>(rest, std::uint64_t{1} << 60));
    ROOFTILE_CHECK(messages_.skip(rest));
  }
  return {};
}

/// Names of metrics are those of one report.
Status NcuReport::file_header() {
  ROOFTILE_CHECK(messages_.skip(kMagic.size()));
  ROOFTILE_TRY(const std::string_view header, messages_.message());
  names_.clear();
  std::optional<std::uint64_t> version;
  WireReader reader(header);
  for (WireField field; reader.next(field);) {
    if (field.number == 1 && field.type == WireType::Varint) version = field.value;
  }
  if (reader.damaged()) return damaged();
  if (version != kKnownVersion) {
    builder_.profile().notes.push_back(fmt::format(
        "the report has format version {}, only {} was ever seen here: check the numbers against "
        "ncu --import {} --csv --page raw",
        version ? fmt::format("{}", *version) : "(none)", kKnownVersion, messages_.name()));
  }
  return {};
}

Result<RawProfile> NcuReport::run() {
  ROOFTILE_CHECK(file_header());
  RawProfile& profile = builder_.profile();
  for (std::size_t blocks = 0;; ++blocks) {
    if (blocks == kMostBlocks) return bad_input(messages_.name(), "the report has too many blocks");
    ROOFTILE_TRY(const bool more, messages_.more());
    if (!more) break;
    ROOFTILE_TRY(const bool another, messages_.at_report());
    if (another) {
      ROOFTILE_CHECK(file_header());
    } else {
      ROOFTILE_CHECK(block());
    }
  }
  if (profile.kernels.empty()) {
    return bad_input(messages_.name(), "there are no kernels in this report",
                     "profile a program that launches some, e.g. ncu --set full -o report ./app");
  }
  for (std::size_t k = 0; k < profile.kernels.size(); ++k) {
    std::vector<std::string> metrics;
    for (const Column& column : profile.kernels[k].columns) metrics.push_back(column.metric);
    for (const std::string& metric : metrics) pad(k, metric, profile.kernels[k].rows);
  }
  if (!profile.ranges.empty()) {
    profile.notes.emplace_back(
        "NVTX ranges of the report are read by their texts, which no report that was seen here "
        "verifies: check the names with ncu --import FILE --nvtx --print-nvtx-rename kernel");
  }
  if (lost_bytes_ > 0) {
    profile.notes.push_back(fmt::format(
        "{} bytes of the report are of an unknown kind and were left out", lost_bytes_));
  }
  if (profile.device.isa.empty() && !major_.empty()) {
    profile.device.isa = fmt::format("{}.{}", major_, minor_.empty() ? "0" : minor_);
  }
  return builder_.finish(false);
}

}  // namespace

bool recognises_ncu_report(std::string_view head) {
  return head.starts_with(kMagic);
}

Result<RawProfile> import_ncu_report(TextSource& source) {
  return NcuReport(source).run();
}

}  // namespace rooftile::profile
