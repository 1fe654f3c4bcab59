#include "table.hpp"

#include <algorithm>
#include <cmath>

#include "number.hpp"
#include "table_rows.hpp"

namespace sureline::text {

namespace {

// True for numbers like identifiers: leading zeros, or an exponent without a point or a sign.
bool like_identifier(std::string_view text) {
  if (text.size() > 1 && text[0] == '0' && is_digit(text[1])) return true;
  return text.find_first_of("eE") != std::string_view::npos && text.find_first_of(".+-") == std::string_view::npos;
}

}  // namespace

Table::Table(std::vector<TableColumn> given, std::vector<std::vector<int64_t>> crossings, const WordRule& rule,
             Tokenize how)
    : interactions(std::move(crossings)), words(rule), tokenize(std::move(how)) {
  columns.reserve(given.size());
  for (TableColumn& each : given) {
    PreparedColumn& column = columns.emplace_back();
    static_cast<TableColumn&>(column) = std::move(each);
    column.joined = column.nameless ? std::string() : column.name + "=";
    column.hash = hash_of(column.name);
    column.missing_hash = hash_of(column.joined);
  }
  for (const std::vector<int64_t>& interaction : interactions)
    for (const int64_t k : interaction) columns[size_t(k)].crossed = true;
}

template <class Scalar>
TableRows<Scalar>::TableRows(const Table& table, int bits, const Options& options, NameTable* names, int64_t every)
    : table_(table),
      columns_{Columns::signed_, bits},
      options_(options),
      names_(names),
      every_(every),
      words_(table.words, table.tokenize),
      of_column_(table.columns.size()) {}

template <class Scalar>
void TableRows<Scalar>::allocate(int64_t rows, int64_t features) {
  chunk.starts.allocate(rows + 1);
  chunk.labels.allocate(rows);
  chunk.indices.allocate(features);
  chunk.values.allocate(features);
  chunk.starts.push(0);
}

template <class Scalar>
void TableRows<Scalar>::begin_row() {
  first_ = chunk.indices.size();
  n_emitted_ = 0;
  counts_names_ = names_ && chunk.n_rows() % every_ == 0;
  made_.clear();
  text_.clear();
  if (!table_.interactions.empty()) std::fill(of_column_.begin(), of_column_.end(), std::pair<size_t, size_t>());
}

template <class Scalar>
void TableRows<Scalar>::drop_row() {
  chunk.indices.resize(first_);
  chunk.values.resize(first_);
}

template <class Scalar>
bool TableRows<Scalar>::fault(std::string reason) {
  reason_ = std::move(reason);
  return false;
}

template <class Scalar>
bool TableRows<Scalar>::emit(uint32_t hash, std::string_view name, double value) {
  if (counts_names_ || keeps_names_) {
    name = keeps_names_ ? name : name.substr(0, kCounted);
    if (text_.size() + name.size() > kMostText)
      return fault("the row has more than " + std::to_string(kMostText) + " characters in the names of its features");
    made_.push_back({hash, text_.size(), name.size(), value});
    text_ += name;
  }
  if (value == 0) return true;
  const auto rounded = static_cast<Scalar>(columns_.sign(hash) * value);
  if (!std::isfinite(rounded)) return fault("the value of feature " + shown(name) + " is out of range");
  if (++n_emitted_ > options_.max_features)
    return fault("the row has more than " + std::to_string(options_.max_features) + " features (max_features)");
  if (chunk.indices.size() == chunk.indices.capacity()) chunk.indices.grow(), chunk.values.grow();
  chunk.indices.push(columns_.column(hash));
  chunk.values.push(rounded);
  return true;
}

template <class Scalar>
bool TableRows<Scalar>::emit_joined(const PreparedColumn& column, std::string_view text, double value) {
  if (int64_t(column.joined.size() + text.size()) > options_.max_name)
    return fault("the feature " + shown(column.name) + " has a name of more than " + std::to_string(options_.max_name) +
                 " bytes (max_name)");
  joined_.assign(column.joined);
  joined_ += text;
  return emit(hash_of(joined_), joined_, value);
}

template <class Scalar>
bool TableRows<Scalar>::emit_number(const PreparedColumn& column, double value, std::string_view written) {
  if (!std::isfinite(value))
    return fault((written.empty() ? value < 0 ? "-inf" : "inf" : std::string(written.substr(0, 40))) +
                 " is not a number that can be learned from");
  return emit(column.hash, column.name, value);
}

template <class Scalar>
bool TableRows<Scalar>::add(size_t k, const Cell& cell) {
  const PreparedColumn& column = table_.columns[k];
  if (!column.crossed) return add_as(column, cell);
  keeps_names_ = true;
  of_column_[k].first = made_.size();
  const bool fits = add_as(column, cell);
  of_column_[k].second = made_.size();
  keeps_names_ = false;
  return fits;
}

template <class Scalar>
bool TableRows<Scalar>::add_other(std::string_view name, const Cell& cell) {
  PreparedColumn column;
  column.name = name;
  column.joined = column.name + "=";
  column.hash = hash_of(name);
  if (int64_t(name.size()) > options_.max_name)
    return fault("the feature " + shown(name) + " has a name of more than " + std::to_string(options_.max_name) +
                 " bytes (max_name)");
  return add_as(column, cell);
}

template <class Scalar>
std::string TableRows<Scalar>::unfit(const PreparedColumn& column, std::string_view written, const char* kind) const {
  const bool plain = column.name.find_first_of(" ,\t\"'*?[") == std::string::npos;
  const std::string name = plain ? column.name : shown(column.name);
  return shown(written) + " is not " + kind + ", and the first rows of the column " + shown(column.name) +
         " were; training with --categorical " + name + " or --text " + name + " reads it otherwise, with --ignore " +
         name + " leaves it out";
}

template <class Scalar>
bool TableRows<Scalar>::add_as(const PreparedColumn& column, const Cell& cell) {
  std::string_view written;
  if (cell.type == Cell::text) {
    written = trimmed(cell.characters);
    if (!column.nameless && written.size() <= 4 && says_missing(written)) return add_missing(column);
  } else if (cell.type == Cell::missing || (cell.type == Cell::number && std::isnan(cell.value))) {
    return add_missing(column);
  }
  double value = cell.value;
  switch (column.kind) {
    case ColumnKind::numeric:
      if (cell.type == Cell::text) {
        const bool plain = column.how == Written::plain;
        const Reading reading = plain ? number_of(written, value) : number_of(written, column.how, value);
        if (reading == Reading::none) return fault(unfit(column, written, example_of(column.how, false)));
        if (reading == Reading::not_finite) value = INFINITY;
      } else if (cell.type != Cell::number && cell.type != Cell::boolean) {
        return fault(unfit(column, cell.type == Cell::time ? time_text(cell.micros) : "a list", "a number"));
      }
      return emit_number(column, value - column.center, written);
    case ColumnKind::boolean:
      if (cell.type == Cell::text) {
        const int truth = truth_of(written);
        if (truth >= 0) return emit(column.hash, column.name, truth);
        if (number_of(written, value) != Reading::ok) value = 2;
      }
      if ((cell.type <= Cell::text) && (value == 0 || value == 1)) return emit(column.hash, column.name, value);
      return fault(unfit(column, cell.type == Cell::text ? written : "a number or a list", "true or false"));
    case ColumnKind::categorical:
      return add_category(column, cell);
    case ColumnKind::text:
      return add_text(column, cell);
    case ColumnKind::timestamp:
      return add_time(column, cell);
    case ColumnKind::list:
      return add_list(column, cell);
    default:
      return add_mixed(column, cell);
  }
}

template <class Scalar>
bool TableRows<Scalar>::add_missing(const PreparedColumn& column) {
  return !column.indicates_missing || emit(column.missing_hash, column.joined, 1);
}

template <class Scalar>
bool TableRows<Scalar>::add_category(const PreparedColumn& column, const Cell& cell) {
  switch (cell.type) {
    case Cell::text:
      return emit_joined(column, category_of(cell.characters), 1);
    case Cell::number:
      if (!std::isfinite(cell.value)) return emit_number(column, cell.value, {});
      return emit_joined(column, number_text(cell.value), 1);
    case Cell::boolean:
      return emit_joined(column, cell.value != 0 ? "true" : "false", 1);
    case Cell::time:
      return emit_joined(column, time_text(cell.micros), 1);
    default:
      return fault(unfit(column, "a list", "one category"));
  }
}

template <class Scalar>
bool TableRows<Scalar>::add_mixed(const PreparedColumn& column, const Cell& cell) {
  double value = cell.value;
  switch (cell.type) {
    case Cell::text: {
      const std::string_view written = trimmed(cell.characters);
      if (number_of(written, value) == Reading::ok && !like_identifier(written))
        return emit(column.hash, column.name, value);
      return add_category(column, cell);
    }
    case Cell::number:
      return emit_number(column, value, {});
    case Cell::boolean:
      return emit(column.hash, column.name, value);
    case Cell::time:
      return add_category(column, cell);
    default:
      return add_list(column, cell);
  }
}

template <class Scalar>
bool TableRows<Scalar>::add_interaction(const std::vector<int64_t>& columns) {
  double ways = 1;
  for (const int64_t k : columns) ways *= double(of_column_[size_t(k)].second - of_column_[size_t(k)].first);
  if (ways > double(options_.max_features))
    return fault("the row has more than " + std::to_string(options_.max_features) + " features (max_features)");
  if (ways == 0) return true;
  std::vector<size_t> at;
  for (const int64_t k : columns) at.push_back(of_column_[size_t(k)].first);
  std::string name;
  while (true) {
    name.clear();
    double value = 1;
    for (size_t i = 0; i < at.size(); ++i) {
      const Made& part = made_[at[i]];
      if (i) name += '*';
      name.append(text_, part.begin, part.size);
      value *= part.value;
    }
    if (int64_t(name.size()) > options_.max_name)
      return fault("the feature " + shown(name) + " has a name of more than " + std::to_string(options_.max_name) +
                   " bytes (max_name)");
    if (value != 0 && !emit(hash_of(name), name, value)) return false;
    size_t i = at.size();
    while (i > 0 && ++at[i - 1] == of_column_[size_t(columns[i - 1])].second)
      --i, at[i] = of_column_[size_t(columns[i])].first;
    if (i == 0) return true;
  }
}

template <class Scalar>
bool TableRows<Scalar>::end_row(int32_t label) {
  for (const std::vector<int64_t>& interaction : table_.interactions)
    if (!add_interaction(interaction)) return false;
  int32_t index = 0;
  if (!order_.arrange(chunk, first_, columns_.bits, index))
    return fault("the values that share column " + std::to_string(index) + " add up to infinity");
  if (counts_names_)
    for (const Made& each : made_)
      if (each.value != 0)
        names_->add(each.hash, every_, [&](NameTable::Writer& writer) {
          writer.append(std::string_view(text_).substr(each.begin, each.size));
        });
  if (chunk.labels.size() == chunk.labels.capacity()) chunk.labels.grow(), chunk.starts.grow();
  const int64_t size = chunk.indices.size();
  if (size > first_) chunk.n_columns = std::max<int64_t>(chunk.n_columns, chunk.indices.data()[size - 1] + 1);
  chunk.labels.push(label);
  chunk.starts.push(static_cast<int32_t>(size));
  return true;
}

template class TableRows<float>;
template class TableRows<double>;

}  // namespace sureline::text
