// SPDX-License-Identifier: Apache-2.0
//
// What every command answers with, before it is bytes: one description per result (describe.h),
// from which every format is written (writer.h).
//
// A Document is a tree of data and views of it. The tree is what `--format json` prints: typed
// values under the keys of docs/format. Tables do not hold numbers: a column says where in a row
// its value is, what it is called, in which unit it is, and how soon a narrow terminal does without
// it; each writer reads the same place and formats it for itself. So no number is stated twice, and
// a tree that was read back from JSON gives the same document. Facts, notes and warnings are prose,
// for people only: nothing reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/timeline.h"
#include "rooftile/provenance.h"

namespace rooftile::roofline {
struct Chart;
}

namespace rooftile::report {

/// A JSON value that can be copied and compared; keeps nlohmann's header out of this one.
class Data {
 public:
  Data();  ///< null
  Data(nlohmann::ordered_json json);
  Data(const Data& other);
  Data(Data&& other) noexcept;
  Data& operator=(Data other) noexcept;
  ~Data();

  [[nodiscard]] const nlohmann::ordered_json& json() const { return *json_; }
  [[nodiscard]] nlohmann::ordered_json& json() { return *json_; }
  bool operator==(const Data& other) const;

 private:
  std::unique_ptr<nlohmann::ordered_json> json_;
};

/// What a number of the tree counts. Text and pictures show it with a prefix and few digits, data
/// formats as it is.
enum class Unit : std::uint8_t {
  None,                ///< names, words, yes and no
  Count,               ///< 36
  Amount,              ///< 1.54 B: a count with a prefix
  Milliseconds,        ///< 12.3 ms
  SignedMilliseconds,  ///< +12.3 ms
  Bytes,               ///< 1.24 GB
  Flops,               ///< 54.2 GFLOP
  BytesPerSecond,      ///< 3.35 TB/s
  FlopsPerSecond,      ///< 66.9 TFLOP/s
  Fraction,            ///< 35.2 %
  Percent,             ///< the same in whole numbers: 35 %
  SignedFraction,      ///< +35.2 %
  Factor,              ///< 1.43x
  Number,              ///< up to four significant digits
  Decimals,            ///< 0.25: two of them
  Phase,               ///< "fwd" where room is short
};
/// "ms", "bytes", "fraction"; empty for names.
std::string_view name_of(Unit unit);

/// How long a column stays when the terminal is narrow.
enum class Rank : std::uint8_t {
  Identity,   ///< says which row it is: never left out, never cut (it continues on the next line)
  Essential,  ///< never left out
  Useful,
  Detail,
  Extra,  ///< only where there is room; the first to go
};

/// A value of a row: where it is ("traffic_bytes/l1") and what CSV calls it.
struct Field {
  std::string at;
  std::string name = {};  ///< empty: `at` with '_' for '/'
  double per = 1;         ///< shown and written in multiples of this: 1e12 for TFLOP/s
};

enum class Form : std::uint8_t {
  Plain,
  Prose,     ///< may continue on the next line
  Shape,     ///< shortened in the middle, after everything else gave way
  Bar,       ///< of its share of the largest value; for people only, and only where there is room
  DataOnly,  ///< not shown to people
  Shown,     ///< for people only: other columns have its values
};

struct Column {
  std::string title;  ///< for people
  /// Several are shown as one: "72.8/74.8/181"; in CSV each is a column.
  std::vector<Field> fields;
  Unit unit = Unit::None;
  Rank rank = Rank::Essential;
  Form form = Form::Plain;
  std::string hint = {};                     ///< what it means
  std::string_view join = "/";               ///< between several fields; " - " makes an interval
  std::optional<std::string> constant = {};  ///< the same in all rows, instead of fields
  bool sum = false;                          ///< adds up: shown for the rows that are not
  /// At: where this is false the value is a lower bound, ">=1.2".
  std::string lower_bound = {};
  std::string starred = {};  ///< at: where there is something, "152 %*"; a note says what
};

/// Rows of the tree, or rows of its own that are derived from it.
struct Rows {
  std::string at = {};     ///< an array of the tree: "/operators"
  std::string first = {};  ///< an object of the tree that is the first row
  Data own = {};
};

struct Table {
  std::string kind;  ///< "operator": which table a line of CSV is from
  std::string title = {};
  Rows rows;
  std::vector<Column> columns;
  Data more = {};   ///< rows that follow in every format: parts of a step that are not operators
  Data total = {};  ///< a last row, for people
  std::string order = {};  ///< people see the largest `at` first; empty: as in the tree
  std::string where = {};  ///< only rows that have a value there
  std::size_t top = 0;     ///< people see so many rows, the others as one sum; 0: all
  int indent = 0;
  bool shown = true;  ///< to people
  bool data = true;   ///< in CSV
};

/// Sentences with names, one below the other: "step  12.3 ms (80 % interval ...)".
struct Fact {
  std::string name, text;
};
struct Facts {
  std::string title = {};
  std::vector<Fact> rows;
};

/// A paragraph, or a list of them under a title.
struct Note {
  std::string title = {};
  std::vector<std::string> lines;
  bool list = false;       ///< items
  bool verbatim = false;   ///< lines that were laid out by hand (a plot of characters)
  bool text_only = false;  ///< the other formats show the same in another way
};

// Charts. Their rows are found as those of tables are.

struct BarSeries {
  std::string name, at;
  std::string low = {}, high = {};  ///< ends of a whisker
  std::string color = {};           ///< empty: of the row's `tone`
};
/// Horizontal bars, one row per label.
struct BarChart {
  std::string title;
  std::string axis;  ///< what the bars measure
  Unit unit = Unit::Number;
  Rows rows;
  std::string label, group = {};  ///< at; `group` stands before the label
  std::vector<BarSeries> series = {};
  std::string mark = {}, mark_name = {};  ///< at: a tick in every row, a bound for instance
  std::string remark = {};                ///< at: text on the right of the bars
  std::string remark_name = {};           ///< what the remarks are; empty: they say so themselves
  std::string tone = {};                  ///< at: which colour: a limiter, "good", "bad"
  struct Line {
    double value = 0;
    std::string text;
  };
  std::vector<Line> lines = {};  ///< roofs, "as it is"
  std::string note = {};
};

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< ascending
};
/// Curves on logarithmic axes with named ceilings.
struct CurveChart {
  std::string title, x_title, y_title;
  Unit x_unit = Unit::Number, y_unit = Unit::Number;
  std::vector<Curve> curves;
  struct Ceiling {
    std::string name, text;  ///< "DRAM", "DRAM 900 GB/s"
    double value = 0;
  };
  std::vector<Ceiling> ceilings;
  bool binary_x = false;
};

