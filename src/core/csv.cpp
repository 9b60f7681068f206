// SPDX-License-Identifier: Apache-2.0
#include "core/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/number_of.h"
#include "core/text.h"

namespace rooftile {

namespace {

constexpr std::size_t kFirstChunk = 1 << 14;  // most files and all heads are short
constexpr std::size_t kChunk = 1 << 20;
constexpr std::string_view kBom = "\xEF\xBB\xBF";

#if defined(__SSE2__)
constexpr std::ptrdiff_t kBlock = 64;

/// One bit per byte of the 64 at `p`: set for `delimiter`, '\n' and '"'.
std::uint64_t special_bits(const char* p, char delimiter) {
  const __m128i d = _mm_set1_epi8(delimiter);
  const __m128i n = _mm_set1_epi8('\n');
  const __m128i q = _mm_set1_epi8('"');
  std::uint64_t bits = 0;
  for (std::ptrdiff_t part = 0; part < 4; ++part) {
    // The intrinsic wants a pointer to its own vector type; the load itself is unaligned.
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * part));
    const __m128i hit = _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(bytes, d), _mm_cmpeq_epi8(bytes, n)), _mm_cmpeq_epi8(bytes, q));
    bits |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(hit)))
            << (16 * part);
  }
  return bits;
}
#endif

const char* find_end_of_field(const char* p, const char* end, char delimiter) {
  while (p != end && *p != delimiter && *p != '\n') ++p;
  return p;
}

}  // namespace

Result<CsvReader> CsvReader::open(const std::string& path, const CsvOptions& options) {
  ROOFTILE_TRY(InputFile file, InputFile::open(path));
  CsvReader reader(path == "-" ? "<stdin>" : path, options);
  reader.input_ = std::move(file);
  return reader;
}

CsvReader CsvReader::from_text(std::string_view text, std::string name, const CsvOptions& options) {
  CsvReader reader(std::move(name), options);
  reader.buffer_.assign(text.begin(), text.end());
  reader.size_ = text.size();
  reader.at_end_ = true;
  return reader;
}

Result<bool> CsvReader::next() {
  while (true) {
    if (!started_ && (size_ >= kBom.size() || at_end_)) {
      started_ = true;
      if (std::string_view(buffer_.data(), size_).starts_with(kBom)) position_ = kBom.size();
    }
    if (started_ && position_ == size_ && at_end_) return false;
    const Scan scan = started_ ? scan_record() : Scan::NeedMore;
    if (scan == Scan::NeedMore) {
      ROOFTILE_CHECK(refill());
      continue;
    }
    record_line_ = next_line_;
    if (scan == Scan::TooManyFields) {
      return bad_input(where(),
                       fmt::format("a record has more than {} fields", options_.max_fields),
                       "is this a CSV file with the right delimiter?");
    }
    next_line_ += lines_in_record_;
    position_ = record_end_;
    if (!(record_is_blank_ && options_.skip_blank_lines)) return true;
  }
}

CsvReader::Scan CsvReader::scan_record() {
  Scan scan = scan_plain_record();
  if (scan == Scan::HasQuote) {
    scan = scan_quoted_record();
    if (scan == Scan::Complete) unescape_fields();
  }
  return scan;
}

/// Ends the record at `p` (its '\n' or the end of the data), with the field that began at `field`.
void CsvReader::end_plain_record(const char* field, const char* p) {
  lines_in_record_ = 1;
  record_end_ =
      static_cast<std::size_t>(p - buffer_.data()) + (p == buffer_.data() + size_ ? 0 : 1);
  const bool carriage_return = p != field && p[-1] == '\r';
  fields_.emplace_back(field, static_cast<std::size_t>(p - field) - (carriage_return ? 1 : 0));
  record_is_blank_ = fields_.size() == 1 && fields_[0].empty();
}

