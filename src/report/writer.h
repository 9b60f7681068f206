// SPDX-License-Identifier: Apache-2.0
//
// Documents to bytes. A format is one file, write_<name>.cpp, and its line in writers.cpp; from
// there the command line, its help and the endings of files know it
// (docs/howto/add_an_output_format.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"

namespace rooftile::report {

struct WriteOptions {
  int width = 100;     ///< of the terminal
  bool color = false;  ///< ANSI colours
};

/// What a result must have to be written in a format.
enum class Needs : std::uint8_t { Tables, Charts, Timeline };

/// What the result of a command has in addition to tables.
struct Offers {
  bool charts = false, timeline = false;
};

struct Writer {
  std::string_view name;  ///< of --format
  /// Of files; the first one is the one that hints name.
  std::vector<std::string_view> endings;
  Needs needs = Needs::Tables;
  bool warnings = true;  ///< has a place for them; else they go to standard error
  bool lines = false;    ///< shown on terminals: what is left of controls is made visible
  std::string (*make)(const Document& document, const WriteOptions& options) = nullptr;

  [[nodiscard]] bool can_write(const Offers& offers) const;
};

/// The first one is the default.
std::span<const Writer> writers();

/// "text", "json", ... that make sense for a command.
std::vector<std::string> formats_for(const Offers& offers);

/// `format` is the name of a writer.
const Writer& writer_of(std::string_view format);
std::string write(std::string_view format, const Document& document,
                  const WriteOptions& options = {});

}  // namespace rooftile::report
