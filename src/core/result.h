// SPDX-License-Identifier: Apache-2.0
//
// Errors as values. Everything that can fail because of input returns Result<T>; the message says
// what is wrong, `where` says in which file and field (or model and node), `hint` what to do.
//
//   error: data/gpus/x.json:/memory/dram/bandwidth: "1555" has no unit
//   hint: write "1555 GB/s"
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace rooftile {

/// Who has to act. The values are the process exit codes of the command line.
enum class ErrorCode : std::uint8_t {
  BadInput = 1,     ///< a file, field or value is wrong
  Usage = 2,        ///< the command line is wrong
  Unsupported = 3,  ///< well-formed, but outside what is modelled
  Internal = 70,    ///< our mistake
};

struct Error {
  ErrorCode code = ErrorCode::BadInput;
  std::string where;    ///< `file:json-pointer`, `file:line:column`, `model:node`; may be empty
  std::string message;  ///< one sentence, no trailing period
  std::string hint;     ///< what to do; may be empty

  bool operator==(const Error&) const = default;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> bad_input(std::string where, std::string message,
                                       std::string hint = {}) {
  return tl::unexpected<Error>(Error{.code = ErrorCode::BadInput,
                                     .where = std::move(where),
                                     .message = std::move(message),
                                     .hint = std::move(hint)});
}
inline tl::unexpected<Error> usage_error(std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(Error{.code = ErrorCode::Usage,
                                     .where = {},
                                     .message = std::move(message),
                                     .hint = std::move(hint)});
}
inline tl::unexpected<Error> unsupported(std::string where, std::string message,
                                         std::string hint = {}) {
  return tl::unexpected<Error>(Error{.code = ErrorCode::Unsupported,
                                     .where = std::move(where),
                                     .message = std::move(message),
                                     .hint = std::move(hint)});
}

/// "error: where: message\nhint: hint\n", as the command line prints it.
std::string to_string(const Error& error);

}  // namespace rooftile

// The project's only macros (C++20 has no operator for this): bind the value of a Result, or hand
// its error to the caller; the second is for a Status, which has no value to bind.
//   ROOFTILE_TRY(const auto gpu, hardware::load_gpu(catalog, "h100-sxm"));
//   ROOFTILE_CHECK(validate(gpu));
#define ROOFTILE_TRY_CONCAT_(a, b) a##b
#define ROOFTILE_TRY_NAME_(line) ROOFTILE_TRY_CONCAT_(rooftile_try_, line)
#define ROOFTILE_TRY_BIND_(tmp, declaration, ...)                      \
  auto tmp = (__VA_ARGS__);                                            \
  if (!tmp.has_value()) return tl::unexpected(std::move(tmp).error()); \
  declaration = *std::move(tmp)
#define ROOFTILE_TRY(declaration, ...) \
  ROOFTILE_TRY_BIND_(ROOFTILE_TRY_NAME_(__LINE__), declaration, __VA_ARGS__)
#define ROOFTILE_CHECK(...)                                               \
  if (auto rooftile_status = (__VA_ARGS__); !rooftile_status.has_value()) \
  return tl::unexpected(std::move(rooftile_status).error())
