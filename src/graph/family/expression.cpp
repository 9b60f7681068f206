// SPDX-License-Identifier: Apache-2.0
#include "graph/family/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/text.h"

namespace rooftile::graph {

double Value::number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value_)) return *real;
  return 0.0;
}

bool Value::truth() const {
  if (const bool* flag = boolean()) return *flag;
  if (is_number()) return number() != 0.0;
  if (const std::string* words = text()) return !words->empty();
  if (const List* items = list()) return !items->empty();
  return false;
}

std::string Value::printed() const {
  if (const bool* flag = boolean()) return *flag ? "true" : "false";
  if (const std::int64_t* whole = integer()) return fmt::format("{}", *whole);
  if (is_number()) return fmt::format("{}", number());
  if (const std::string* words = text()) return printable(*words);
  const List* items = list();
  if (items == nullptr) return "null";
  constexpr std::size_t kShown = 8;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(kShown, items->size()); ++i) {
    parts.push_back((*items)[i].printed());
  }
  if (items->size() > kShown) parts.emplace_back("...");
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

bool Value::operator==(const Value& other) const {
  if (is_number() && other.is_number()) return number() == other.number();
  return value_ == other.value_;
}

bool Value::operator<(const Value& other) const {
  if (value_.index() != other.value_.index()) return value_.index() < other.value_.index();
  if (const auto* items = list()) {
    return std::lexicographical_compare(items->begin(), items->end(), other.list()->begin(),
                                        other.list()->end());
  }
  if (const std::string* words = text()) return *words < *other.text();
  if (const bool* flag = boolean()) return !*flag && *other.boolean();
  return number() < other.number();
}

