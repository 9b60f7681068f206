// SPDX-License-Identifier: Apache-2.0
#include "profile/text_source.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/utf8.h"

namespace rooftile::profile {

enum class Encoding : std::uint8_t { Utf8, Utf16Le, Utf16Be };

namespace {

constexpr std::size_t kChunk = 1 << 20;
constexpr std::size_t kMaxLine = 64 << 20;  ///< longer lines are not text
/// A file of a few megabytes can unpack to terabytes.
constexpr std::int64_t kMostUnpacked = std::int64_t{16} << 30;

/// UTF-16 without a byte order mark: profiler output starts with ASCII, every other byte is 0.
std::optional<Encoding> wide_without_mark(std::string_view text) {
  constexpr std::size_t kLooked = 8;
  if (text.size() < kLooked) return std::nullopt;
  bool little = true, big = true;
  for (std::size_t i = 0; i < kLooked; ++i) {
    little = little && (text[i] == '\0') == (i % 2 == 1);
    big = big && (text[i] == '\0') == (i % 2 == 0);
  }
  if (little) return Encoding::Utf16Le;
  return big ? std::optional(Encoding::Utf16Be) : std::nullopt;
}

}  // namespace

struct TextSource::State {
  std::string name;
  std::size_t chunk = kChunk;     ///< bytes read at once; less for short texts in memory
  std::optional<InputFile> file;  ///< absent when reading from memory
  std::string memory;
  std::size_t memory_position = 0;

  std::optional<z_stream> inflater;  ///< set when the bytes are gzip
  std::vector<char> packed;          ///< compressed bytes not yet inflated
  std::size_t packed_begin = 0, packed_end = 0;
  bool member_done = false;
  std::int64_t unpacked = 0;

  Encoding encoding = Encoding::Utf8;
  std::vector<char> wide;  ///< UTF-16 bytes not yet decoded

  std::vector<char> buffer;  ///< decoded text
  std::size_t begin = 0, end = 0;
  std::size_t scanned = 0;  ///< bytes after begin known to hold no line end
  bool finished = false;
  std::int64_t line = 0;
  std::int64_t handed_out = 0;
  Progress progress;
  std::int64_t stored_read = 0;  ///< bytes of the file, before they were unpacked

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (inflater) inflateEnd(&*inflater);
  }

  Result<std::size_t> read_stored(char* data, std::size_t size) {
    if (file) {
      ROOFTILE_TRY(const std::size_t got, file->read(data, size));
      stored_read += static_cast<std::int64_t>(got);
      const auto whole = static_cast<double>(file->size());
      if (whole > 0.0) ROOFTILE_CHECK(tell(static_cast<double>(stored_read) / whole));
      return got;
    }
    const std::size_t n = std::min(size, memory.size() - memory_position);
    std::memcpy(data, memory.data() + memory_position, n);
    memory_position += n;
    return n;
  }
  Status tell(double fraction) const {
    if (!progress || progress({.fraction = std::min(fraction, 1.0), .note = "reading"})) return {};
    return bad_input(name, "reading was stopped");
  }
  Result<std::size_t> read_bytes(char* data, std::size_t size);
  Status refill_packed();
  Status start();
  Status fill();
  void decode_wide();
  void make_room();
};

Status TextSource::State::refill_packed() {
  packed_begin = 0;
  ROOFTILE_TRY(packed_end, read_stored(packed.data(), packed.size()));
  return {};
}

