// SPDX-License-Identifier: Apache-2.0
//
// Where a result comes from: the program that made it and every file that it was computed from. Two
// results with equal provenance and equal requests are equal; a changed byte of a file changes its
// SHA-256 (docs/format/report.md says how to compute it by hand).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rooftile {

/// A file that the numbers depend on.
struct Input {
  std::string kind;      ///< gpu | architecture | model | predictor | system | machine
  std::string name;      ///< "h100-sxm", "gpt2-large"
  std::string origin;    ///< embedded | overlay | file
  std::string file;      ///< its path, or "catalog:gpus/..."; empty for a predictor without weights
  std::string sha256;    ///< of its bytes; empty for a predictor without weights
  std::string replaces;  ///< overlay: the file of the catalogue that it stands in for, if any
  bool operator==(const Input&) const = default;
};

struct ProvenanceReport {
  std::string version;                ///< of rooftile
  std::optional<std::string> commit;  ///< where the build knows it
  std::vector<Input> inputs;
};

}  // namespace rooftile
