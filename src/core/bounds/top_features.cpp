#include "bounds/top_features.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

namespace sureline {

namespace {

template <class T>
void make_room(std::vector<T>& items, size_t n) {
  if (items.size() + n > items.capacity()) items.reserve(std::max(2 * items.capacity(), items.size() + n));
}

}  // namespace

// The members of a head, a heap of them, and a table that finds them by their slots.
//
// Most keys fall, since variances shrink and weights grow. Most features outside are far from getting in. So a falling
// key does not move its member: the heap is ordered by an upper bound of the key. The top is updated when a feature
// comes whose key is below that bound. No other member has a larger bound.
struct Selection::Heap {
  struct Member {
    int64_t slot;
    double key;
    double bound;   // never less than the key
    int64_t place;  // in the heap
  };
  struct Node {
    double bound;
    int64_t member;
  };
  struct Bucket {
    int64_t slot = 0;
    int64_t member = -1;  // or negative if the bucket is empty
  };
  std::vector<Member> members;
  std::vector<Node> nodes;  // a heap: each leaves before its kBranches children
  std::vector<Bucket> buckets;
  int shift = 64;
  static constexpr int64_t kBranches = 4;

  // -- the table: open addressing, at most half full ---------------------------------------------------------------

  size_t home(int64_t slot) const { return size_t((uint64_t(slot) * 0x9e3779b97f4a7c15u) >> shift); }
  size_t mask() const { return buckets.size() - 1; }

  int64_t find(int64_t slot) const {  // the number of the member, or -1
    if (buckets.empty()) return -1;
    size_t b = home(slot);
    while (buckets[b].slot != slot && buckets[b].member >= 0) b = (b + 1) & mask();
    return buckets[b].member;
  }
  void insert(int64_t slot, int64_t member) {
    size_t b = home(slot);
    while (buckets[b].member >= 0) b = (b + 1) & mask();
    buckets[b] = {slot, member};
  }
  // Buckets after the empty one move up, unless that would be before their home.
  void erase(int64_t slot) {
    size_t hole = home(slot);
    while (buckets[hole].slot != slot) hole = (hole + 1) & mask();
    for (size_t b = (hole + 1) & mask(); buckets[b].member >= 0; b = (b + 1) & mask()) {
      if (((b - home(buckets[b].slot)) & mask()) < ((b - hole) & mask())) continue;
      buckets[hole] = buckets[b];
      hole = b;
    }
    buckets[hole] = {};
  }
  void reserve(int64_t n) {
    make_room(members, size_t(n));
    make_room(nodes, size_t(n));
    const size_t most = members.size() + size_t(n);
    if (2 * most <= buckets.size()) return;
    buckets.assign(std::bit_ceil(std::max(4 * most, size_t(16))), {});
    shift = 64 - std::countr_zero(buckets.size());
    for (size_t i = 0; i < members.size(); ++i) insert(members[i].slot, int64_t(i));
  }

  // -- members without a heap --------------------------------------------------------------------------------------

  void enter(int64_t slot) {
    insert(slot, int64_t(members.size()));
    members.push_back({slot, 0, 0, 0});
  }
  void leave(int64_t slot) {
    const int64_t i = find(slot);
    erase(slot);
    const Member last = members.back();
    members.pop_back();
    if (last.slot == slot) return;
    erase(last.slot);
    insert(last.slot, i);
    members[size_t(i)] = last;
  }
  void arrange() {
    nodes.clear();
    for (size_t i = 0; i < members.size(); ++i) {
      members[i].bound = members[i].key;
      members[i].place = int64_t(i);
      nodes.push_back({members[i].key, int64_t(i)});
    }
    for (int64_t place = int64_t(nodes.size()) / kBranches + 1; place-- > 0;)
      if (place < int64_t(nodes.size())) sink(place);
  }

  // -- the heap ----------------------------------------------------------------------------------------------------

