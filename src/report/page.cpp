// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include "core/web_page.h"
#include "report/svg.h"

namespace rooftile::report {

namespace {

/// JSON inside a script element: '<' can only be part of a string there, and as an escape it
/// cannot start "</script" or "<!--".
std::string script_safe(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 32);
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string make_page(std::string_view title, std::string_view json) {
  constexpr std::string_view kTitle = "@TITLE@", kData = "@DATA@";
  const std::string_view page = web_page();
  // The bundle holds each mark once, the title first (web/bundle.mjs); what is put in is not
  // searched.
  const std::size_t name = page.find(kTitle), data = page.find(kData);
  std::string out(page.substr(0, name));
  out += markup_escaped(title);
  out += page.substr(name + kTitle.size(), data - name - kTitle.size());
  out += script_safe(json);
  out += page.substr(data + kData.size());
  return out;
}

}  // namespace rooftile::report