/// Bytes after decompression. Concatenated gzip members read as one, as gunzip does.
Result<std::size_t> TextSource::State::read_bytes(char* data, std::size_t size) {
  if (!inflater) {
    if (packed_begin < packed_end) {  // what start() looked at
      const std::size_t n = std::min(size, packed_end - packed_begin);
      std::memcpy(data, packed.data() + packed_begin, n);
      packed_begin += n;
      return n;
    }
    return read_stored(data, size);
  }
  inflater->next_out = reinterpret_cast<Bytef*>(data);
  inflater->avail_out = static_cast<uInt>(size);
  while (inflater->avail_out == size) {
    if (packed_begin == packed_end) {
      ROOFTILE_CHECK(refill_packed());
      if (packed_end == 0) {
        if (member_done) return 0;
        return bad_input(name, "the compressed data ends too early", "copy the file again");
      }
    }
    if (member_done) {
      inflateReset(&*inflater);
      member_done = false;
    }
    inflater->next_in = reinterpret_cast<Bytef*>(packed.data() + packed_begin);
    inflater->avail_in = static_cast<uInt>(packed_end - packed_begin);
    const int code = inflate(&*inflater, Z_NO_FLUSH);
    packed_begin = packed_end - inflater->avail_in;
    if (code == Z_STREAM_END) {
      member_done = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return bad_input(name, "the compressed data is damaged", "copy the file again");
    }
  }
  const std::size_t got = size - inflater->avail_out;
  unpacked += static_cast<std::int64_t>(got);
  if (unpacked > kMostUnpacked) {
    return bad_input(name, fmt::format("unpacks to more than {} bytes", kMostUnpacked),
                     "unpack it and keep the part that is wanted");
  }
  return got;
}

/// Looks at the first bytes: gzip or not, and which encoding.
Status TextSource::State::start() {
  packed.resize(chunk);
  ROOFTILE_CHECK(refill_packed());
  if (packed_end >= 2 && packed[0] == '\x1f' && packed[1] == '\x8b') {
    inflater.emplace();
    if (inflateInit2(&*inflater, 15 + 16) != Z_OK) {
      inflater.reset();
      return bad_input(name, "cannot start to decompress");
    }
  }
  ROOFTILE_CHECK(fill());
  const std::string_view text(buffer.data(), end);
  if (text.starts_with("\xEF\xBB\xBF")) {
    begin = 3;
  } else if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    encoding = text[0] == '\xFF' ? Encoding::Utf16Le : Encoding::Utf16Be;
    wide.assign(buffer.begin() + 2, buffer.begin() + static_cast<std::ptrdiff_t>(end));
    end = 0;
    decode_wide();
  } else if (const auto guess = wide_without_mark(text)) {
    encoding = *guess;
    wide.assign(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(end));
    end = 0;
    decode_wide();
  }
  return {};
}

void TextSource::State::make_room() {
  if (begin > 0 && (begin == end || buffer.size() - end < chunk)) {
    std::memmove(buffer.data(), buffer.data() + begin, end - begin);
    end -= begin;
    begin = 0;
  }
  if (buffer.size() - end < chunk) buffer.resize(std::max(buffer.size() * 2, end + chunk));
}

/// Decodes `wide` into the buffer; an odd byte and a lone high surrogate wait for more.
void TextSource::State::decode_wide() {
  std::string text;
  text.reserve(wide.size());
  std::size_t i = 0;
  const auto unit = [&](std::size_t at) {
    const auto low = static_cast<unsigned char>(wide[at]);
    const auto high = static_cast<unsigned char>(wide[at + 1]);
    return static_cast<std::uint32_t>(encoding == Encoding::Utf16Le ? low | high << 8
                                                                    : high | low << 8);
  };
  for (; i + 1 < wide.size(); i += 2) {
    std::uint32_t code = unit(i);
    if (is_high_surrogate(code)) {
      if (i + 3 >= wide.size()) break;
      if (const std::uint32_t next = unit(i + 2); is_low_surrogate(next)) {
        code = join_surrogates(code, next);
        i += 2;
      }
    }
    append_utf8(code, text);
  }
  wide.erase(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(std::min(i, wide.size())));
  if (buffer.size() < end + text.size()) buffer.resize(end + text.size());
  std::copy(text.begin(), text.end(), buffer.begin() + static_cast<std::ptrdiff_t>(end));
  end += text.size();
}

