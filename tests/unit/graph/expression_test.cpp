// SPDX-License-Identifier: Apache-2.0
#include "graph/family/expression.h"

#include <gtest/gtest.h>

#include <map>

namespace rooftile::graph {
namespace {

class Names : public Scope {
 public:
  [[nodiscard]] Result<Value> value_of(std::string_view name) const override {
    if (name == "width") return Value(std::int64_t{4096});
    if (name == "heads") return Value(std::int64_t{32});
    if (name == "kinds")
      return Value(List{Value(std::string("full")), Value(std::string("slide"))});
    if (name == "absent") return Value();
    return bad_input({}, "unknown name");
  }
};

std::string value(std::string_view text) {
  const auto result = evaluate(text, Names());
  return result ? result->printed() : "error: " + result.error().message;
}

TEST(Expression, ArithmeticBindsAsUsual) {
  EXPECT_EQ(value("width / heads"), "128");
  EXPECT_EQ(value("2 + 3 * 4 - 1"), "13");
  EXPECT_EQ(value("(2 + 3) * 4"), "20");
  EXPECT_EQ(value("7 / 2"), "3");
  EXPECT_EQ(value("-7 / 2"), "-4");
  EXPECT_EQ(value("7 % 4"), "3");
  EXPECT_EQ(value("7 / 2.0"), "3.5");
  EXPECT_EQ(value("ceil(7, 2)"), "4");
  EXPECT_EQ(value("int(width * 0.25)"), "1024");
}

TEST(Expression, ChoicesEvaluateOneBranch) {
  EXPECT_EQ(value("heads > 16 ? 'many' : 'few'"), "many");
  EXPECT_EQ(value("heads > 64 ? 1 / 0 : 5"), "5");
  EXPECT_EQ(value("absent != null and absent[3] == 1"), "false");
  EXPECT_EQ(value("heads == 32 or 1 / 0"), "true");
  EXPECT_EQ(value("not (heads == 32)"), "false");
}

TEST(Expression, ListsAndTexts) {
  EXPECT_EQ(value("kinds[1]"), "slide");
  EXPECT_EQ(value("count(kinds, 'full')"), "1");
  EXPECT_EQ(value("'full' in kinds"), "true");
  EXPECT_EQ(value("3 in absent"), "false");
  EXPECT_EQ(value("len('MEM*')"), "4");
  EXPECT_EQ(value("'MEM*'[3]"), "*");
  EXPECT_EQ(value("after('gated-gelu', 'gated-')"), "gelu");
  EXPECT_EQ(value("sum([1, 2, 3])"), "6");
  EXPECT_EQ(value("starts_with('gated-gelu', 'gated')"), "true");
  EXPECT_EQ(value("starts_with('gelu', 'gated')"), "false");
  EXPECT_EQ(value("starts_with(absent, 'g')"), "false");
  EXPECT_EQ(value("starts_with('g', absent)"), "false");
  EXPECT_EQ(value("has('relu2', 'lu')"), "true");
  EXPECT_EQ(value("has(absent, 'lu')"), "false");
  EXPECT_EQ(value("has('relu2', absent)"), "false");
}

TEST(Expression, MistakesAreErrorsAndNothingWraps) {
  EXPECT_EQ(value("1 / 0"), "error: division by zero");
  EXPECT_EQ(value("9000000000000000000 * 9"), "error: the number is too large");
  EXPECT_EQ(value("int(8999999999999999.0)"), "8999999999999999");
  EXPECT_EQ(value("int(9000000000000000.0)"), "error: the number is too large");
  EXPECT_EQ(value("kinds[2]"), "error: a list of 2 has no element 2");
  EXPECT_EQ(value("kinds[0 - 1]"), "error: a list of 2 has no element -1");
  EXPECT_EQ(value("'abc'[2]"), "c");
  EXPECT_EQ(value("'abc'[3]"), "error: a string of 3 characters has no character 3");
  EXPECT_EQ(value("'abc'[0 - 1]"), "error: a string of 3 characters has no character -1");
  EXPECT_EQ(value("nothing"), "error: unknown name");
  EXPECT_EQ(value("1 +"), "error: the expression ends too early");
  EXPECT_EQ(value("1 2"), "error: unexpected \"2\" in an expression");
  EXPECT_EQ(value("mix(1)"), "error: unknown function \"mix\"");
  EXPECT_EQ(value(std::string(100, '(')).substr(0, 6), "error:");
  EXPECT_EQ(value(std::string(3000, '1')).substr(0, 6), "error:");
}

TEST(Expression, SyntaxIsCheckedWithoutNames) {
  EXPECT_TRUE(check_expression("some_name > 3 ? other[i] : max(a, b)").has_value());
  EXPECT_FALSE(check_expression("a ? b").has_value());
}

}  // namespace
}  // namespace rooftile::graph
