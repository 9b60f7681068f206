// SPDX-License-Identifier: Apache-2.0
#include "core/provenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "core/sha256.h"
#include "rooftile/version.h"

namespace rooftile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kL4 = "gpus/nvidia_l4_24gb.json";

TEST(Provenance, AnInputIsTheBytesThatWereRead) {
  const auto file = Catalog::embedded().read(kL4);
  ASSERT_TRUE(file);
  const Input input = make_input("gpu", "l4", *file);
  EXPECT_EQ(input.kind, "gpu");
  EXPECT_EQ(input.name, "l4");
  EXPECT_EQ(input.origin, "embedded");
  EXPECT_EQ(input.file, std::string("catalog:") + kL4);
  EXPECT_EQ(input.sha256, sha256(file->content));
  EXPECT_EQ(input.replaces, "");
  for (const std::size_t at :
       {std::size_t{0}, file->content.size() / 2, file->content.size() - 1}) {
    Catalog::File changed = *file;
    changed.content[at] ^= 1;
    EXPECT_NE(make_input("gpu", "l4", changed).sha256, input.sha256);
  }
}

TEST(Provenance, EveryInputOnceAndOnlyFiles) {
  const Input one = make_builtin_input("predictor", "bound");
  const Input two = make_builtin_input("predictor", "delta");
  const ProvenanceReport provenance = make_provenance({one, Input{}, two, one});
  EXPECT_THAT(provenance.inputs, ElementsAre(one, two));
  EXPECT_EQ(provenance.version, version());
  EXPECT_EQ(provenance.commit.has_value(), commit().has_value());
  EXPECT_EQ(one.sha256, "");
  EXPECT_THAT(replacement_notes(provenance), IsEmpty());
}

TEST(Provenance, ACommitIsFortyDigits) {
  if (!commit()) GTEST_SKIP() << "not built from a git checkout";
  EXPECT_TRUE(std::regex_match(std::string(*commit()), std::regex("[0-9a-f]{40}(-dirty)?")));
}

TEST(Provenance, AReplacedFileIsNamed) {
  Input input = make_builtin_input("gpu", "l4");
  input.file = "mine/gpus/l4.json";
  input.replaces = "catalog:gpus/nvidia_l4_24gb.json";
  EXPECT_THAT(replacement_notes(make_provenance({input})),
              ElementsAre("gpu l4 is read from mine/gpus/l4.json, which replaces "
                          "catalog:gpus/nvidia_l4_24gb.json"));
}

}  // namespace
}  // namespace rooftile
