// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "report/writer.h"

// Every format, the default first: WRITER(x) is x_writer() of write_x.cpp.
#define ROOFTILE_WRITERS(WRITER) \
  WRITER(text)                   \
  WRITER(json)                   \
  WRITER(csv)                    \
  WRITER(markdown)               \
  WRITER(svg)                    \
  WRITER(html)                   \
  WRITER(trace)

namespace rooftile::report {

#define ROOFTILE_DECLARE(name) Writer name##_writer();
ROOFTILE_WRITERS(ROOFTILE_DECLARE)
#undef ROOFTILE_DECLARE

std::span<const Writer> writers() {
#define ROOFTILE_CALL(name) name##_writer(),
  static const std::array kWriters{ROOFTILE_WRITERS(ROOFTILE_CALL)};
#undef ROOFTILE_CALL
  return kWriters;
}

bool Writer::can_write(const Offers& offers) const {
  switch (needs) {
    case Needs::Tables: return true;
    case Needs::Charts: return offers.charts;
    case Needs::Timeline: return offers.timeline;
  }
  return false;
}

std::vector<std::string> formats_for(const Offers& offers) {
  std::vector<std::string> names;
  for (const Writer& writer : writers()) {
    if (writer.can_write(offers)) names.emplace_back(writer.name);
  }
  return names;
}

const Writer& writer_of(std::string_view format) {
  const auto all = writers();
  const auto it = std::find_if(all.begin(), all.end(),
                               [&](const Writer& writer) { return writer.name == format; });
  return it == all.end() ? all.front() : *it;
}

std::string write(std::string_view format, const Document& document, const WriteOptions& options) {
  if (const auto file = document.files.find(format); file != document.files.end())
    return file->second;
  return writer_of(format).make(document, options);
}

}  // namespace rooftile::report
