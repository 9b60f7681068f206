// SPDX-License-Identifier: Apache-2.0
//
// The catalogue: the data files (gpus/, models/, systems/, predictors/) compiled into the binary,
// overlaid by folders of the user's own. A later overlay wins over an earlier one, every overlay
// wins over the embedded files; a file is addressed by its relative name, "gpus/nvidia_l4.json".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace rooftile {

class Catalog {
 public:
  enum class Origin : std::uint8_t { Embedded, Overlay, File };

  struct File {
    std::string name;      ///< what errors call it: the path on disk, or "catalog:gpus/..."
    std::string content;   ///< bytes, possibly binary
    std::string replaces;  ///< overlay: the name of the file that would be read without it
    Origin origin = Origin::File;
  };

  /// A file that is not of the catalogue, at most `max_bytes` of it.
  static Result<File> read_path(const std::string& path,
                                std::size_t max_bytes = std::size_t{256} << 20);

  /// The embedded files, overlaid by the folders in ROOFTILE_CATALOG (separated by ':').
  static Result<Catalog> standard();
  /// Only the embedded files.
  static Catalog embedded();
  /// An empty catalogue, for tests.
  Catalog() = default;

  /// Adds all files below `folder`; an error when it does not exist.
  Status overlay(const std::string& folder);
  /// Adds one file from memory.
  void add(std::string relative_name, std::string content);

  /// Relative names that start with `prefix`, sorted.
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix) const;
  [[nodiscard]] bool contains(std::string_view relative_name) const;
  [[nodiscard]] Result<File> read(std::string_view relative_name) const;
  /// What errors call the file: its path on disk, or "catalog:gpus/...".
  [[nodiscard]] std::string name_of(std::string_view relative_name) const;
  /// The folders that overlay the embedded files, the first one first.
  [[nodiscard]] const std::vector<std::string>& overlays() const { return overlays_; }
  /// 0 for embedded files, 1 for the first overlay, ...: where two files claim one name, the later
  /// layer wins. A file that does not exist is in layer 0.
  [[nodiscard]] int layer(std::string_view relative_name) const;

 private:
  struct Entry {
    std::string path;           ///< on disk, or empty
    std::string_view embedded;  ///< bytes in the binary
    std::string owned;          ///< bytes added by tests
    std::string replaces;       ///< name of the file of an earlier layer
    int layer = 0;
  };
  [[nodiscard]] int top_layer() const { return static_cast<int>(overlays_.size()); }
  void insert(std::string relative_name, Entry entry);

  std::vector<std::string> overlays_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace rooftile
