// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a form, listed once: their names in a file of weights, the unit, what a file may
// hold, and where a fit begins. Reading, writing, hash, fit and documents go through the lists, so
// a number that is not in one does not exist outside the code.
#pragma once

#include <span>

namespace rooftile::cost {

template <typename Form>
struct Parameter {
  const char* name;
  double Form::* value;
  const char* unit;  ///< "s", "clocks"; "1" for ratios
  const char* doc;
  double low,
      high;      ///< what a file may hold: ten to a hundred times more or less than any fit gave
  double start;  ///< of a fit: round, and independent of what was found before
  bool fitted;   ///< else assumed: no rows decide it, and it keeps its start
};

/// A form whose list is parameters_of(form).
template <typename Form>
concept Listed = requires(const Form& form) {
  { parameters_of(form) } -> std::convertible_to<std::span<const Parameter<Form>>>;
};

/// The form at the starts of its list.
template <Listed Form>
Form starting() {
  Form form;
  for (const Parameter<Form>& p : parameters_of(form)) form.*p.value = p.start;
  return form;
}

}  // namespace rooftile::cost