/// Adds at least one byte to the buffer, or notes the end.
Status TextSource::State::fill() {
  make_room();
  if (encoding == Encoding::Utf8) {
    ROOFTILE_TRY(const std::size_t got, read_bytes(buffer.data() + end, buffer.size() - end));
    end += got;
    finished = got == 0;
    return {};
  }
  const std::size_t before = wide.size();
  wide.resize(before + chunk);
  ROOFTILE_TRY(const std::size_t got, read_bytes(wide.data() + before, chunk));
  wide.resize(before + got);
  finished = got == 0;
  decode_wide();
  return {};
}

TextSource::TextSource(std::unique_ptr<State> state) : state_(std::move(state)) {
}
TextSource::TextSource(TextSource&&) noexcept = default;
TextSource& TextSource::operator=(TextSource&&) noexcept = default;
TextSource::~TextSource() = default;

Result<TextSource> TextSource::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->name = path == "-" ? "<stdin>" : path;
  ROOFTILE_TRY(state->file, InputFile::open(path));
  ROOFTILE_CHECK(state->start());
  return TextSource(std::move(state));
}

Result<TextSource> TextSource::from_text(std::string text, std::string name) {
  auto state = std::make_unique<State>();
  state->name = std::move(name);
  state->memory = std::move(text);
  state->chunk = std::clamp<std::size_t>(state->memory.size(), 256, kChunk);
  ROOFTILE_CHECK(state->start());
  return TextSource(std::move(state));
}

Result<std::string_view> TextSource::peek(std::size_t bytes) {
  State& s = *state_;
  while (s.end - s.begin < bytes && !s.finished) ROOFTILE_CHECK(s.fill());
  return std::string_view(s.buffer.data() + s.begin, std::min(bytes, s.end - s.begin));
}

Result<bool> TextSource::next_line(std::string_view& line) {
  State& s = *state_;
  s.scanned = 0;
  while (true) {
    const char* first = s.buffer.data() + s.begin;
    const std::size_t size = s.end - s.begin;
    const char* hit =
        size == s.scanned
            ? nullptr
            : static_cast<const char*>(std::memchr(first + s.scanned, '\n', size - s.scanned));
    if (hit == nullptr && !s.finished) {
      s.scanned = size;
      if (size > kMaxLine) {
        return bad_input(fmt::format("{}:{}", s.name, s.line + 1),
                         fmt::format("a line is longer than {} bytes", kMaxLine),
                         "this is not a text export");
      }
      ROOFTILE_CHECK(s.fill());
      continue;
    }
    if (hit == nullptr && size == 0) return false;
    std::size_t length = hit == nullptr ? size : static_cast<std::size_t>(hit - first);
    s.begin += length + (hit == nullptr ? 0 : 1);
    s.handed_out += static_cast<std::int64_t>(length) + 1;
    s.line += 1;
    if (length > 0 && first[length - 1] == '\r') length -= 1;
    line = std::string_view(first, length);
    return true;
  }
}

Result<std::size_t> TextSource::read(char* data, std::size_t size) {
  State& s = *state_;
  while (s.begin == s.end && !s.finished) ROOFTILE_CHECK(s.fill());
  const std::size_t n = std::min(size, s.end - s.begin);
  std::memcpy(data, s.buffer.data() + s.begin, n);
  s.begin += n;
  s.handed_out += static_cast<std::int64_t>(n);
  return n;
}

void TextSource::set_progress(Progress progress) {
  state_->progress = std::move(progress);
}
Status TextSource::report(double fraction) {
  return state_->tell(fraction);
}
std::optional<std::string> TextSource::plain_file() const {
  const State& s = *state_;
  // Standard input has a name, but no path.
  if (!s.file || s.file->size() == 0 || s.inflater || s.name == "<stdin>") return std::nullopt;
  return s.name;
}

const std::string& TextSource::name() const {
  return state_->name;
}
std::int64_t TextSource::line() const {
  return state_->line;
}
std::string TextSource::where() const {
  return fmt::format("{}:{}", state_->name, state_->line);
}
std::int64_t TextSource::bytes_read() const {
  return state_->handed_out;
}

}  // namespace rooftile::profile
