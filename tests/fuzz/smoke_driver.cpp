// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz entry point without libFuzzer: over every seed of a corpus folder, over every prefix
// of short seeds, and over mutations of them for about a second. The mutations come from a fixed
// seed, so the n-th input is the same everywhere; a crash, a sanitizer report or a time-out fails
// the test. With --exports the exports of the shared data are run too, whole, cut and with wrong
// bytes, where they are present. `./x fuzz` does the real search.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "shared_data.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Random = std::mt19937_64;  // the standard fixes its sequence, not that of distributions

constexpr std::size_t kMaxInput = 1 << 16;
constexpr std::size_t kMostMutated = 1 << 20;  ///< of an export: larger ones take too long each
constexpr std::string_view kTokens[] = {
    "\"",   "\n",     "\r\n",  ",",    "{",           "}",     "[",    "]",    ":",
    "null", "-1",     "1e999", "1e18", "0.5",         "\\u00", "\xff", "true", "99999999999999",
    " ",    "GB/s\"", "e",     "NaN",  "\xEF\xBB\xBF"};

std::size_t below(Random& random, std::size_t bound) {
  return static_cast<std::size_t>(random() % bound);
}

void run(const std::string& input) {
  // Bytes are bytes; the entry point's signature is libFuzzer's.
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

void mutate_once(std::string& text, const std::vector<std::string>& seeds, Random& random) {
  const std::size_t at = below(random, text.size() + 1);
  const std::size_t length = below(random, std::min<std::size_t>(text.size() - at, 64) + 1);
  switch (below(random, 6)) {
    case 0: text.erase(at, length); break;
    case 1: text.insert(at, kTokens[below(random, std::size(kTokens))]); break;
    case 2: text.insert(at, text.substr(at, length)); break;
    case 3: text.resize(at); break;
    case 4:
      if (at < text.size()) text[at] = static_cast<char>(random() & 0xff);
      break;
    case 5: {
      const std::string& other = seeds[below(random, seeds.size())];
      if (!other.empty()) text.insert(at, other.substr(below(random, other.size()), 64));
      break;
    }
  }
  if (text.size() > kMaxInput) text.resize(kMaxInput);
}

std::vector<std::string> read_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

/// Real files are too long for the mutations of seeds: bytes of them are changed, or they are cut.
std::int64_t run_exports(Random& random) {
  const std::vector<std::string> exports =
      read_folder(rooftile::testing::shared_data() / "exports");
  std::vector<std::string> small;
  for (const std::string& text : exports) {
    run(text);
    if (!text.empty() && text.size() <= kMostMutated) small.push_back(text);
  }
  auto inputs = static_cast<std::int64_t>(exports.size());
  const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (!small.empty() && std::chrono::steady_clock::now() < stop) {
    std::string text = small[below(random, small.size())];
    for (std::size_t n = below(random, 8); n > 0; --n) {
      text[below(random, text.size())] = static_cast<char>(random() & 0xff);
    }
    if (below(random, 2) == 0) text.resize(below(random, text.size()));
    run(text);
    inputs += 1;
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  const bool exports = argc == 3 && std::string_view(argv[2]) == "--exports";
  if (argc != 2 && !exports) {
    fmt::print(stderr, "usage: {} CORPUS_FOLDER [--exports]\n", argv[0]);
    return 2;
  }
  std::vector<std::string> seeds = read_folder(argv[1]);
  seeds.emplace_back();
  std::int64_t inputs = 0;
  for (const std::string& seed : seeds) {
    run(seed);
    for (std::size_t length = 0; length < std::min<std::size_t>(seed.size(), 512); ++length) {
      run(seed.substr(0, length));
    }
    inputs += 1;
  }
  Random random(20190324);
  const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < stop) {
    std::string text = seeds[below(random, seeds.size())];
    for (std::size_t n = below(random, 8) + 1; n > 0; --n) mutate_once(text, seeds, random);
    run(text);
    inputs += 1;
  }
  if (exports) inputs += run_exports(random);
  fmt::print("{} seeds, {} inputs, no failure\n", seeds.size() - 1, inputs);
  return seeds.size() > 1 ? 0 : 1;  // a corpus that is not found would test next to nothing
}
