// SPDX-License-Identifier: Apache-2.0
#include "graph/import/hf_reader.h"

#include <fmt/format.h>

namespace rooftile::graph {

Result<std::int64_t> HfReader::size(std::string_view key) const {
  ROOFTILE_TRY(const JsonView field, root_.at(key));
  return field.integer(1, kMaxSize);
}

Result<std::int64_t> HfReader::size_or(std::string_view key, std::int64_t fallback) const {
  const auto field = root_.find(key);
  return field ? field->integer(1, kMaxSize) : Result<std::int64_t>(fallback);
}

Result<std::int64_t> HfReader::count_or(std::string_view key, std::int64_t fallback) const {
  const auto field = root_.find(key);
  return field ? field->integer(0, kMaxSize) : Result<std::int64_t>(fallback);
}

Result<std::int64_t> HfReader::layers(std::string_view key) const {
  ROOFTILE_TRY(const JsonView field, root_.at(key));
  return field.integer(1, kMaxLayers);
}

Result<bool> HfReader::flag(std::string_view key, bool fallback) const {
  const auto field = root_.find(key);
  return field ? field->boolean() : Result<bool>(fallback);
}

Result<std::string> HfReader::text(std::string_view key, std::string_view fallback) const {
  const auto field = root_.find(key);
  return field ? field->string() : Result<std::string>(std::string(fallback));
}

Result<bool> HfReader::dropout(std::string_view key, double fallback) const {
  const auto field = root_.find(key);
  if (!field) return fallback > 0.0;
  ROOFTILE_TRY(const double probability, field->number());
  if (!(probability >= 0.0 && probability <= 1.0)) {
    return field->error(fmt::format("{} is no probability", probability), "0 to 1");
  }
  return probability > 0.0;
}

Result<std::int64_t> HfReader::head_size(std::string_view heads_key, std::int64_t width,
                                         std::int64_t heads) const {
  if (width % heads == 0) return width / heads;
  const std::string message = fmt::format("{} heads do not divide a width of {}", heads, width);
  const auto field = root_.find(heads_key);
  return field ? field->error(message, "the width is a multiple of the number of heads")
               : root_.error(message, "the width is a multiple of the number of heads");
}

}  // namespace rooftile::graph