namespace {

constexpr std::size_t kMaxExpression = 2000;
constexpr int kMaxNesting = 40;

tl::unexpected<Error> wrong(std::string message, std::string hint = {}) {
  return bad_input({}, std::move(message), std::move(hint));
}

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Result<Value> add(const Value& a, const Value& b) {
  if (a.text() != nullptr && b.text() != nullptr) return Value(*a.text() + *b.text());
  if (!a.is_number() || !b.is_number()) return wrong("only numbers or strings can be added");
  if (a.integer() == nullptr || b.integer() == nullptr) return Value(a.number() + b.number());
  std::int64_t sum = 0;
  if (__builtin_add_overflow(*a.integer(), *b.integer(), &sum))
    return wrong("the number is too large");
  return Value(sum);
}

/// Whole numbers divide downwards; `-`, `*`, `/`, `%`.
Result<Value> arithmetic(char op, const Value& a, const Value& b) {
  if (!a.is_number() || !b.is_number()) return wrong(fmt::format("\"{}\" needs numbers", op));
  if ((op == '/' || op == '%') && b.number() == 0.0) return wrong("division by zero");
  if (a.integer() == nullptr || b.integer() == nullptr) {
    if (op == '-') return Value(a.number() - b.number());
    if (op == '*') return Value(a.number() * b.number());
    if (op == '/') return Value(a.number() / b.number());
    return wrong("\"%\" needs whole numbers");
  }
  const std::int64_t x = *a.integer();
  const std::int64_t y = *b.integer();
  std::int64_t out = 0;
  bool overflow = false;
  if (op == '-') overflow = __builtin_sub_overflow(x, y, &out);
  if (op == '*') overflow = __builtin_mul_overflow(x, y, &out);
  if (op == '/' || op == '%') {
    if (y < 0) return wrong("division by a negative number");
    const std::int64_t rest = ((x % y) + y) % y;
    out = op == '%' ? rest : (x - rest) / y;
    overflow = x < -(std::int64_t{1} << 60);
  }
  if (overflow) return wrong("the number is too large");
  return Value(out);
}

Result<Value> compare(std::string_view op, const Value& a, const Value& b) {
  if (op == "==") return Value(a == b);
  if (op == "!=") return Value(!(a == b));
  if (op == "in") {
    const List* items = b.list();
    if (items == nullptr) return Value(false);  // an absent list has nothing in it
    return Value(std::find(items->begin(), items->end(), a) != items->end());
  }
  if (!a.is_number() || !b.is_number()) return wrong(fmt::format("\"{}\" needs numbers", op));
  if (op == "<") return Value(a.number() < b.number());
  if (op == "<=") return Value(a.number() <= b.number());
  if (op == ">") return Value(a.number() > b.number());
  return Value(a.number() >= b.number());
}

struct Builtin {
  std::string_view name;
  std::size_t least, most;  ///< arguments
  Result<Value> (*call)(const List& arguments);
};

Result<Value> extreme(const List& in, bool most) {
  const Value* best = &in.front();
  for (const Value& value : in) {
    if (!value.is_number()) return wrong("min and max need numbers");
    if (most ? value.number() > best->number() : value.number() < best->number()) best = &value;
  }
  return *best;
}

Result<std::int64_t> whole(double value) {
  if (!(std::abs(value) < 9e15)) return wrong("the number is too large");
  return static_cast<std::int64_t>(value);
}

Result<Value> call_ceil(const List& in) {
  if (in.size() == 1) {
    ROOFTILE_TRY(const std::int64_t rounded, whole(std::ceil(in[0].number())));
    return Value(rounded);
  }
  ROOFTILE_TRY(const Value floor, arithmetic('/', in[0], in[1]));
  ROOFTILE_TRY(const Value rest, arithmetic('%', in[0], in[1]));
  return rest.truth() ? add(floor, Value(std::int64_t{1})) : Result<Value>(floor);
}
Result<Value> call_int(const List& in) {
  if (const bool* flag = in[0].boolean()) return Value(std::int64_t{*flag ? 1 : 0});
  ROOFTILE_TRY(const std::int64_t cut, whole(std::trunc(in[0].number())));
  return Value(cut);
}
Result<Value> call_count(const List& in) {
  if (const std::string* words = in[0].text();
      words != nullptr && in[1].text() != nullptr && in[1].text()->size() == 1) {
    return Value(std::int64_t{std::count(words->begin(), words->end(), in[1].text()->front())});
  }
  const List* items = in[0].list();
  if (items == nullptr) return Value(std::int64_t{0});
  return Value(std::int64_t{std::count(items->begin(), items->end(), in[1])});
}
Result<Value> call_len(const List& in) {
  if (const List* items = in[0].list()) return Value(static_cast<std::int64_t>(items->size()));
  if (const std::string* words = in[0].text()) {
    return Value(static_cast<std::int64_t>(words->size()));
  }
  return Value(std::int64_t{0});
}
Result<Value> call_starts(const List& in) {
  if (in[0].text() == nullptr || in[1].text() == nullptr) return Value(false);
  return Value(in[0].text()->starts_with(*in[1].text()));
}
Result<Value> call_has(const List& in) {
  if (in[0].text() == nullptr || in[1].text() == nullptr) return Value(false);
  return Value(in[0].text()->find(*in[1].text()) != std::string::npos);
}
Result<Value> call_after(const List& in) {
  if (in[0].text() == nullptr || in[1].text() == nullptr) return wrong("after() needs two strings");
  const std::string& words = *in[0].text();
  return Value(words.starts_with(*in[1].text()) ? words.substr(in[1].text()->size()) : words);
}
Result<Value> call_sum(const List& in) {
  Value total(std::int64_t{0});
  if (in[0].list() == nullptr) return total;
  for (const Value& item : *in[0].list()) {
    ROOFTILE_TRY(total, add(total, item));
  }
  return total;
}

constexpr std::array kBuiltins{
    Builtin{"min", 1, 8, [](const List& in) { return extreme(in, false); }},
    Builtin{"max", 1, 8, [](const List& in) { return extreme(in, true); }},
    Builtin{"ceil", 1, 2, call_ceil},
    Builtin{"int", 1, 1, call_int},
    Builtin{"len", 1, 1, call_len},
    Builtin{"count", 2, 2, call_count},
    Builtin{"sum", 1, 1, call_sum},
    Builtin{"starts_with", 2, 2, call_starts},
    Builtin{"after", 2, 2, call_after},
    Builtin{"has", 2, 2, call_has},
};

/// Reads and evaluates at once; where `skip_` is above 0 it only reads (the branch that is not
/// taken, or a check of the syntax).
class Evaluation {
 public:
  Evaluation(std::string_view text, const Scope* scope)
      : text_(text), scope_(scope), skip_(scope == nullptr ? 1 : 0) {}