/// A record without any quote, as nearly all are, in one pass; gives up at the first quote.
CsvReader::Scan CsvReader::scan_plain_record() {
  fields_.clear();
  const char* const end = buffer_.data() + size_;
  const char* field = buffer_.data() + position_;
  const char* p = field;
#if defined(__SSE2__)
  for (; end - p >= kBlock; p += kBlock) {
    for (std::uint64_t bits = special_bits(p, options_.delimiter); bits != 0; bits &= bits - 1) {
      const char* const at = p + std::countr_zero(bits);
      if (*at == '"') return Scan::HasQuote;
      if (*at == '\n') return end_plain_record(field, at), Scan::Complete;
      fields_.emplace_back(field, static_cast<std::size_t>(at - field));
      field = at + 1;
    }
    if (fields_.size() >= options_.max_fields) return Scan::TooManyFields;
  }
#endif
  for (; p != end; ++p) {
    if (*p == '"') return Scan::HasQuote;
    if (*p == '\n') return end_plain_record(field, p), Scan::Complete;
    if (*p != options_.delimiter) continue;
    if (fields_.size() >= options_.max_fields) return Scan::TooManyFields;
    fields_.emplace_back(field, static_cast<std::size_t>(p - field));
    field = p + 1;
  }
  if (!at_end_) return Scan::NeedMore;
  end_plain_record(field, end);
  return Scan::Complete;
}

/// Finds the field boundaries of the record at position_. Nothing is changed in the buffer, so the
/// scan can simply be repeated after more data has been read.
CsvReader::Scan CsvReader::scan_quoted_record() {
  raw_.clear();
  lines_in_record_ = 0;
  const char* const base = buffer_.data();
  const char* const end = base + size_;
  const char* p = base + position_;
  while (true) {
    RawField field{.begin = static_cast<std::size_t>(p - base), .end = 0, .has_escapes = false};
    if (p != end && *p == '"') {  // quoted: up to the closing quote; "" is a literal quote
      field.begin += 1;
      ++p;
      while (true) {
        const char* quote =
            static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end - p)));
        if (quote == nullptr || (quote + 1 == end && !at_end_)) return Scan::NeedMore;
        lines_in_record_ += std::count(p, quote, '\n');
        if (quote + 1 != end && quote[1] == '"') {
          field.has_escapes = true;
          p = quote + 2;
          continue;
        }
        field.end = static_cast<std::size_t>(quote - base);
        p = quote + 1;
        break;
      }
      // Text after a closing quote is not RFC 4180; keep what is there up to the delimiter.
      const char* rest = p;
      p = find_end_of_field(p, end, options_.delimiter);
      if (p != rest && !(p - rest == 1 && *rest == '\r'))
        field.end = static_cast<std::size_t>(p - base);
    } else {  // a stray quote is data
      p = find_end_of_field(p, end, options_.delimiter);
      field.end = static_cast<std::size_t>(p - base);
    }
    if (p == end && !at_end_) return Scan::NeedMore;
    const bool last = p == end || *p == '\n';
    if (last && field.end > field.begin && field.end == static_cast<std::size_t>(p - base) &&
        base[field.end - 1] == '\r') {
      field.end -= 1;
    }
    if (raw_.size() >= options_.max_fields) return Scan::TooManyFields;
    raw_.push_back(field);
    if (last) {
      lines_in_record_ += 1;
      record_is_blank_ = false;
      record_end_ = static_cast<std::size_t>(p - base) + (p == end ? 0 : 1);
      return Scan::Complete;
    }
    ++p;
  }
}

void CsvReader::unescape_fields() {
  fields_.clear();
  for (const RawField& field : raw_) {
    char* first = buffer_.data() + field.begin;
    std::size_t length = field.end - field.begin;
    if (field.has_escapes) {  // collapse "" to " in place; nobody rescans a complete record
      char* out = first;
      for (std::size_t i = 0; i < length; ++i) {
        *out++ = first[i];
        if (first[i] == '"' && i + 1 < length && first[i + 1] == '"') ++i;
      }
      length = static_cast<std::size_t>(out - first);
    }
    fields_.emplace_back(first, length);
  }
}

