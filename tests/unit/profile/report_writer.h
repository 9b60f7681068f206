// SPDX-License-Identifier: Apache-2.0
//
// Writes small .ncu-rep files for tests, in the layout that docs/format/profiles.md describes.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rooftile::testing {

/// A message of protocol buffers.
class WireMessage {
 public:
  WireMessage& varint(std::uint32_t field, std::uint64_t value) {
    raw(field << 3);
    raw(value);
    return *this;
  }
  WireMessage& number(std::uint32_t field, double value) {
    raw(field << 3 | 1U);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned i = 0; i < 8; ++i) text_ += static_cast<char>(bits >> (8 * i) & 0xffU);
    return *this;
  }
  WireMessage& bytes(std::uint32_t field, std::string_view value) {
    raw(field << 3 | 2U);
    raw(value.size());
    text_ += value;
    return *this;
  }
  WireMessage& message(std::uint32_t field, const WireMessage& value) {
    return bytes(field, value.text());
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// With its length in front.
  [[nodiscard]] std::string framed() const {
    std::string out;
    for (unsigned i = 0; i < 4; ++i) out += static_cast<char>(text_.size() >> (8 * i) & 0xffU);
    return out + text_;
  }

 private:
  void raw(std::uint64_t value) {
    for (; value >= 128; value >>= 7) text_ += static_cast<char>((value & 0x7fU) | 0x80U);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

/// One launch: metrics without a value were not measured.
struct ReportLaunch {
  std::string kernel;
  std::vector<std::pair<std::string, std::optional<double>>> metrics;
  std::vector<std::string> ranges = {};  ///< of NVTX, outermost first
};

struct ReportFile {
  std::uint64_t version = 7;
  std::string device = "NVIDIA A100-SXM4-40GB";
  std::string major = "8", minor = "0";
  std::vector<ReportLaunch> launches;
  std::string code = "ELF";     ///< of a message that readers skip
  std::uint64_t announced = 0;  ///< bytes more than there are, in the header of the block
};

inline std::string written(const ReportFile& file) {
  std::vector<std::string> names;
  const auto index = [&names](const std::string& name) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return i;
    }
    names.push_back(name);
    return names.size() - 1;
  };
  std::string rest = WireMessage().bytes(4, file.code).framed();
  for (const ReportLaunch& launch : file.launches) {
    WireMessage result;
    result.bytes(7, launch.kernel);
    result.message(10, WireMessage().varint(1, 4).varint(2, 2).varint(3, 1));
    result.message(11, WireMessage().varint(1, 128).varint(2, 1).varint(3, 1));
    for (const auto& [name, value] : launch.metrics) {
      WireMessage metric;
      metric.varint(1, index(name));
      if (value) metric.message(2, WireMessage().number(3, *value));
      result.message(13, metric);
    }
    if (!launch.ranges.empty()) {  // domains, then threads with the ranges that are open in each
      WireMessage open;
      open.varint(1, 0);
      for (const std::string& range : launch.ranges) {
        open.message(2, WireMessage().varint(1, 1).bytes(2, range));
      }
      result.message(21, WireMessage()
                             .message(1, WireMessage().varint(1, 0).bytes(2, "<default domain>"))
                             .message(2, WireMessage().varint(1, 77).message(2, open)));
    }
    rest += result.framed();
  }
  WireMessage table;
  for (const std::string& name : names) table.bytes(1, name);
  WireMessage device;
  device.varint(1, 0).bytes(2, file.device);
  const auto attribute = [&device](std::string_view name, std::string_view value) {
    device.message(3, WireMessage().bytes(1, name).message(2, WireMessage().bytes(1, value)));
  };
  attribute("device__attribute_compute_capability_major", file.major);
  attribute("device__attribute_compute_capability_minor", file.minor);
  WireMessage header;
  header.varint(1, 1).varint(2, file.launches.size());
  header.message(3, WireMessage().message(6, device)).message(4, table);
  header.varint(5, rest.size() + file.announced);
  return std::string("NVR\0", 4) + WireMessage().varint(1, file.version).framed() +
         header.framed() + rest;
}

}  // namespace rooftile::testing
