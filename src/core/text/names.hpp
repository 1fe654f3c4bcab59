// Names of hashed columns: the most frequent ones, within a bounded table, and the number of shared columns.
//
// The rule is that of Misra & Gries (1982) in the form that can be merged (Agarwal et al., PODS 2012). A name is known
// by its full 32-bit hash, and two names with the same one are taken for the first of them. The table counts every name
// until it has more than `capacity`. Then the count at place capacity/2 + 1, from the top, is subtracted from all
// counts, names with nothing left are dropped, and what was subtracted is added to `error`. Each time at least
// capacity/2 + 1 names lose that much, so that for n occurrences in all
//
//     count <= true count <= count + error,   error <= n / (capacity/2 + 1),
//
// and every name that was seen more often than `error` is in the table. Nothing has been dropped while error is 0: then
// the counts are exact. (Where only every k-th row is looked at, each occurrence in it counts k times, and "true" is
// what these rows say.) The same holds after tables are merged, in any order; the table that comes out depends only on
// the tables that went in and on their order, never on where things lie in memory.
//
// A column is shared if two names, told apart by their full hashes, have it. While error is 0 the shared columns are
// counted in the table, exactly. From then on they are counted in a sample: the columns whose mixed number has `level`
// zero bits at its end, with the least hash seen in each and whether there was another one. The level goes up when more
// than kSampled columns are in the sample. At level 0 the count is exact, after that 2^level times that of the sample.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hash_slots.hpp"
#include "murmur.hpp"

namespace sureline::text {

// At most kSampled columns, and whether names share them.
class ColumnSample {
 public:
  static constexpr size_t kSampled = 16384;
  static constexpr int kMostLevels = 31;

  struct Slot {
    uint32_t key = 0;   // the column
    uint32_t hash = 0;  // the least hash seen
    uint8_t state = 0;  // free, one name, or shared
    bool is_free() const { return state == 0; }
  };
  enum : uint8_t { one = 1, shared = 2 };

  bool takes(int32_t column, int level) const { return (mix32(uint32_t(column)) & ((1u << level) - 1)) == 0; }
  void see(const Columns& columns, uint32_t hash, uint8_t state = one);
  void raise_level(int level);
  int level() const { return level_; }
  const HashSlots<Slot>& slots() const { return slots_; }
  int64_t n_columns() const { return int64_t(slots_.size()) << level_; }
  int64_t n_shared() const { return n_shared_ << level_; }

 private:
  HashSlots<Slot> slots_;
  int64_t n_shared_ = 0;
  int level_ = 0;
};

class NameTable {
 public:
  static constexpr int64_t kDefaultCapacity = 65536, kMostCapacity = 1 << 20, kMostTotal = int64_t{1} << 62;
  static constexpr size_t kLongestName = 64;  // bytes; longer ones are cut and end in three dots

  struct Slot {
    uint32_t key = 0;     // the full hash
    uint32_t offset = 0;  // position of the name: a byte with its length, then the name
    int64_t count = 0;
    bool is_free() const { return count == 0; }
  };

  // Spells a new name: at most kLongestName bytes, longer names are cut.
  class Writer {
   public:
    void append(std::string_view part) {
      const size_t room = kLongestName - size_, taken = part.size() < room ? part.size() : room;
      part.copy(text_ + size_, taken);
      size_ += taken;
      cut_ |= taken < part.size();
    }
    std::string_view finish();

   private:
    char text_[kLongestName];
    size_t size_ = 0;
    bool cut_ = false;
  };

  // The state of a name.
  struct Name {
    int32_t column;
    int sign;
    uint32_t hash;
    int64_t count;
    std::string_view text;  // inside the table
  };

  // The table as plain numbers: the names in the order of their hashes.
  struct Content {
    int64_t capacity = 0, total = 0, error = 0, level = 0;
    Columns columns;
    std::string names;             // in sequence
    std::vector<int64_t> offsets;  // where names begin, and the end of the last one
    std::vector<uint32_t> hashes;
    std::vector<int64_t> counts;
    std::vector<uint32_t> sampled_hashes;  // in the order of their columns
    std::vector<uint8_t> sampled_shared;
  };

  explicit NameTable(int64_t capacity = kDefaultCapacity) : capacity_(capacity) {}
  NameTable(int64_t capacity, const Columns& columns) : capacity_(capacity), columns_(columns), has_columns_(true) {}

  // `n` more occurrences; `write` is called with a Writer if the name is not in the table.
  template <class Write>
  void add(uint32_t hash, int64_t n, Write&& write) {
    total_ += n;
    Slot* slot = slots_.find(hash);
    if (!slot->is_free()) {
      slot->count += n;
      return;
    }
    Writer writer;
    write(writer);
    insert(slot, hash, n, writer.finish());
    if (int64_t(slots_.size()) > capacity_) shrink();
  }
  void prefetch(uint32_t hash) const { slots_.prefetch(hash); }

  // True if the other table's columns are made in the same way, so that it can be merged.
  bool fits(const NameTable& other) const { return !has_columns_ || !other.has_columns_ || columns_ == other.columns_; }
  void merge(const NameTable& other);

  int64_t size() const { return int64_t(slots_.size()); }
  int64_t capacity() const { return capacity_; }
  int64_t total() const { return total_; }
  int64_t error() const { return error_; }
  bool has_columns() const { return has_columns_; }
  const Columns& columns() const { return columns_; }
  bool counts_columns_exactly() const { return !sample_ || sample_->level() == 0; }
  int64_t n_columns() const { return column_counts().first; }
  int64_t n_shared() const { return column_counts().second; }

  std::vector<Name> at(int32_t column) const;  // seen most first
  std::vector<Name> top(int64_t n) const;      // seen most first

  Content content() const;
  // Checks all values; returns the fault, or nothing if the table was restored.
  static std::optional<std::string> restore(const Content& content, NameTable& table);

 private:
  std::string_view text_of(const Slot& slot) const {
    return {text_.data() + slot.offset + 1, static_cast<unsigned char>(text_[slot.offset])};
  }
  Name name_of(const Slot& slot) const {
    return {columns_.column(slot.key), columns_.sign(slot.key), slot.key, slot.count, text_of(slot)};
  }
  void insert(Slot* slot, uint32_t hash, int64_t count, std::string_view text);
  void shrink();
  std::pair<int64_t, int64_t> column_counts() const;
  std::vector<uint32_t> sorted_hashes() const;

  HashSlots<Slot> slots_;
  std::vector<char> text_;
  int64_t capacity_, total_ = 0, error_ = 0;
  std::optional<ColumnSample> sample_;  // from the first time on that names were dropped
  Columns columns_;
  bool has_columns_ = false;
  mutable std::vector<uint64_t> by_column_;  // column and hash of all names, ascending; made when asked for
};

}  // namespace sureline::text
