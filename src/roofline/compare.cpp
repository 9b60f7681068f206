// SPDX-License-Identifier: Apache-2.0
#include "roofline/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "roofline/operation.h"

namespace rooftile::roofline {

namespace {

using profile::KernelRecord;

using Records = std::vector<const KernelRecord*>;
using Groups = std::map<std::string, std::pair<Records, Records>>;

std::string use_class(const KernelRecord& record) {
  if (!record.flops) return "FLOPs not counted";
  if (record.zero_ai()) return "zero-AI";
  return uses_tensor(record) ? "tensor cores" : "vector";
}

std::optional<KernelRecord> sum_of(const Records& records, const std::string& name) {
  if (records.empty()) return std::nullopt;
  std::vector<KernelRecord> copies;
  for (const KernelRecord* record : records) copies.push_back(*record);
  return sum_records(copies, name);
}

/// The number format and units that did most of the FLOPs.
std::string main_rate(const KernelRecord& record) {
  const auto most = std::max_element(
      record.flops_by.begin(), record.flops_by.end(),
      [](const auto& a, const auto& b) { return a.second.base() < b.second.base(); });
  const bool any = most != record.flops_by.end() && most->second.base() > 0.0;
  return any ? name_of(most->first) : std::string();
}

std::string change_of(const Difference& row) {
  if (!row.first) return "appeared";
  if (!row.second) return "vanished";
  const std::string before = main_rate(*row.first), after = main_rate(*row.second);
  if (before.empty() || after.empty() || before == after) return {};
  return before + " -> " + after;
}

Difference row_of(const std::string& name, PairedBy paired, const Records& first,
                  const Records& second) {
  Difference row{.name = name,
                 .short_name = short_kernel_name(name),
                 .first = sum_of(first, name),
                 .second = sum_of(second, name),
                 .delta = {},
                 .paired = paired};
  const auto time = [](const std::optional<KernelRecord>& record) {
    return record ? record->time.value_or(Seconds{}) : Seconds{};
  };
  row.delta = time(row.second) - time(row.first);
  row.change = change_of(row);
  return row;
}

void sort_rows(std::vector<Difference>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Difference& a, const Difference& b) {
    return std::abs(a.delta.base()) > std::abs(b.delta.base());
  });
}

using Key = std::function<std::string(const KernelRecord&)>;

Groups grouped(const Records& first, const Records& second, const Key& key) {
  Groups groups;
  for (const KernelRecord* record : first) groups[key(*record)].first.push_back(record);
  for (const KernelRecord* record : second) groups[key(*record)].second.push_back(record);
  return groups;
}

/// Rows of all groups that both runs have; the rest stays in the lists.
void pair_by(PairedBy paired, const Key& key, Records& first, Records& second,
             std::vector<Difference>& rows) {
  Records left, right;
  for (const auto& [name, sides] : grouped(first, second, key)) {
    if (sides.first.empty() || sides.second.empty() || name.empty()) {
      left.insert(left.end(), sides.first.begin(), sides.first.end());
      right.insert(right.end(), sides.second.begin(), sides.second.end());
      continue;
    }
    const std::string shown =
        paired == PairedBy::Name ? name
        : paired == PairedBy::Operation
            ? sides.first.front()->name
            : fmt::format("{} ({} and {} kernels)", name, sides.first.size(), sides.second.size());
    rows.push_back(row_of(shown, paired, sides.first, sides.second));
    if (paired == PairedBy::Class) rows.back().short_name = shown;
  }
  first = std::move(left);
  second = std::move(right);
}

Seconds time_of(const Records& records) {
  Seconds sum;
  for (const KernelRecord* record : records) sum += record->time.value_or(Seconds{});
  return sum;
}

std::string class_key(const KernelRecord& record) {
  const std::string_view kind = operation_class(record.name);
  return kind == "other" ? std::string() : std::string(kind);
}

/// Classes of which one run has kernels that no name of the other one tells: half of the products
/// on the matrix units, say. They are compared as classes, else that part would have no other side.
std::set<std::string> uneven_classes(const Records& first, const Records& second) {
  constexpr double kMuch = 0.02;  // of a run's time
  Records left, right;
  const auto operation = [](const KernelRecord& r) { return format_free_name(r.name); };
  for (const auto& [name, sides] : grouped(first, second, operation)) {
    if (!name.empty() && !sides.first.empty() && !sides.second.empty()) continue;
    left.insert(left.end(), sides.first.begin(), sides.first.end());
    right.insert(right.end(), sides.second.begin(), sides.second.end());
  }
  std::set<std::string> uneven;
  for (const auto& [kind, sides] : grouped(left, right, class_key)) {
    const bool one = sides.first.empty() != sides.second.empty();
    const bool much = time_of(sides.first) > time_of(first) * kMuch ||
                      time_of(sides.second) > time_of(second) * kMuch;
    if (one && much && !kind.empty()) uneven.insert(kind);
  }
  return uneven;
}

Records pointers_to(const profile::Run& run) {
  Records records;
  for (const KernelRecord& record : run.kernels) records.push_back(&record);
  return records;
}

double paired_fraction(const std::vector<Difference>& rows, const Records& all,
                       std::optional<KernelRecord> Difference::* side) {
  double paired = 0.0, whole = 0.0;
  for (const Difference& row : rows) {
    if (row.first && row.second) paired += (row.*side)->time.value_or(Seconds{}).base();
  }
  for (const KernelRecord* record : all) whole += record->time.value_or(Seconds{}).base();
  return whole > 0.0 ? paired / whole : 0.0;
}

}  // namespace

Comparison compare(const profile::Run& first, const profile::Run& second) {
  Comparison comparison{.first = first.label, .second = second.label};
  Records left = pointers_to(first), right = pointers_to(second);
  const Records all_left = left, all_right = right;
  std::vector<Difference>& rows = comparison.kernels;
  pair_by(PairedBy::Name, [](const KernelRecord& r) { return r.name; }, left, right, rows);
  const std::set<std::string> uneven = uneven_classes(left, right);
  pair_by(
      PairedBy::Operation,
      [&uneven](const KernelRecord& r) {
        return uneven.contains(class_key(r)) ? std::string() : format_free_name(r.name);
      },
      left, right, rows);
  pair_by(PairedBy::Class, class_key, left, right, rows);
  for (const KernelRecord* record : left) {
    rows.push_back(row_of(record->name, PairedBy::Nothing, {record}, {}));
  }
  for (const KernelRecord* record : right) {
    rows.push_back(row_of(record->name, PairedBy::Nothing, {}, {record}));
  }
  sort_rows(rows);
  comparison.paired_first = paired_fraction(rows, all_left, &Difference::first);
  comparison.paired_second = paired_fraction(rows, all_right, &Difference::second);
  for (const auto& [name, sides] : grouped(all_left, all_right, use_class)) {
    comparison.classes.push_back(row_of(name, PairedBy::Class, sides.first, sides.second));
    comparison.classes.back().short_name = name;
  }
  sort_rows(comparison.classes);
  return comparison;
}

}  // namespace rooftile::roofline
