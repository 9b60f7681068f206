// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <new>

#include "cli/command.h"
#include "core/result.h"
#include "core/utf8.h"

int main(int argc, char** argv) {
  try {
    return rooftile::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("error: not enough memory for this input\nhint: give a smaller file or model\n",
               stderr);
    return static_cast<int>(rooftile::ErrorCode::BadInput);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: internal: %s\nhint: please report this, with the command line\n",
                 rooftile::visible(error.what()).c_str());
    return static_cast<int>(rooftile::ErrorCode::Internal);
  }
}