enum class RooflineView : std::uint8_t { Hierarchical, TimeBased };
/// Kernels under roofs.
struct RooflineChart {
  std::shared_ptr<const roofline::Chart> chart;
  RooflineView view = RooflineView::Hierarchical;
  bool in_data = true;  ///< the document's tree is that of the chart (docs/format/roofline.md)
};

using Figure = std::variant<BarChart, CurveChart, RooflineChart>;
using Section = std::variant<Facts, Table, Note, Figure>;

enum class Tone : std::uint8_t { Neutral, Good, Bad };

/// The answer in one line, before everything else.
struct Verdict {
  std::string text;
  Tone tone = Tone::Neutral;
};

/// Several warnings of a kind are one line: "l4, t4: ...".
struct Warning {
  std::string text;
  std::string subject = {};  ///< whom it is about, where a document has several: a GPU
  std::string kind = {};     ///< empty: the text without its numbers
};

struct Document {
  std::string title, subtitle;
  std::vector<Verdict> verdict;
  Data data;
  std::vector<Section> sections;
  MakeTimeline timeline;  ///< of a step; empty: there is none
  std::vector<Warning> warnings;
  std::string warning_label = "warning";
  std::optional<ProvenanceReport> provenance;
  /// By format: files whose layout another layer owns, because it reads them too (the machine file
  /// and the samples of characterize). They are what that format is.
  std::map<std::string, std::string, std::less<>> files;
};

/// The rows that a table or a chart shows; they live as long as the document.
std::vector<const nlohmann::ordered_json*> rows_of(const Document& document, const Rows& rows);
/// The value of a row, divided by what it is shown in; null where there is none.
nlohmann::ordered_json value_of(const nlohmann::ordered_json& row, const Field& field);
/// Null where there is none.
const nlohmann::ordered_json& value_at(const nlohmann::ordered_json& row, std::string_view at);

/// For people: "12.3 ms", "-" for null.
std::string shown(const nlohmann::ordered_json& value, Unit unit);

/// One line per kind, with those it is about.
std::vector<std::string> folded(const std::vector<Warning>& warnings);
std::vector<Warning> warnings_of(const std::vector<std::string>& texts);

}  // namespace rooftile::report
