// SPDX-License-Identifier: Apache-2.0
#include "characterize/dynamic_library.h"

#include <dlfcn.h>

#include <utility>

namespace rooftile::characterize {

Result<DynamicLibrary> DynamicLibrary::open(const std::vector<std::string>& names) {
  std::string tried;
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return DynamicLibrary(name, handle);
    }
    tried += (tried.empty() ? "" : ", ") + name;
  }
  return unsupported(tried, "the library cannot be opened");
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : name_(std::move(other.name_)), handle_(std::exchange(other.handle_, nullptr)) {
}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(handle_, other.handle_);
  return *this;
}

void* DynamicLibrary::address(const char* symbol) const {
  return dlsym(handle_, symbol);
}

tl::unexpected<Error> DynamicLibrary::missing(const char* symbol) const {
  return unsupported(name_, std::string("the library has no function ") + symbol,
                     "it may be too old");
}

}  // namespace rooftile::characterize
