#include "memory/mapping.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#if defined(__linux__)
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>
#endif

namespace sureline {

namespace {

// Up to this size large pages pay (random access to many small ones is slow). Beyond, a few features far apart must not
// cost two megabytes each.
constexpr size_t kLargestWithLargePages = size_t(256) << 20;

// Less than this is looked at sooner than the system is asked.
constexpr size_t kWorthAsking = size_t(16) << 20;

// What map_zeros gave and unmap has not taken back yet, as far as it is worth asking about. Only of such memory does a
// page that is not there mean zeros; one of a file may just not have been read.
class Registry {
 public:
  static Registry& only() {
    static Registry& registry = *new Registry;  // never destroyed: arrays may live longer than static objects
    return registry;
  }
  void add(const void* memory, size_t bytes) {
    const std::lock_guard lock(mutex_);
    mapped_.emplace(address(memory), bytes);
  }
  void remove(const void* memory) {
    const std::lock_guard lock(mutex_);
    mapped_.erase(address(memory));
  }
  bool has(const void* memory, size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto after = mapped_.upper_bound(address(memory));
    if (after == mapped_.begin()) return false;
    const auto& [first, size] = *--after;
    const size_t offset = address(memory) - first;
    return offset < size && bytes <= size - offset;
  }

 private:
  Registry() {
#if defined(__unix__) || defined(__APPLE__)
    // A process that forks while another of its threads is in here would leave its child with a lock for ever.
    pthread_atfork([] { only().mutex_.lock(); }, [] { only().mutex_.unlock(); }, [] { only().mutex_.unlock(); });
#endif
  }
  static uintptr_t address(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

  std::mutex mutex_;
  std::map<uintptr_t, size_t> mapped_;
};

#if defined(__linux__)

// The pages of this process as the kernel knows them (Documentation/admin-guide/mm/pagemap.rst).
class PageMap {
 public:
  // Opened each time: the file is about the process that opened it, which may have forked since.
  PageMap() : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)), page_(uintptr_t(sysconf(_SC_PAGESIZE))) {}
  PageMap(const PageMap&) = delete;
  ~PageMap() {
    if (file_ >= 0) close(file_);
  }

  // Calls f(first, last) for ranges of whole pages; nothing outside of them was written. Returns the address up to
  // which this is known.
  template <class F>
  uintptr_t each_touched(uintptr_t first, uintptr_t last, const F& f) const {
    uintptr_t at = first / page_ * page_;
    if (!knows(at)) return first;
    const uintptr_t end = (last + page_ - 1) / page_ * page_;
    while (at < end) {
      const uintptr_t reached = asks_for_ranges_ ? scan(at, end, f) : read(at, end, f);
      if (reached == at && !asks_for_ranges_) break;
      if (reached == at) asks_for_ranges_ = false;  // older than Linux 6.7
      at = reached;
    }
    return std::max(at, first);
  }

 private:
  static constexpr uint64_t kPresent = uint64_t(1) << 63, kSwapped = uint64_t(1) << 62;

  // A page that was just read must be present. If the system does not say so, its answers are useless: a sandbox, or an
  // emulator that shows its own addresses.
  bool knows(uintptr_t address) const {
    uint64_t entry = 0;
    if (file_ < 0) return false;
    static_cast<void>(*reinterpret_cast<const volatile char*>(address));
    return pread(file_, &entry, sizeof entry, offset_of(address)) == ssize_t(sizeof entry) &&
           (entry & (kPresent | kSwapped)) != 0;
  }

  // The ioctl PAGEMAP_SCAN, which passes over what has no page tables, a thousand times as fast; written out here for
  // systems whose headers do not have it.
  struct Range {
    uint64_t start, end, categories;
  };
  struct Scan {
    uint64_t size, flags, start, end, walk_end, ranges, n_ranges, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
  };
  static constexpr uint64_t kIsPresent = 1 << 3, kIsSwapped = 1 << 4, kIsZeroPage = 1 << 5;

  template <class F>
  uintptr_t scan(uintptr_t at, uintptr_t end, const F& f) const {
    Range ranges[256];
    Scan scan = {};
    scan.size = sizeof scan, scan.start = at, scan.end = end;
    scan.ranges = reinterpret_cast<uintptr_t>(ranges), scan.n_ranges = sizeof ranges / sizeof *ranges;
    scan.category_inverted = scan.category_mask = kIsZeroPage;  // excludes pages that were only read
    scan.category_anyof_mask = scan.return_mask = kIsPresent | kIsSwapped;
    const int n = ioctl(file_, _IOWR('f', 16, Scan), &scan);
    if (n < 0 || scan.walk_end <= at || scan.walk_end > end) return at;
    for (int i = 0; i < n; ++i) f(uintptr_t(ranges[i].start), uintptr_t(ranges[i].end));
    return scan.walk_end;
  }

  template <class F>
  uintptr_t read(uintptr_t at, uintptr_t end, const F& f) const {
    uint64_t entries[2048];
    const size_t wanted = std::min(sizeof entries / sizeof *entries, size_t((end - at) / page_));
    const ssize_t got = pread(file_, entries, wanted * sizeof *entries, offset_of(at));
    const size_t n = got < 0 ? 0 : size_t(got) / sizeof *entries;
    for (size_t i = 0; i < n;) {
      size_t stop = i;
      while (stop < n && (entries[stop] & (kPresent | kSwapped)) != 0) ++stop;
      if (stop > i) f(at + i * page_, at + stop * page_);
      i = stop > i ? stop : i + 1;
    }
    return at + n * page_;
  }

