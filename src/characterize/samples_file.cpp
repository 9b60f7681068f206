// SPDX-License-Identifier: Apache-2.0
#include "characterize/samples_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/csv.h"
#include "core/text.h"

namespace rooftile::characterize {

namespace {

constexpr std::string_view kMagic = "rooftile-samples";
constexpr std::string_view kVersion = "1";

// The rates at the end are derived; they are there for people and plots and are not read back.
constexpr std::array<std::string_view, 23> kColumns{"pattern",
                                                    "dtype",
                                                    "pipe",
                                                    "working_set_bytes",
                                                    "flops_per_element",
                                                    "pass_bytes",
                                                    "pass_flops",
                                                    "pass_steps",
                                                    "passes",
                                                    "repetitions",
                                                    "fast_s",
                                                    "low_s",
                                                    "high_s",
                                                    "confidence",
                                                    "minimum_s",
                                                    "median_s",
                                                    "maximum_s",
                                                    "spread",
                                                    "converged",
                                                    "bytes_per_s",
                                                    "flop_per_s",
                                                    "flop_per_byte",
                                                    "s_per_step"};

std::string row(const Sample& s) {
  const TimeSummary& t = s.time;
  const auto ratio = [](double a, double b) { return b > 0 ? fmt::format("{}", a / b) : ""; };
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                     name_of(s.what.pattern), name_of(s.what.dtype),
                     s.what.pipe == hardware::Pipe::Tensor ? "tensor" : "vector",
                     s.what.working_set.base(), s.what.flops_per_element, s.work.bytes.base(),
                     s.work.flops.base(), s.work.steps, s.passes, t.repetitions, t.fast.base(),
                     t.low.base(), t.high.base(), t.confidence, t.minimum.base(), t.median.base(),
                     t.maximum.base(), t.spread_fraction, s.converged ? 1 : 0, bandwidth(s).base(),
                     flop_rate(s).base(), ratio(s.work.flops.base(), s.work.bytes.base()),
                     ratio(t.fast.base(), static_cast<double>(s.work.steps)));
}

/// Reads the fields of one record in order; the first error sticks.
class RecordReader {
 public:
  explicit RecordReader(const CsvReader& csv) : csv_(csv) {}

  double number(double low, double high) {
    const std::size_t column = next_++;
    if (error_) return low;
    const Result<double> value = csv_.number(column);
    if (!value) return fail(value.error()), low;
    if (!(*value >= low && *value <= high)) {
      return fail({.code = ErrorCode::BadInput,
                   .where = csv_.where(column),
                   .message = fmt::format("{} is not in [{}, {}]", *value, low, high),
                   .hint = {}}),
             low;
    }
    return *value;
  }
  Seconds time() { return Seconds::from_base(number(1e-15, 1e9)); }
  std::int64_t count() { return static_cast<std::int64_t>(number(0, 9e15)); }
  std::string_view text() { return csv_[next_++]; }
  [[nodiscard]] std::string last_where() const { return csv_.where(next_ - 1); }
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const CsvReader& csv_;
  std::size_t next_ = 0;
  std::optional<Error> error_;
};

void read_case(RecordReader& in, Case& what) {
  const auto located = [&in](Error error) {
    error.where = in.last_where();
    in.fail(std::move(error));
  };
  if (const auto pattern = parse_pattern(in.text())) {
    what.pattern = *pattern;
  } else {
    located(pattern.error());
  }
  if (const auto dtype = parse_dtype(in.text())) {
    what.dtype = *dtype;
  } else {
    located(dtype.error());
  }
  const std::string_view pipe = in.text();
  if (pipe != "vector" && pipe != "tensor") {
    located({.code = ErrorCode::BadInput,
             .where = {},
             .message = "unknown pipe \"" + printable(pipe) + "\"",
             .hint = "one of vector, tensor"});
  }
  what.pipe = pipe == "tensor" ? hardware::Pipe::Tensor : hardware::Pipe::Vector;
  what.working_set = Bytes::from_base(in.number(0, 1e18));
  what.flops_per_element = in.count();
}

Result<Sample> read_sample(const CsvReader& csv) {
  RecordReader in(csv);
  Sample s;
  read_case(in, s.what);
  s.work.bytes = Bytes::from_base(in.number(0, 1e18));
  s.work.flops = Flops::from_base(in.number(0, 1e24));
  s.work.steps = in.count();
  s.passes = in.count();
  s.time.repetitions = in.count();
  s.time.fast = in.time();
  s.time.low = in.time();
  s.time.high = in.time();
  s.time.confidence = in.number(0, 1);
  s.time.minimum = in.time();
  s.time.median = in.time();
  s.time.maximum = in.time();
  s.time.spread_fraction = in.number(0, 1e12);
  s.converged = in.number(0, 1) != 0.0;
  if (in.error()) return tl::unexpected(*in.error());
  return s;
}

}  // namespace

std::string write_samples(const SamplesFile& file) {
  std::string out =
      fmt::format("{},{},{}\n{}\n", kMagic, kVersion, file.fingerprint, fmt::join(kColumns, ","));
  for (const Sample& sample : file.samples) out += row(sample);
  return out;
}

Result<SamplesFile> read_samples(std::string_view text, const std::string& name) {
  CsvReader csv = CsvReader::from_text(text, name, {});
  ROOFTILE_TRY(const bool has_magic, csv.next());
  if (!has_magic || csv.fields().size() != 3 || csv[0] != kMagic) {
    return bad_input(name, "not a samples file",
                     fmt::format("it begins with \"{},{},...\"", kMagic, kVersion));
  }
  if (csv[1] != kVersion) {
    return unsupported(name, "samples format " + printable(csv[1]) + " is not known",
                       fmt::format("this version reads format {}", kVersion));
  }
  SamplesFile file{.fingerprint = std::string(csv[2]), .samples = {}};
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  if (header.size() != kColumns.size() ||
      !std::equal(kColumns.begin(), kColumns.end(), header.names().begin())) {
    return bad_input(csv.where(), "the columns are not those of a samples file",
                     fmt::format("expected {}", fmt::join(kColumns, ",")));
  }
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) return file;
    ROOFTILE_CHECK(header.check_width(csv));
    ROOFTILE_TRY(const Sample sample, read_sample(csv));
    file.samples.push_back(sample);
  }
}

}  // namespace rooftile::characterize
