// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a Hugging Face config.json with their library defaults. A key that is absent
// or null takes its default; a key of the wrong type or out of range is an error that points at it.
// Keys that no importer asks for are normal in these files and ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "core/result.h"
#include "graph/graph.h"

namespace rooftile::graph {

class HfReader {
 public:
  /// Sizes beyond this are mistakes; the product of two of them is exact in a double.
  static constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
  static constexpr std::int64_t kMaxLayers = 1'000'000;

  explicit HfReader(JsonView root) : root_(std::move(root)) {}

  [[nodiscard]] const JsonView& root() const { return root_; }
  /// A size of at least 1 that must be present.
  [[nodiscard]] Result<std::int64_t> size(std::string_view key) const;
  [[nodiscard]] Result<std::int64_t> size_or(std::string_view key, std::int64_t fallback) const;
  /// As size_or, and 0 is allowed: it means "none".
  [[nodiscard]] Result<std::int64_t> count_or(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] Result<std::int64_t> layers(std::string_view key) const;
  [[nodiscard]] Result<bool> flag(std::string_view key, bool fallback) const;
  [[nodiscard]] Result<std::string> text(std::string_view key, std::string_view fallback) const;
  /// Refuses a switch that changes the graph in a way that is not modelled.
  [[nodiscard]] Status refuse_flag(std::string_view key) const;
  /// Refuses every value of a choice but `supported`, which is also the default.
  [[nodiscard]] Status expect_text(std::string_view key, std::string_view supported) const;
  /// A dropout probability: true when it is above 0.
  [[nodiscard]] Result<bool> dropout(std::string_view key, double fallback) const;
  /// True when the key is present, also with the value null.
  [[nodiscard]] bool has(std::string_view key) const;
  /// `heads` must divide `width`; the error points at `heads_key`.
  [[nodiscard]] Result<std::int64_t> head_size(std::string_view heads_key, std::int64_t width,
                                               std::int64_t heads) const;

 private:
  JsonView root_;
};

/// Classes of a classifier: num_labels, or the entries of id2label, or the library's default of 2.
Result<std::int64_t> label_count(const HfReader& config);

/// An error for prefill and decode: encoders keep no cache.
Status check_no_cache(const JsonView& root, Step step);

}  // namespace rooftile::graph