  off_t offset_of(uintptr_t address) const { return off_t(address / page_ * sizeof(uint64_t)); }

  const int file_;
  const uintptr_t page_;
  mutable bool asks_for_ranges_ = true;
};

// The pages of this process that are in memory, by mincore, which needs no file: for sandboxes without /proc. A page
// that was swapped out is not among them, so it is asked only where there is no swap.
class Residency {
 public:
  // As PageMap::each_touched. Pages that were only read are among them.
  template <class F>
  static uintptr_t each_touched(uintptr_t first, uintptr_t last, const F& f) {
    const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE)), end = (last + page - 1) / page * page;
    uintptr_t at = first / page * page;
    static_cast<void>(*reinterpret_cast<const volatile char*>(at));  // makes the page present
    std::vector<unsigned char> here(std::min(kPages, size_t((end - at) / page)));
    for (bool begun = false; at < end; begun = true) {
      const size_t n = std::min(here.size(), size_t((end - at) / page));
      if (mincore(reinterpret_cast<void*>(at), n * page, here.data()) != 0 || swaps()) break;
      if (!begun && !(here[0] & 1)) break;  // it knows nothing
      for (size_t i = 0; i < n;) {
        const size_t begin = i + zeros_before(here.data() + i, n - i);
        for (i = begin; i < n && here[i] != 0;) ++i;
        if (begin < i) f(at + begin * page, at + i * page);
      }
      at += n * page;
    }
    return std::max(at, first);
  }

 private:
  static constexpr size_t kPages = 1 << 16;  // that are asked about at a time

  // The number of zeros at the beginning of n bytes.
  static size_t zeros_before(const unsigned char* p, size_t n) {
    size_t i = 0;
    for (uint64_t word = 0; i + sizeof word <= n; i += sizeof word) {
      std::memcpy(&word, p + i, sizeof word);
      if (word != 0) break;
    }
    while (i < n && p[i] == 0) ++i;
    return i;
  }
  static bool swaps() {
    struct sysinfo system = {};
    return sysinfo(&system) != 0 || system.totalswap != 0;
  }
};

#endif

bool all_zero(const char* p, size_t n) {
  uint64_t words[8] = {}, any = 0;
  size_t i = 0;
  for (; i + sizeof words <= n; i += sizeof words) {
    uint64_t more[8];
    std::memcpy(more, p + i, sizeof more);
    for (int k = 0; k < 8; ++k) words[k] |= more[k];
  }
  for (const uint64_t word : words) any |= word;
  for (; i < n; ++i) any |= uint64_t(p[i] != 0);
  return any == 0;
}

}  // namespace

void* map_zeros(size_t bytes) {
#if defined(MAP_ANONYMOUS)
  // No memory is reserved: a model may be wider than the memory, as long as touched pages fit.
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
#if defined(MADV_HUGEPAGE)
  madvise(memory, bytes, bytes <= kLargestWithLargePages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);  // advice only
#endif
  try {
    if (bytes >= kWorthAsking) Registry::only().add(memory, bytes);
  } catch (const std::bad_alloc&) {
    munmap(memory, bytes);
    return nullptr;
  }
  return memory;
#else
  return std::calloc(bytes, 1);
#endif
}

void unmap(void* memory, [[maybe_unused]] size_t bytes) {
#if defined(MAP_ANONYMOUS)
  if (bytes >= kWorthAsking) Registry::only().remove(memory);  // before somebody else gets the addresses
  munmap(memory, bytes);
#else
  std::free(memory);
#endif
}

void visit_touched(const void* memory, size_t bytes, void (*visit)(void*, size_t, size_t), void* context) {
  size_t done = 0;
#if defined(__linux__)
  if (bytes >= kWorthAsking && Registry::only().has(memory, bytes)) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(memory), last = first + bytes;
    const auto inside = [&](uintptr_t begin, uintptr_t end) {
      visit(context, std::max(begin, first) - first, std::min(end, last) - first);
    };
    uintptr_t reached = PageMap().each_touched(first, last, inside);
    if (reached < last) reached = Residency::each_touched(reached, last, inside);
    done = std::min(reached, last) - first;
  }
#endif
  if (done < bytes) visit(context, done, bytes);
}

void copy_touched(void* to, const void* from, size_t bytes) {
  constexpr size_t page = 4096;
  each_touched_range(from, bytes, [&](size_t begin, size_t end) {
    for (; begin < end; begin += page) {
      const size_t n = std::min(page, end - begin);
      const char* p = static_cast<const char*>(from) + begin;
      if (!all_zero(p, n)) std::memcpy(static_cast<char*>(to) + begin, p, n);
    }
  });
}

std::vector<int64_t> nonzero_groups(const void* memory, size_t bytes, size_t group) {
  std::vector<int64_t> found;
  size_t next = 0;  // group that has not been looked at
  each_touched_range(memory, bytes, [&](size_t begin, size_t end) {
    for (next = std::max(next, begin / group); next * group < end; ++next) {
      const size_t start = next * group;
      if (!all_zero(static_cast<const char*>(memory) + start, std::min(group, bytes - start)))
        found.push_back(int64_t(next));
    }
  });
  return found;
}

}  // namespace sureline
