// Any numbers as a table of names: refused, or a table that keeps its promises through merges and comes back as it was.
//
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -Isrc/core
//     fuzz/names_fuzz.cpp src/core/text/names.cpp -o names_fuzz && ./names_fuzz -max_len=4096 -runs=1000000
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "text/names.hpp"

using namespace sureline::text;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// The bytes of the input, one after the other, and zeros when there are no more.
class Source {
 public:
  Source(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint8_t byte() { return size_ ? (--size_, *data_++) : 0; }
  // Small numbers mostly, some large, and the ends of the range.
  int64_t number() {
    const uint8_t kind = byte();
    if (kind < 200) return kind % 16;
    if (kind < 220) return byte();
    int64_t value = 0;
    for (int i = 0; i < 8; ++i) value = int64_t(uint64_t(value) << 8 | byte());
    return value;
  }
  template <class T>
  void fill(std::vector<T>& items, size_t n) {
    for (size_t i = 0; i < n; ++i) items.push_back(static_cast<T>(number()));
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

bool same(const NameTable::Content& a, const NameTable::Content& b) {
  return a.capacity == b.capacity && a.total == b.total && a.error == b.error && a.level == b.level &&
         a.columns == b.columns && a.names == b.names && a.offsets == b.offsets && a.hashes == b.hashes &&
         a.counts == b.counts && a.sampled_hashes == b.sampled_hashes && a.sampled_shared == b.sampled_shared;
}

void comes_back(const NameTable& table) {
  NameTable again;
  require(!NameTable::restore(table.content(), again));
  require(same(table.content(), again.content()));
  require(table.size() <= table.capacity() && table.n_shared() <= table.n_columns());
  int64_t total = 0;
  for (const NameTable::Name& name : table.top(NameTable::kMostCapacity)) {
    total += name.count;
    const auto names = table.at(name.column);
    require(std::any_of(names.begin(), names.end(), [&](const auto& other) { return other.hash == name.hash; }));
    require(name.text.size() <= NameTable::kLongestName);
  }
  require(total <= table.total());
}

// Names that were really counted, in the table and beside it.
void count(Source& source, NameTable& table, std::map<uint32_t, int64_t>& truth, size_t most) {
  for (size_t i = 0; i < most && !source.empty(); ++i) {
    const uint32_t hash = source.byte() * 0x01000193u;
    ++truth[hash];
    table.add(hash, 1, [hash](NameTable::Writer& writer) { writer.append(std::string(hash % 80, 'x')); });
  }
}

// Restores and, if that is not refused, goes on counting.
void try_content(const NameTable::Content& content, Source& source) {
  NameTable table;
  if (NameTable::restore(content, table)) return;
  if (content.columns.bits) require(same(table.content(), content));
  comes_back(table);
  NameTable other(NameTable::kDefaultCapacity, table.columns());
  std::map<uint32_t, int64_t> truth;
  count(source, other, truth, 64);
  table.merge(other);
  comes_back(table);
}

void any_content(Source& source) {
  NameTable::Content content;
  content.capacity = source.number();
  content.total = source.number();
  content.error = source.number();
  content.level = source.number();
  content.columns = {static_cast<Columns::Kind>(source.byte() % 4), int(source.byte() % 33)};
  const size_t n = source.byte() % 16;
  content.names.assign(source.byte() % 100, 'n');
  source.fill(content.offsets, source.byte() % 32);
  source.fill(content.hashes, n);
  source.fill(content.counts, source.byte() % 32);
  source.fill(content.sampled_hashes, source.byte() % 32);
  source.fill(content.sampled_shared, source.byte() % 32);
  try_content(content, source);
}

template <class T>
void damage(std::vector<T>& items, Source& source) {
  const size_t at = source.byte();
  if (source.byte() % 8 == 0)
    items.resize(at % 64);
  else if (!items.empty())
    items[at % items.size()] = static_cast<T>(source.number());
}

// A sound table in which some numbers are changed.
void damaged_content(Source& source) {
  const Columns columns{static_cast<Columns::Kind>(source.byte() % 3), 1 + source.byte() % Columns::kMostBits};
  NameTable table(1 + source.byte() % 16, columns);
  std::map<uint32_t, int64_t> truth;
  count(source, table, truth, source.byte() % 64);
  NameTable::Content content = table.content();
  for (int n = source.byte() % 4; n > 0; --n) switch (source.byte() % 12) {
      case 0:
        content.capacity = source.number();
        break;
      case 1:
        content.total = source.number();
        break;
      case 2:
        content.error = source.number();
        break;
      case 3:
        content.level = source.number();
        break;
      case 4:
        content.columns.bits = source.byte();
        break;
      case 5:
        content.columns.kind = static_cast<Columns::Kind>(source.byte());
        break;
      case 6:
        content.names.resize(source.byte());
        break;
      case 7:
        damage(content.offsets, source);
        break;
      case 8:
        damage(content.hashes, source);
        break;
      case 9:
        damage(content.counts, source);
        break;
      case 10:
        damage(content.sampled_hashes, source);
        break;
      default:
        damage(content.sampled_shared, source);
    }
  try_content(content, source);
}

// A stream cut into chunks: the counts are as promised, and a table that was written and read goes on like one that was
// not.
void any_stream(Source& source) {
  const Columns columns{static_cast<Columns::Kind>(source.byte() % 3), 1 + source.byte() % Columns::kMostBits};
  NameTable table(1 + source.byte() % 32, columns), resumed(table.capacity(), columns);
  const size_t chunk_size = 1 + source.byte() % 128, stop = source.byte() % 8;
  const int64_t chunk_capacity = 1 + source.byte() % 64;
  std::map<uint32_t, int64_t> truth;
  for (size_t i = 0; !source.empty(); ++i) {
    NameTable chunk(chunk_capacity, columns);
    count(source, chunk, truth, chunk_size);
    if (i == stop) {
      comes_back(chunk);
      NameTable again;
      require(!NameTable::restore(resumed.content(), again));
      resumed = std::move(again);
    }
    table.merge(chunk);
    resumed.merge(chunk);
  }
  comes_back(table);
  require(same(table.content(), resumed.content()));
  require(table.error() <= table.total() / (std::min(table.capacity(), chunk_capacity) / 2 + 1));
  std::map<uint32_t, int64_t> counts;
  for (const NameTable::Name& name : table.top(NameTable::kMostCapacity)) counts[name.hash] = name.count;
  std::map<int32_t, int> names_of_columns;
  for (const auto& [hash, n] : truth) {
    ++names_of_columns[columns.column(hash)];
    require(counts[hash] <= n && n <= counts[hash] + table.error());
  }
  require(table.n_columns() == int64_t(names_of_columns.size()));
  require(table.n_shared() ==
          std::count_if(names_of_columns.begin(), names_of_columns.end(), [](const auto& c) { return c.second > 1; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Source source(data, size);
  switch (source.byte() % 3) {
    case 0:
      any_content(source);
      break;
    case 1:
      damaged_content(source);
      break;
    default:
      any_stream(source);
  }
  return 0;
}