  Result<Value> run() {
    if (text_.size() > kMaxExpression) return wrong("the expression is too long");
    ROOFTILE_TRY(Value value, choice());
    space();
    if (at_ < text_.size()) {
      return wrong(fmt::format("unexpected \"{}\" in an expression", printable(text_.substr(at_))));
    }
    return value;
  }

 private:
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view token) {
    space();
    if (!text_.substr(at_).starts_with(token)) return false;
    const std::size_t end = at_ + token.size();
    const bool word = starts_name(token.front());
    if (word && end < text_.size() && (starts_name(text_[end]) || is_digit(text_[end]))) {
      return false;
    }
    at_ = end;
    return true;
  }

  Result<Value> choice() {
    if (++nesting_ > kMaxNesting) return wrong("the expression is nested too deeply");
    ROOFTILE_TRY(Value value, either());
    if (take("?")) {
      const bool yes = value.truth();
      if (!yes) ++skip_;
      ROOFTILE_TRY(Value first, choice());
      if (!yes) --skip_;
      if (!take(":")) return wrong("\"?\" without \":\" in an expression");
      if (yes) ++skip_;
      ROOFTILE_TRY(Value second, choice());
      if (yes) --skip_;
      value = yes ? std::move(first) : std::move(second);
    }
    --nesting_;
    return value;
  }

  Result<Value> either() {
    ROOFTILE_TRY(Value value, both());
    while (take("or")) {
      const bool decided = value.truth();
      if (decided) ++skip_;
      ROOFTILE_TRY(const Value next, both());
      if (decided) --skip_;
      value = Value(decided || next.truth());
    }
    return value;
  }

  Result<Value> both() {
    ROOFTILE_TRY(Value value, negation());
    while (take("and")) {
      const bool decided = !value.truth();
      if (decided) ++skip_;
      ROOFTILE_TRY(const Value next, negation());
      if (decided) --skip_;
      value = Value(!decided && next.truth());
    }
    return value;
  }

  Result<Value> negation() {
    if (!take("not")) return comparison();
    if (++nesting_ > kMaxNesting) return wrong("the expression is nested too deeply");
    ROOFTILE_TRY(const Value value, negation());
    --nesting_;
    return Value(!value.truth());
  }

