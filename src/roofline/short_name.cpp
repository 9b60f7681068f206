// SPDX-License-Identifier: Apache-2.0
//
// Readable kernel names. Template kernels carry the functor that tells them apart deep inside their
// arguments; the outer name and the first named argument are kept, namespaces and parameter lists
// go. The full name stays next to it in every output.
#include <cctype>
#include <string>

#include "core/text.h"
#include "roofline/chart.h"

namespace rooftile::roofline {

namespace {

bool word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Index of the bracket that closes the one at `open`; npos when it never closes. "->" and the
/// parentheses inside are skipped.
std::size_t closing(std::string_view text, std::size_t open, char up, char down) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == up) ++depth;
    if (text[i] == down && !(down == '>' && i > 0 && text[i - 1] == '-') && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// The last component of a qualified name: "at::native::add" -> "add".
std::string_view last_component(std::string_view name) {
  const std::size_t colons = name.rfind("::");
  return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

/// The first qualified identifier in template arguments that is not a plain type or number.
std::string_view named_argument(std::string_view arguments) {
  for (std::size_t at = arguments.find("::"); at != std::string_view::npos;) {
    std::size_t end = at + 2;
    while (end < arguments.size() && (word(arguments[end]) || arguments.substr(end, 2) == "::" ||
                                      (arguments[end] == ':' && arguments[end - 1] == ':'))) {
      ++end;
    }
    std::size_t begin = at;
    while (begin > 0 && (word(arguments[begin - 1]) || arguments[begin - 1] == ':')) --begin;
    const std::string_view last = last_component(arguments.substr(begin, end - begin));
    const bool plain = last.empty() || last == "native" || last == "detail" || last == "Array" ||
                       last == "Half" || last == "BFloat16" || last == "gpu_kernel_with_scalars" ||
                       last == "complex" || last == "TensorIteratorBase";
    if (!plain) return last;
    at = arguments.find("::", end);
  }
  return {};
}

std::string without(std::string text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) {
    text.erase(at, part.size());
  }
  return text;
}

}  // namespace

std::string short_kernel_name(std::string_view full) {
  constexpr std::size_t kWidth = 60;
  std::string text = without(std::string(trim(full)), "(anonymous namespace)::");
  text = without(std::move(text), "<unnamed>::");
  std::string_view name = text;
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (name.starts_with("unnamed>::")) name.remove_prefix(10);
  const std::size_t angle = name.find('<'), paren = name.find('(');
  std::string result;
  if (angle != std::string_view::npos && (paren == std::string_view::npos || angle < paren)) {
    std::string_view head = name.substr(0, angle);
    if (const std::size_t space = head.rfind(' '); space != std::string_view::npos) {
      head = head.substr(space + 1);  // a return type
    }
    const std::size_t close = closing(name, angle, '<', '>');
    if (close != std::string_view::npos && name.substr(close + 1).starts_with("::")) {
      // "enable_if<..>::type kernel<..>(..)": a return type that is a template itself
      const std::string_view rest = name.substr(close + 1);
      const std::size_t space = rest.find(' ');
      if (space < rest.find_first_of("<(")) return short_kernel_name(rest.substr(space + 1));
    }
    const std::string_view arguments =
        name.substr(angle + 1, close == std::string_view::npos ? close : close - angle - 1);
    result = last_component(head);
    const std::string_view inner = named_argument(arguments);
    if (!inner.empty()) {
      result += "<" + std::string(inner) + ">";
    } else if (arguments.size() <= 24) {
      result += "<" + std::string(arguments) + ">";
    }
  } else {
    result = last_component(trim(name.substr(0, paren)));
  }
  if (result.empty()) result = std::string(full.substr(0, kWidth));
  if (result.size() > kWidth) {
    result =
        result.substr(0, kWidth / 2 - 1) + ".." + result.substr(result.size() - kWidth / 2 + 1);
  }
  return result;
}

}  // namespace rooftile::roofline
