// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "core/text.h"
#include "core/utf8.h"

namespace rooftile::report {

namespace {

constexpr std::size_t kGap = 2;  ///< columns between columns
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

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = visible(cell);
  rows_.push_back(std::move(cells));
}

Table::Layout Table::layout(int width, int indent) const {
  Layout result{.widths = {}, .left_out = std::vector<bool>(columns_.size(), false)};
  std::vector<std::size_t>& widths = result.widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = utf8_count(visible(columns_[c].title));
    for (const auto& row : rows_) widest = std::max(widest, utf8_count(row[c]));
    widths.push_back(widest);
  }
  const auto total = [&] {
    std::size_t sum = static_cast<std::size_t>(indent);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (!result.left_out[c]) sum += widths[c] + (c > 0 ? kGap : 0);
    }
    return sum;
  };
  for (std::size_t c = columns_.size(); c-- > 0;) {
    if (columns_[c].optional && total() > static_cast<std::size_t>(width)) {
      result.left_out[c] = true;
    }
  }
  while (total() > static_cast<std::size_t>(width)) {  // the widest shrinkable column gives way
    std::size_t victim = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].shrink && widths[c] > 8 &&
          (victim == columns_.size() || widths[c] > widths[victim])) {
        victim = c;
      }
    }
    if (victim == columns_.size()) break;
    --widths[victim];
  }
  return result;
}

std::vector<std::string> Table::left_out(int width, int indent) const {
  const Layout room = layout(width, indent);
  std::vector<std::string> titles;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (room.left_out[c]) titles.push_back(columns_[c].title);
  }
  return titles;
}

std::string Table::render(int width, int indent) const {
  const Layout room = layout(width, indent);
  std::string text;
  const auto line = [&](const auto& cell_of) {
    std::string row(static_cast<std::size_t>(indent), ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (room.left_out[c]) continue;
      const std::string cell = columns_[c].path ? shorten_path(cell_of(c), room.widths[c])
                                                : shorten(cell_of(c), room.widths[c]);
      if (c > 0) row.append(kGap, ' ');
      row += columns_[c].align == Align::Right ? fmt::format("{:>{}}", cell, room.widths[c])
                                               : fmt::format("{:<{}}", cell, room.widths[c]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  line([&](std::size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) line([&](std::size_t c) { return row[c]; });
  return text;
}

std::string bar(double fraction, int width) {
  const int full = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * width));
  return std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(width - full), ' ');
}

std::string shorten(std::string_view text, std::size_t width) {
  return cut(visible(text), width);
}

std::string shorten_path(std::string_view text, std::size_t width) {
  const std::string all = visible(text);
  std::string_view rest = all;
  while (utf8_count(rest) > width) {
    const std::size_t end = rest.find_first_of("/.");
    if (end + 1 >= rest.size() || end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return cut(rest, width);
}

std::string wrapped(std::string_view foreign, int width, int first, int indent) {
  const std::string clean = visible(foreign);
  std::string_view text = clean;
  const auto limit = static_cast<std::size_t>(std::max(40, width));
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string out;
  std::string line(static_cast<std::size_t>(first), ' ');
  bool fresh = true;  // nothing but the margin on the line
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" ,"), text.size() - 1) + 1;
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    const std::size_t wide = word.size() - (word.back() == ' ' ? 1 : 0);
    if (!fresh && line.size() + wide > limit) {
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
      line = margin;
      fresh = true;
    }
    if (fresh && word == " ") continue;
    line += word;
    fresh = false;
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

}  // namespace rooftile::report
