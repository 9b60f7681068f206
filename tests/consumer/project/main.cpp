// SPDX-License-Identifier: Apache-2.0
#include <rooftile/version.h>

#include <iostream>

int main() {
  std::cout << "rooftile " << rooftile::version() << '\n';
}
