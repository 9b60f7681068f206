// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rooftile::CsvHeader;
  using rooftile::CsvReader;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CsvReader csv = CsvReader::from_text(text, "fuzz.csv", {});
  const auto header = CsvHeader::read(csv);
  if (!header) return 0;
  std::size_t field_bytes = 0;
  while (true) {
    const auto more = csv.next();
    if (!more || !*more) break;
    if (csv.fields().empty()) std::abort();  // a record has at least one field
    for (std::size_t i = 0; i < csv.fields().size(); ++i) {
      field_bytes += csv[i].size();
      (void)csv.number(i);
      (void)csv.integer(i);
    }
    (void)header->check_width(csv);
  }
  if (field_bytes > size) std::abort();  // fields are parts of the input, never more
  return 0;
}
