// SPDX-License-Identifier: Apache-2.0
//
// A shared library opened at run time, so that the program starts on machines that lack it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace rooftile::characterize {

class DynamicLibrary {
 public:
  /// Opens the first of `names` that can be opened; the error lists them.
  static Result<DynamicLibrary> open(const std::vector<std::string>& names);
  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  /// Leaves the library loaded: drivers keep threads that outlive a dlclose.
  ~DynamicLibrary() = default;

  /// Stores the address of `symbol` in `function`; an error when the library has none.
  template <typename Function>
  Status find(const char* symbol, Function*& function) const {
    static_assert(sizeof(Function*) == sizeof(void*));
    void* found = address(symbol);
    if (found == nullptr) return missing(symbol);
    function = reinterpret_cast<Function*>(found);
    return {};
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  DynamicLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}
  [[nodiscard]] void* address(const char* symbol) const;
  [[nodiscard]] tl::unexpected<Error> missing(const char* symbol) const;
  std::string name_;
  void* handle_;
};

}  // namespace rooftile::characterize
