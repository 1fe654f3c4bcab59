#include "names.hpp"

#include <algorithm>
#include <functional>

namespace sureline::text {

void ColumnSample::see(const Columns& columns, uint32_t hash, uint8_t state) {
  const int32_t column = columns.column(hash);
  if (!takes(column, level_)) return;
  Slot* slot = slots_.find(uint32_t(column));
  if (slot->is_free()) {
    *slot = {uint32_t(column), hash, state};
    n_shared_ += state == shared;
    slots_.added();
    while (slots_.size() > kSampled) raise_level(level_ + 1);
    return;
  }
  if (slot->hash != hash) state = shared;
  if (state == shared && slot->state != shared) slot->state = shared, ++n_shared_;
  slot->hash = std::min(slot->hash, hash);
}

void ColumnSample::raise_level(int level) {
  level_ = std::max(level_, level);
  n_shared_ = 0;
  slots_.keep_if([this](const Slot& slot) {
    const bool kept = takes(int32_t(slot.key), level_);
    n_shared_ += kept && slot.state == shared;
    return kept;
  });
}

std::string_view NameTable::Writer::finish() {
  static constexpr std::string_view dots = "\xe2\x80\xa6";
  if (cut_) {
    size_ = kLongestName - dots.size();
    // Cut at the beginning of a character: back over its continuation bytes.
    size_t at = size_;
    while (at > 0 && size_ - at < 4 && (static_cast<unsigned char>(text_[at]) & 0xc0) == 0x80) --at;
    if (size_ - at < 4) size_ = at;
    dots.copy(text_ + size_, dots.size());
    size_ += dots.size();
  }
  return {text_, size_};
}

void NameTable::insert(Slot* slot, uint32_t hash, int64_t count, std::string_view text) {
  const size_t offset = text_.size();
  text_.push_back(static_cast<char>(text.size()));
  text_.insert(text_.end(), text.begin(), text.end());
  *slot = {hash, static_cast<uint32_t>(offset), count};
  slots_.added();
  if (sample_) sample_->see(columns_, hash);
  by_column_.clear();
}

// Keeps at most half of the names: those with the largest counts.
void NameTable::shrink() {
  if (!sample_) {
    sample_.emplace();
    slots_.for_each([this](const Slot& slot) { sample_->see(columns_, slot.key); });
  }
  std::vector<int64_t> counts;
  counts.reserve(slots_.size());
  slots_.for_each([&counts](const Slot& slot) { counts.push_back(slot.count); });
  const auto nth = counts.begin() + (capacity_ + 1) / 2;
  std::nth_element(counts.begin(), nth, counts.end(), std::greater<>());
  const int64_t subtracted = *nth;
  std::vector<char> text;
  text.reserve(text_.size());  // from here on nothing can fail but the slots, before they change
  slots_.keep_if([&](Slot& slot) {
    if (slot.count <= subtracted) return false;
    slot.count -= subtracted;
    const std::string_view name = text_of(slot);
    slot.offset = static_cast<uint32_t>(text.size());
    text.push_back(static_cast<char>(name.size()));
    text.insert(text.end(), name.begin(), name.end());
    return true;
  });
  text_.swap(text);
  error_ += subtracted;
  by_column_.clear();
}

void NameTable::merge(const NameTable& other) {
  if (!has_columns_) columns_ = other.columns_, has_columns_ = other.has_columns_;
  if (other.sample_) {
    // Names dropped by the other table are known only from its sample.
    if (!sample_) {
      sample_.emplace();
      slots_.for_each([this](const Slot& slot) { sample_->see(columns_, slot.key); });
    }
    sample_->raise_level(other.sample_->level());
    other.sample_->slots().for_each([this](const auto& slot) { sample_->see(columns_, slot.hash, slot.state); });
  }
  // The table may grow to both their sizes, and is cut back at the end, so that the order within a table is nothing.
  slots_.reserve(slots_.size() + other.slots_.size());
  other.slots_.for_each([&, this](const Slot& theirs) {
    Slot* slot = slots_.find(theirs.key);
    if (!slot->is_free())
      slot->count += theirs.count;
    else
      insert(slot, theirs.key, theirs.count, other.text_of(theirs));
  });
  total_ += other.total_;
  error_ += other.error_;
  if (int64_t(slots_.size()) > capacity_) shrink();
}

std::vector<uint32_t> NameTable::sorted_hashes() const {
  std::vector<uint32_t> hashes;
  hashes.reserve(slots_.size());
  slots_.for_each([&hashes](const Slot& slot) { hashes.push_back(slot.key); });
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

std::pair<int64_t, int64_t> NameTable::column_counts() const {
  if (sample_) return {sample_->n_columns(), sample_->n_shared()};
  std::vector<int32_t> columns;
  columns.reserve(slots_.size());
  slots_.for_each([&, this](const Slot& slot) { columns.push_back(columns_.column(slot.key)); });
  std::sort(columns.begin(), columns.end());
  int64_t n_columns = 0, n_shared = 0;
  for (size_t i = 0, j = 0; i < columns.size(); i = j) {
    while (j < columns.size() && columns[j] == columns[i]) ++j;
    ++n_columns;
    n_shared += j - i > 1;
  }
  return {n_columns, n_shared};
}

namespace {

bool more_often(const NameTable::Name& a, const NameTable::Name& b) {
  return a.count != b.count ? a.count > b.count : a.hash < b.hash;
}

}  // namespace

std::vector<NameTable::Name> NameTable::at(int32_t column) const {
  if (by_column_.empty()) {
    by_column_.reserve(slots_.size());
    slots_.for_each([this](const Slot& slot) {
      by_column_.push_back(uint64_t(uint32_t(columns_.column(slot.key))) << 32 | slot.key);
    });
    std::sort(by_column_.begin(), by_column_.end());
  }
  std::vector<Name> found;
  if (column < 0) return found;
  const uint64_t first = uint64_t(uint32_t(column)) << 32;
  for (auto at = std::lower_bound(by_column_.begin(), by_column_.end(), first);
       at != by_column_.end() && *at >> 32 == uint32_t(column); ++at)
    found.push_back(name_of(*slots_.find(static_cast<uint32_t>(*at))));
  std::sort(found.begin(), found.end(), more_often);
  return found;
}

std::vector<NameTable::Name> NameTable::top(int64_t n) const {
  std::vector<Name> all;
  all.reserve(slots_.size());
  slots_.for_each([&, this](const Slot& slot) { all.push_back(name_of(slot)); });
  const auto end = all.begin() + std::min(std::max<int64_t>(n, 0), int64_t(all.size()));
  std::partial_sort(all.begin(), end, all.end(), more_often);
  all.erase(end, all.end());
  return all;
}

NameTable::Content NameTable::content() const {
  Content content;
  content.capacity = capacity_, content.total = total_, content.error = error_;
  content.columns = columns_;
  if (!has_columns_) content.columns.bits = 0;
  content.hashes = sorted_hashes();
  content.offsets.push_back(0);
  for (const uint32_t hash : content.hashes) {
    const Slot& slot = *slots_.find(hash);
    content.counts.push_back(slot.count);
    content.names += text_of(slot);
    content.offsets.push_back(int64_t(content.names.size()));
  }
  if (sample_) {
    content.level = sample_->level();
    std::vector<ColumnSample::Slot> sampled;
    sample_->slots().for_each([&sampled](const auto& slot) { sampled.push_back(slot); });
    std::sort(sampled.begin(), sampled.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    for (const auto& slot : sampled) {
      content.sampled_hashes.push_back(slot.hash);
      content.sampled_shared.push_back(slot.state == ColumnSample::shared);
    }
  }
  return content;
}

std::optional<std::string> NameTable::restore(const Content& content, NameTable& table) {
  const auto& [capacity, total, error, level, columns, names, offsets, hashes, counts, sampled_hashes, sampled_shared] =
      content;
  if (capacity < 1 || capacity > kMostCapacity)
    return "its capacity must be from 1 to " + std::to_string(kMostCapacity);
  if (columns.kind > Columns::signed_) return "there is no such kind of hashing";
  if (columns.bits < 0 || columns.bits > Columns::kMostBits)
    return "bits must be from 1 to " + std::to_string(Columns::kMostBits);
  const size_t n = hashes.size();
  if (int64_t(n) > capacity) return "it has more names than its capacity";
  if (counts.size() != n || offsets.size() != n + 1) return "its arrays differ in length";
  if (columns.bits == 0 && (n || total || error)) return "it has names, but no bits";
  if (total < 0 || total > kMostTotal || error < 0 || error > total) return "a total is out of range";
  if (offsets[0] != 0 || offsets[n] != int64_t(names.size())) return "the offsets do not fit the names";
  int64_t counted = 0;
  for (size_t i = 0; i < n; ++i) {
    if (offsets[i + 1] < offsets[i] || offsets[i + 1] - offsets[i] > int64_t(kLongestName))
      return "a name is longer than " + std::to_string(kLongestName) + " bytes or has less than none";
    if (i && hashes[i] <= hashes[i - 1]) return "the hashes are not ascending";
    if (counts[i] < 1 || counts[i] > total - counted) return "the counts do not fit their total";
    counted += counts[i];
  }
  // Two names at least lose what is added to the error, whatever the capacities of the tables that were merged.
  if (error > (total - counted) / 2 || (error == 0 && counted != total)) return "the counts do not fit the error";
  if (error == 0 && (level || !sampled_hashes.empty())) return "it has a sample, but nothing was dropped";
  if (level < 0 || level > ColumnSample::kMostLevels) return "the level of the sample is out of range";
  if (sampled_hashes.size() > ColumnSample::kSampled || sampled_shared.size() != sampled_hashes.size())
    return "the sample is too large or its arrays differ in length";

  NameTable made(capacity);
  made.columns_ = columns;
  made.has_columns_ = columns.bits != 0;
  if (!made.has_columns_) made.columns_ = Columns();
  made.total_ = total, made.error_ = error;
  for (size_t i = 0; i < n; ++i)
    made.insert(made.slots_.find(hashes[i]), hashes[i], counts[i],
                std::string_view(names).substr(size_t(offsets[i]), size_t(offsets[i + 1] - offsets[i])));
  if (error > 0) {
    ColumnSample& sample = made.sample_.emplace();
    sample.raise_level(int(level));
    for (size_t i = 0; i < sampled_hashes.size(); ++i) {
      const int32_t column = columns.column(sampled_hashes[i]);
      if (!sample.takes(column, int(level)) || (i && column <= columns.column(sampled_hashes[i - 1])))
        return "the columns of the sample are not ascending, or are not of its level";
      if (sampled_shared[i] > 1) return "a column of the sample must be shared or not, 1 or 0";
      sample.see(columns, sampled_hashes[i], sampled_shared[i] ? ColumnSample::shared : ColumnSample::one);
    }
    for (const uint32_t hash : hashes) {
      const int32_t column = columns.column(hash);
      if (!sample.takes(column, int(level))) continue;
      const ColumnSample::Slot* slot = sample.slots().find(uint32_t(column));
      if (slot->is_free() || slot->hash > hash || (slot->hash != hash && slot->state != ColumnSample::shared))
        return "a name is missing in the sample";
    }
  }
  table = std::move(made);
  return std::nullopt;
}

}  // namespace sureline::text