/// Moves the unfinished record to the front and reads more, or notes that the input has ended.
Status CsvReader::refill() {
  if (at_end_ || !input_) {
    // Only an unterminated quote asks for more at the end of the data.
    return bad_input(fmt::format("{}:{}", name_, next_line_), "a quoted field is never closed",
                     "add the missing \" or remove the opening one");
  }
  const std::size_t kept = size_ - position_;
  if (kept > options_.max_record_bytes) {
    return bad_input(fmt::format("{}:{}", name_, next_line_),
                     fmt::format("a record is longer than {} bytes", options_.max_record_bytes),
                     "look for a quote that is never closed");
  }
  if (position_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + position_, kept);
    consumed_before_buffer_ += static_cast<std::int64_t>(position_);
    position_ = 0;
    size_ = kept;
  }
  const std::size_t chunk = buffer_.empty() ? kFirstChunk : kChunk;
  if (buffer_.size() < kept + chunk) buffer_.resize(std::max(kept + chunk, 2 * kept));
  ROOFTILE_TRY(const std::size_t got, input_->read(buffer_.data() + size_, buffer_.size() - size_));
  size_ += got;
  at_end_ = got == 0;
  return {};
}

std::string CsvReader::where() const {
  return fmt::format("{}:{}", name_, record_line_);
}
std::string CsvReader::where(std::size_t column) const {
  return fmt::format("{}:{}:{}", name_, record_line_, column + 1);
}

Result<double> CsvReader::number(std::size_t column) const {
  if (column >= fields_.size()) {
    return bad_input(where(),
                     fmt::format("the row ends after {}", number_of(fields_.size(), "field")));
  }
  if (const auto value = parse_double(trim(fields_[column]))) return *value;
  return bad_input(where(column),
                   fmt::format("\"{}\" is not a number", printable(fields_[column])));
}

Result<std::int64_t> CsvReader::integer(std::size_t column) const {
  ROOFTILE_TRY(const double value, number(column));
  if (value != static_cast<double>(static_cast<std::int64_t>(std::clamp(value, -9e15, 9e15)))) {
    return bad_input(where(column),
                     fmt::format("\"{}\" is not a whole number", printable(fields_[column])));
  }
  return static_cast<std::int64_t>(value);
}

Result<CsvHeader> CsvHeader::read(CsvReader& csv) {
  ROOFTILE_TRY(const bool more, csv.next());
  if (!more) return bad_input(csv.name(), "the file is empty", "expected a line with column names");
  CsvHeader header;
  header.where_ = csv.where();
  for (const std::string_view field : csv.fields()) {
    const std::string_view name = trim(field);
    if (!name.empty() && header.find(name)) {
      return bad_input(header.where_,
                       fmt::format("the column \"{}\" appears twice", printable(name)));
    }
    header.names_.emplace_back(name);
  }
  return header;
}

std::optional<std::size_t> CsvHeader::find(std::string_view name) const {
  const auto it = std::find(names_.begin(), names_.end(), name);
  if (it == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(it - names_.begin());
}

Result<std::size_t> CsvHeader::column(std::string_view name) const {
  if (const auto index = find(name)) return *index;
  const std::vector<std::string_view> names(names_.begin(), names_.end());
  return bad_input(where_, fmt::format("there is no column \"{}\"", name),
                   did_you_mean(name, names, "columns are"));
}

Status CsvHeader::check_width(const CsvReader& csv) const {
  if (csv.fields().size() == names_.size()) return {};
  return bad_input(csv.where(),
                   fmt::format("the row has {}, the header has {}",
                               number_of(csv.fields().size(), "field"), names_.size()));
}

}  // namespace rooftile
