// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a Hugging Face config.json with their library defaults. A key that is absent
// or null takes its default, and a size that does is listed (HfSizes); a key of the wrong type or
// out of range is an error that points at it.
// Keys that no importer asks for are normal in these files and ignored, unless one looks like a
// misspelling of a key that is absent (check_spelling).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/result.h"
#include "graph/graph.h"

namespace rooftile::graph {

/// Another name of a key, as the library's attribute_map has it: hidden_size for n_embd.
struct HfAlias {
  std::string_view alias, key;
};

/// What the file's "architectures" asks for.
enum class HfHead : std::uint8_t {
  Usual,       ///< the head that the family's importer adds
  None,        ///< GPT2Model and the like: hidden states only
  EncoderOnly  ///< T5EncoderModel
};

/// What a reader of the report must know about the sizes of a file.
struct HfSizes {
  std::vector<std::string> assumed;      ///< "hidden_size = 4096", not given by the file
  std::vector<std::string> implausible;  ///< "hidden_size = 4096000 (models have 1 to 65536)"
  /// One note each, named "sizes"; `config` is the class whose defaults were taken.
  [[nodiscard]] std::vector<std::string> notes(std::string_view config) const;
};

class HfReader {
 public:
  /// Sizes beyond this are mistakes; the product of two of them is exact in a double.
  static constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;
  static constexpr std::int64_t kMaxLayers = 1'000'000;

  /// `keys` are all that the family reads; the spans and `sizes` outlive the reader.
  HfReader(JsonView root, std::span<const std::string_view> keys, std::span<const HfAlias> aliases,
           HfHead head, HfSizes& sizes)
      : root_(std::move(root)), keys_(keys), aliases_(aliases), head_(head), sizes_(sizes) {}

  [[nodiscard]] const JsonView& root() const { return root_; }
  [[nodiscard]] HfHead head() const { return head_; }
  /// The member `key` or its alias; nothing when absent or null.
  [[nodiscard]] std::optional<JsonView> find(std::string_view key) const;
  /// An error when a key that the family reads is absent and an unknown one is nearly its name.
  [[nodiscard]] Status check_spelling() const;
  /// A size, or the default of the family's configuration class, which is then listed.
  [[nodiscard]] Result<std::int64_t> size_or(std::string_view key, std::int64_t fallback) const;
  /// A size that follows from others where the file does not give it, or is too small to matter:
  /// nothing is listed.
  [[nodiscard]] Result<std::int64_t> size_or_derived(std::string_view key,
                                                     std::int64_t derived) const;
  /// Lists a size that was taken from the family's configuration class.
  void assume(std::string_view key, std::int64_t value) const;
  /// As size_or, and 0 is allowed: it means "none".
  [[nodiscard]] Result<std::int64_t> count_or(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] Result<std::int64_t> layers(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] Result<bool> flag(std::string_view key, bool fallback) const;
  [[nodiscard]] Result<std::string> text(std::string_view key, std::string_view fallback) const;
  /// Refuses a switch that changes the graph in a way that is not modelled.
  [[nodiscard]] Status refuse_flag(std::string_view key) const;
  /// Refuses every value of a choice but `supported`, which is also the default.
  [[nodiscard]] Status expect_text(std::string_view key, std::string_view supported) const;
  /// A dropout probability: true when it is above 0.
  [[nodiscard]] Result<bool> dropout(std::string_view key, double fallback) const;
  /// True when the key or its alias is present, also with the value null.
  [[nodiscard]] bool has(std::string_view key) const;
  /// `heads` must divide `width`; the error points at `heads_key`.
  [[nodiscard]] Result<std::int64_t> head_size(std::string_view heads_key, std::int64_t width,
                                               std::int64_t heads) const;

 private:
  struct Limits {
    std::int64_t low, high;
  };
  [[nodiscard]] Result<std::int64_t> stated(const JsonView& field, std::string_view key,
                                            Limits limits) const;
  [[nodiscard]] Result<std::int64_t> read_or(std::string_view key, std::int64_t fallback,
                                             Limits limits) const;

  JsonView root_;
  std::span<const std::string_view> keys_;
  std::span<const HfAlias> aliases_;
  HfHead head_;
  HfSizes& sizes_;
};

/// Classes of a classifier: num_labels, or the entries of id2label, or the library's default of 2.
Result<std::int64_t> label_count(const HfReader& config);

/// An error for prefill and decode: encoders keep no cache.
Status check_no_cache(const JsonView& root, Step step);

}  // namespace rooftile::graph