  Result<Value> comparison() {
    ROOFTILE_TRY(Value value, sum());
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">", "in"}) {
      if (!take(op)) continue;
      ROOFTILE_TRY(const Value other, sum());
      return skip_ > 0 ? Result<Value>(Value()) : compare(op, value, other);
    }
    return value;
  }

  Result<Value> sum() {
    ROOFTILE_TRY(Value value, product());
    while (true) {
      const bool plus = take("+");
      if (!plus && !take("-")) return value;
      ROOFTILE_TRY(const Value other, product());
      if (skip_ > 0) continue;
      ROOFTILE_TRY(value, plus ? add(value, other) : arithmetic('-', value, other));
    }
  }

  Result<Value> product() {
    ROOFTILE_TRY(Value value, postfix());
    while (true) {
      const char op = take("*") ? '*' : (take("/") ? '/' : (take("%") ? '%' : ' '));
      if (op == ' ') return value;
      ROOFTILE_TRY(const Value other, postfix());
      if (skip_ > 0) continue;
      ROOFTILE_TRY(value, arithmetic(op, value, other));
    }
  }

  /// An element of a list, counted from 0, or a letter of a text.
  Result<Value> postfix() {
    ROOFTILE_TRY(Value value, primary());
    while (take("[")) {
      ROOFTILE_TRY(const Value index, choice());
      if (!take("]")) return wrong("\"[\" without \"]\" in an expression");
      if (skip_ > 0) continue;
      const auto at = index.integer() != nullptr ? *index.integer() : -1;
      if (const List* items = value.list()) {
        if (at < 0 || at >= static_cast<std::int64_t>(items->size())) {
          return wrong(
              fmt::format("a list of {} has no element {}", items->size(), index.printed()));
        }
        value = Value((*items)[static_cast<std::size_t>(at)]);
      } else if (const std::string* words = value.text()) {
        if (at < 0 || at >= static_cast<std::int64_t>(words->size())) {
          return wrong(fmt::format("a string of {} characters has no character {}", words->size(),
                                   index.printed()));
        }
        value = Value(std::string(1, (*words)[static_cast<std::size_t>(at)]));
      } else {
        return wrong("only lists and strings have elements");
      }
    }
    return value;
  }

  Result<Value> primary() {
    space();
    if (at_ >= text_.size()) return wrong("the expression ends too early");
    const char c = text_[at_];
    if (take("(")) {
      ROOFTILE_TRY(Value value, choice());
      if (!take(")")) return wrong("\"(\" without \")\" in an expression");
      return value;
    }
    if (take("[")) return Result<Value>(items("]").map([](List l) { return Value(std::move(l)); }));
    if (c == '-') {
      ++at_;
      if (++nesting_ > kMaxNesting) return wrong("the expression is nested too deeply");
      ROOFTILE_TRY(const Value value, postfix());
      --nesting_;
      return skip_ > 0 ? Result<Value>(Value()) : arithmetic('-', Value(std::int64_t{0}), value);
    }
    if (c == '\'') return quoted();
    if (is_digit(c)) return number();
    if (starts_name(c)) return named();
    return wrong(fmt::format("unexpected \"{}\" in an expression", printable(text_.substr(at_))));
  }

  Result<Value> quoted() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos)
      return wrong("the closing ' of a string is missing in an expression");
    std::string words(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return Value(std::move(words));
  }

  Result<Value> number() {
    std::size_t end = at_;
    while (end < text_.size() && (is_digit(text_[end]) || text_[end] == '.')) ++end;
    const std::string_view digits = text_.substr(at_, end - at_);
    at_ = end;
    if (const auto value = parse_int(digits)) return Value(*value);
    if (const auto value = parse_double(digits)) return Value(*value);
    return wrong(fmt::format("\"{}\" is not a number", printable(digits)));
  }

  Result<List> items(std::string_view close) {
    List list;
    if (take(close)) return list;
    do {
      ROOFTILE_TRY(Value value, choice());
      list.push_back(std::move(value));
    } while (take(","));
    if (!take(close)) return wrong(fmt::format("the closing \"{}\" of a list is missing", close));
    return list;
  }

  Result<Value> named() {
    std::size_t end = at_;
    while (end < text_.size() && (starts_name(text_[end]) || is_digit(text_[end]))) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    if (take("(")) return call(name);
    if (name == "true") return Value(true);
    if (name == "false") return Value(false);
    if (name == "null" || skip_ > 0) return Value();
    return scope_->value_of(name);
  }

  Result<Value> call(std::string_view name) {
    ROOFTILE_TRY(const List arguments, items(")"));
    std::vector<std::string_view> names;
    for (const Builtin& builtin : kBuiltins) {
      names.push_back(builtin.name);
      if (builtin.name != name) continue;
      if (arguments.size() < builtin.least || arguments.size() > builtin.most) {
        return wrong(fmt::format("{}() with {} arguments", name, arguments.size()));
      }
      return skip_ > 0 ? Result<Value>(Value()) : builtin.call(arguments);
    }
    return wrong(fmt::format("unknown function \"{}\"", printable(name)),
                 did_you_mean(name, names, "functions:"));
  }

  std::string_view text_;
  const Scope* scope_;
  std::size_t at_ = 0;
  int skip_ = 0;
  int nesting_ = 0;
};

}  // namespace

Result<Value> evaluate(std::string_view expression, const Scope& scope) {
  return Evaluation(expression, &scope).run();
}

Status check_expression(std::string_view expression) {
  ROOFTILE_CHECK(Evaluation(expression, nullptr).run());
  return {};
}

}  // namespace rooftile::graph
