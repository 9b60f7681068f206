// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/text.h"

namespace rooftile::report {

namespace {

constexpr std::size_t kGap = 2;  ///< columns between columns

}  // namespace

Table::Layout Table::layout(int width, int indent) const {
  Layout result{.widths = {}, .left_out = std::vector<bool>(columns_.size(), false)};
  std::vector<std::size_t>& widths = result.widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = columns_[c].title.size();
    for (const auto& row : rows_) widest = std::max(widest, row[c].size());
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
  if (text.size() <= width) return std::string(text);
  if (width <= 2) return std::string(text.substr(0, width));
  const std::size_t tail = (width - 2) * 2 / 3;  // the end of a name says more than its beginning
  const std::size_t head = width - 2 - tail;
  return std::string(text.substr(0, head)) + ".." + std::string(text.substr(text.size() - tail));
}

std::string shorten_path(std::string_view text, std::size_t width) {
  std::string_view rest = text;
  while (rest.size() > width) {
    const std::size_t end = rest.find_first_of("/.");
    if (end + 1 >= rest.size() || end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return shorten(rest, width);
}

std::string wrapped(std::string_view text, int width, int first, int indent) {
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
  return on ? fmt::format("\033[1m{}\033[0m", text) : std::string(text);
}
std::string dim(std::string_view text, bool on) {
  return on ? fmt::format("\033[2m{}\033[0m", text) : std::string(text);
}
std::string yellow(std::string_view text, bool on) {
  return on ? fmt::format("\033[33m{}\033[0m", text) : std::string(text);
}

std::string format_ms(double ms) {
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
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace rooftile::report
