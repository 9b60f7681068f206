// SPDX-License-Identifier: Apache-2.0
#include "report/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "core/text.h"
#include "core/utf8.h"

namespace rooftile::report {

namespace {

constexpr std::string_view kBold = "\033[1m", kDim = "\033[2m", kYellow = "\033[33m",
                           kPlain = "\033[0m";

std::string styled(std::string_view style, std::string_view text, bool on) {
  return on ? fmt::format("{}{}{}", style, text, kPlain) : std::string(text);
}

/// Of text without controls: its middle is cut.
std::string cut(std::string_view text, std::size_t width) {
  const std::size_t count = utf8_count(text);
  if (count <= width) return std::string(text);
  if (width <= 2) return std::string(text.substr(0, utf8_offset(text, width)));
  const std::size_t tail = (width - 2) * 2 / 3;  // the end of a name says more than its beginning
  const std::size_t head = width - 2 - tail;
  return std::string(text.substr(0, utf8_offset(text, head))) + ".." +
         std::string(text.substr(utf8_offset(text, count - tail)));
}

}  // namespace

std::string bar(double fraction, int width) {
  const int full = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * width));
  return std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(width - full), ' ');
}

std::string shorten(std::string_view text, std::size_t width) {
  return cut(visible(text), width);
}

std::vector<std::string> pieces(std::string_view text, std::size_t width) {
  constexpr std::string_view kBreaks = " /._-,;:<>()";
  std::vector<std::string> lines;
  width = std::max<std::size_t>(width, 1);
  while (utf8_count(text) > width) {
    const std::size_t room = utf8_offset(text, width);
    // A space may stand behind the last column, other marks end the line. Words stay whole.
    std::size_t end = text.find_last_of(' ', room);
    if (end == std::string_view::npos || end + 1 < room / 3)
      end = text.find_last_of(kBreaks, room - 1);
    if (end == std::string_view::npos || end + 1 < room / 3) end = room - 1;
    std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    while (line.ends_with(' ')) line.remove_suffix(1);
    while (text.starts_with(' ')) text.remove_prefix(1);
    lines.emplace_back(line);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

std::string wrapped(std::string_view foreign, int width, int first, int indent) {
  const std::string clean = visible(foreign);
  std::string_view text = clean;
  const auto limit = static_cast<std::size_t>(std::max(40, width));
  const auto margin = static_cast<std::size_t>(indent);
  std::string out;
  std::string line(static_cast<std::size_t>(first), ' ');
  std::size_t used = line.size();
  bool fresh = true;  // nothing but the margin on the line
  const auto end_line = [&] {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    line.assign(margin, ' ');
    used = margin;
    fresh = true;
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" ,"), text.size() - 1) + 1;
    std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    const std::size_t wide = utf8_count(word) - (word.back() == ' ' ? 1 : 0);
    if (!fresh && used + wide > limit) end_line();
    if (fresh && word == " ") continue;
    if (used + wide <= limit) {
      line += word;
      used += utf8_count(word);
      fresh = false;
      continue;
    }
    const bool spaced = word.ends_with(' ');
    if (spaced) word.remove_suffix(1);
    for (const std::string& piece : pieces(word, limit - std::max(used, margin))) {  // a path
      if (!fresh) end_line();
      line += piece;
      used += utf8_count(piece);
      fresh = false;
    }
    if (spaced && used < limit) {
      line += ' ';
      ++used;
    }
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return fresh ? out : out + line + "\n";
}

std::string labelled(std::string_view label, std::string_view text, int width, bool color) {
  std::string lines = wrapped(fmt::format("{}: {}", label, text), width, 0, 2);
  lines.pop_back();  // the last line end is not coloured
  return yellow(lines, color) + "\n";
}

std::string bold(std::string_view text, bool on) {
  return styled(kBold, visible(text), on);
}
std::string bold_lines(std::string_view lines, bool on) {
  return styled(kBold, lines, on);
}
std::string dim(std::string_view text, bool on) {
  return styled(kDim, text, on);
}
std::string yellow(std::string_view text, bool on) {
  return styled(kYellow, text, on);
}

std::string safe_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\033"), text.size());
    out += visible(text.substr(0, end));
    text.remove_prefix(end);
    if (text.empty()) break;
    std::size_t kept = text.front() == '\n' ? 1 : 0;
    for (const std::string_view style : {kBold, kDim, kYellow, kPlain}) {
      if (text.starts_with(style)) kept = style.size();
    }
    out += kept > 0 ? std::string(text.substr(0, kept)) : visible(text.substr(0, 1));
    text.remove_prefix(std::max<std::size_t>(kept, 1));
  }
  return out;
}

std::string format_ms(double ms) {
  if (ms < 0) return "-" + format_ms(-ms);
  if (ms >= 1000) return fmt::format("{:.2f} s", ms / 1000);
  if (ms >= 100) return fmt::format("{:.1f} ms", ms);
  if (ms >= 1) return fmt::format("{:.2f} ms", ms);
  return fmt::format("{:.1f} us", ms * 1000);
}

std::string_view short_phase(std::string_view phase) {
  if (phase == "forward") return "fwd";
  if (phase == "backward") return "bwd";
  if (phase == "accumulate" || phase == "optimizer") return phase.substr(0, 3);
  return phase;
}

std::string csv_field(std::string_view text) {
  std::string clean = visible(text);
  // Also in full width, which some spreadsheets take for the same.
  constexpr std::array<std::string_view, 8> kFormulas{
      "=", "+", "-", "@", "\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D", "\xEF\xBC\xA0"};
  const bool formula =
      clean.size() > 1 && std::any_of(kFormulas.begin(), kFormulas.end(),
                                      [&](std::string_view f) { return clean.starts_with(f); });
  if (formula && !parse_double(clean)) clean.insert(0, 1, '\'');
  if (clean.find_first_of(",\"") == std::string::npos) return clean;
  std::string out = "\"";
  for (const char c : clean) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string per_second(double rate) {
  constexpr double kDigitsEnough = 1000;
  return rate < kDigitsEnough ? fmt::format("{:.4g}", rate) : fmt::format("{:.0f}", rate);
}

std::string throughput(double rate, std::string_view what, std::int64_t gpus) {
  const std::string all = fmt::format("{} {}/s", per_second(rate), what);
  if (gpus <= 1) return all;
  return fmt::format("{}, {} per GPU", all, per_second(rate / static_cast<double>(gpus)));
}

}  // namespace rooftile::report