  bool leaves_before(const Node& a, const Node& b) const {
    return a.bound > b.bound || (a.bound == b.bound && members[size_t(a.member)].slot > members[size_t(b.member)].slot);
  }
  void put(int64_t place, const Node& node) {
    nodes[size_t(place)] = node;
    members[size_t(node.member)].place = place;
  }
  void rise(int64_t place) {
    const Node node = nodes[size_t(place)];
    for (int64_t above; place > 0; place = above) {
      above = (place - 1) / kBranches;
      if (!leaves_before(node, nodes[size_t(above)])) break;
      put(place, nodes[size_t(above)]);
    }
    put(place, node);
  }
  void sink(int64_t place) {
    const Node node = nodes[size_t(place)];
    const int64_t n = int64_t(nodes.size());
    for (int64_t below; (below = kBranches * place + 1) < n; place = below) {
      const int64_t last = std::min(below + kBranches, n);
      for (int64_t other = below + 1; other < last; ++other)
        if (leaves_before(nodes[size_t(other)], nodes[size_t(below)])) below = other;
      if (!leaves_before(nodes[size_t(below)], node)) break;
      put(place, nodes[size_t(below)]);
    }
    put(place, node);
  }
  void set_key(int64_t member, double key) {
    Member& m = members[size_t(member)];
    m.key = key;
    if (key <= m.bound) return;
    m.bound = nodes[size_t(m.place)].bound = key;
    rise(m.place);
  }
  void push(int64_t slot, double key) {
    enter(slot);
    members.back() = {slot, key, key, 0};
    nodes.push_back({key, int64_t(members.size()) - 1});
    rise(int64_t(nodes.size()) - 1);
  }
  // Brings the member that leaves next to the top, with its key as its bound.
  void settle_top() {
    for (;;) {
      Member& m = members[size_t(nodes[0].member)];
      if (m.key == m.bound) return;
      m.bound = nodes[0].bound = m.key;
      sink(0);
    }
  }
  int64_t replace_top(int64_t slot, double key) {  // returns the slot that leaves
    Member& m = members[size_t(nodes[0].member)];
    const int64_t left = m.slot;
    erase(left);
    insert(slot, nodes[0].member);
    m = {slot, key, key, 0};
    nodes[0].bound = key;
    sink(0);
    return left;
  }
};

Selection::Selection(int64_t at_most, int64_t n_heads) : max(at_most), heaps_(size_t(n_heads)) {}
Selection::Selection(const Selection&) = default;
Selection::Selection(Selection&&) noexcept = default;
Selection::~Selection() = default;

int64_t Selection::n_heads() const { return int64_t(heaps_.size()); }
int64_t Selection::n_members() const {
  int64_t n = 0;
  for (const Heap& heap : heaps_) n += int64_t(heap.members.size());
  return n;
}
int64_t Selection::n_members(int64_t head) const { return int64_t(heaps_[size_t(head)].members.size()); }
int64_t Selection::slot(int64_t head, int64_t i) const { return heaps_[size_t(head)].members[size_t(i)].slot; }

std::vector<int64_t> Selection::coordinates() const {
  std::vector<int64_t> found;
  found.reserve(size_t(n_members()));
  for (size_t head = 0; head < heaps_.size(); ++head)
    for (const Heap::Member& member : heaps_[head].members) found.push_back(member.slot * n_heads() + int64_t(head));
  std::sort(found.begin(), found.end());
  return found;
}

void Selection::add(int64_t coordinate) {
  const int64_t slot = coordinate / n_heads();
  Heap& heap = heaps_[size_t(coordinate % n_heads())];
  if (slot < 1 || heap.find(slot) >= 0) return;
  heap.reserve(1);
  heap.enter(slot);
  beyond_ = std::max(beyond_, slot + 1);
  has_keys_ = false;
}

void Selection::set_key(int64_t head, int64_t i, double key) { heaps_[size_t(head)].members[size_t(i)].key = key; }

void Selection::arrange() {
  for (Heap& heap : heaps_) heap.arrange();
  has_keys_ = keys_have_changed_ = true;
}

double Selection::bound(int64_t head) const {
  const Heap& heap = heaps_[size_t(head)];
  return int64_t(heap.members.size()) < max ? std::numeric_limits<double>::infinity() : heap.nodes[0].bound;
}

bool Selection::reserve(int64_t head, int64_t n) {
  Heap& heap = heaps_[size_t(head)];
  try {
    heap.reserve(std::min(n, max - int64_t(heap.members.size())));
    if (remembers_) make_room(changes_, 2 * size_t(n));  // a row may move two heads
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

int64_t Selection::choose(int64_t head, const Offer* row, int64_t n, int64_t* leaving) {
  Heap& heap = heaps_[size_t(head)];
  keys_have_changed_ = true;
  if (n > 0) beyond_ = std::max(beyond_, row[n - 1].slot + 1);
  int64_t n_outside = 0, n_leaving = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t member = heap.find(row[i].slot);
    if (member >= 0)
      heap.set_key(member, row[i].key);
    else
      leaving[n_outside++] = i;  // positions in the row; slots replace them below
  }
  for (int64_t k = 0; k < n_outside; ++k) {
    const Offer& offer = row[leaving[k]];
    const bool full = int64_t(heap.members.size()) >= max;
    if (full && offer.key < heap.nodes[0].bound) heap.settle_top();
    if (full && !(offer.key < heap.nodes[0].bound)) {
      leaving[n_leaving++] = offer.slot;
      continue;
    }
    int64_t left = 0;
    if (full)
      leaving[n_leaving++] = left = heap.replace_top(offer.slot, offer.key);
    else
      heap.push(offer.slot, offer.key);
    if (remembers_) changes_.push_back({head, offer.slot, left});
  }
  return n_leaving;
}

void Selection::checkpoint(bool remember) {
  commit();
  remembers_ = remember;
}

void Selection::roll_back() {
  for (size_t i = changes_.size(); i-- > 0;) {
    const Change& change = changes_[i];
    Heap& heap = heaps_[size_t(change.head)];
    heap.leave(change.came);
    if (change.left > 0) heap.enter(change.left);
  }
  if (keys_have_changed_) has_keys_ = false;  // the numbers were rolled back, the keys were not
  commit();
}

void Selection::commit() {
  changes_.clear();
  remembers_ = keys_have_changed_ = false;
}

}  // namespace sureline
