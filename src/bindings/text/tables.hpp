// Tables held by Python, and the parts that all readers of their rows share.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "bindings.hpp"
#include "hashed.hpp"
#include "text/table.hpp"

struct HeldTable {
  sureline::text::Table table;
  std::unordered_map<std::string, size_t> places;
};

inline sureline::text::Options table_options(bool skip_faults, bool first_block, int64_t max_features,
                                             int64_t max_name) {
  sureline::text::Options options;
  options.skip_faults = skip_faults;
  options.first_block = first_block;
  options.max_features = limit("max_features", max_features);
  options.max_name = limit("max_name", max_name);
  return options;
}

inline sureline::text::NameTable* table_of_names(HashedChunk& result, int64_t bits, int64_t collect_names) {
  using namespace sureline::text;
  check_hashing(bits, collect_names);
  if (!collect_names) return nullptr;
  return &result.names.emplace(NameTable::kDefaultCapacity, Columns{Columns::signed_, int(bits)});
}

// Ends a row; one with a fault stays as an empty one, and its line is its number, its column that of the table, from 1.
template <class S>
void finish_row(sureline::text::TableRows<S>& rows, bool fine, size_t column, int64_t row) {
  if (fine && (column = 0, rows.end_row(-1))) return;
  rows.drop_row();
  ++rows.chunk.n_faults;
  rows.chunk.faults.push_back({row + 1, int64_t(column), rows.take_reason()});
  rows.begin_row();
  if (!rows.end_row(-1)) sureline::bindings::refuse("An empty row cannot be read.");
}

void bind_encode_columns(nanobind::module_& m);  // encode_columns.cpp: columns of Arrow
void bind_encode_rows(nanobind::module_& m);     // encode_rows.cpp: dicts
