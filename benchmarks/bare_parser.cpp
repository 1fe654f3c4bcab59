// A plain LIBSVM reader and nothing else, to measure the whole program against: it checks nothing, learns nothing, and
// has no exact numbers. Each thread reads blocks of the file in turn and parses them into the arrays of a CSR matrix,
// one character after the other.
//
// Usage: bare_parser FILE THREADS
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBlock = 1 << 20;
constexpr double kPowers[] = {1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9,
                              1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19};

struct Csr {
  std::vector<int64_t> starts;
  std::vector<int32_t> indices;
  std::vector<float> values, labels;
};

// The lines from p to end; the last one ends with a newline.
void parse(const char* p, const char* end, Csr& rows) {
  rows.starts.clear(), rows.indices.clear(), rows.values.clear(), rows.labels.clear();
  const auto number = [&p] {
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    int64_t mantissa = 0;
    while (*p >= '0' && *p <= '9') mantissa = 10 * mantissa + (*p++ - '0');
    int places = 0;
    if (*p == '.')
      for (++p; *p >= '0' && *p <= '9'; ++places) mantissa = 10 * mantissa + (*p++ - '0');
    double value = double(mantissa) * kPowers[places];
    if (*p == 'e' || *p == 'E') {
      const bool below = *++p == '-';
      if (*p == '-' || *p == '+') ++p;
      int exponent = 0;
      while (*p >= '0' && *p <= '9') exponent = 10 * exponent + (*p++ - '0');
      value *= std::pow(10.0, below ? -exponent : exponent);
    }
    return float(negative ? -value : value);
  };
  while (p < end) {
    rows.starts.push_back(int64_t(rows.indices.size()));
    rows.labels.push_back(number());
    while (*p == ' ') {
      int32_t index = 0;
      for (++p; *p >= '0' && *p <= '9'; ++p) index = 10 * index + (*p - '0');
      if (*p != ':') break;
      ++p;
      rows.indices.push_back(index);
      rows.values.push_back(number());
    }
    while (*p++ != '\n') {
    }
  }
  rows.starts.push_back(int64_t(rows.indices.size()));
}

// Blocks of whole lines; what follows the last newline is kept for the next one.
struct Reader {
  int file;
  std::mutex lock;
  std::vector<char> rest;

  bool next(std::vector<char>& block) {
    const std::lock_guard guard(lock);
    block.resize(rest.size() + kBlock);
    std::memcpy(block.data(), rest.data(), rest.size());
    size_t size = rest.size();
    rest.clear();
    while (size < block.size()) {
      const ssize_t got = read(file, block.data() + size, block.size() - size);
      if (got <= 0) break;
      size += size_t(got);
    }
    const bool over = size < block.size();
    if (over && size > 0 && block[size - 1] != '\n') block[size++] = '\n';
    size_t cut = size;
    while (cut > 0 && block[cut - 1] != '\n') --cut;
    rest.assign(block.begin() + ptrdiff_t(cut), block.begin() + ptrdiff_t(size));
    block.resize(cut);
    return cut > 0;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: bare_parser FILE THREADS\n"), 2;
  Reader reader{open(argv[1], O_RDONLY), {}, {}};
  if (reader.file < 0) return std::perror(argv[1]), 1;
  std::mutex lock;
  int64_t n_rows = 0, nonzeros = 0;
  double checksum = 0;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(argv[2]); ++i)
    threads.emplace_back([&] {
      std::vector<char> block;
      Csr rows;
      while (reader.next(block)) {
        parse(block.data(), block.data() + block.size(), rows);
        double sum = 0;
        for (size_t k = 0; k < rows.indices.size(); ++k) sum += double(rows.values[k]) * rows.indices[k];
        const std::lock_guard guard(lock);
        n_rows += int64_t(rows.labels.size()), nonzeros += int64_t(rows.indices.size()), checksum += sum;
      }
    });
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("rows %lld nonzeros %lld checksum %.17g seconds %.6f\n", static_cast<long long>(n_rows),
              static_cast<long long>(nonzeros), checksum, seconds.count());
}
