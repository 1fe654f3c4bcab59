// Writes rows as LIBSVM or VW text, for the benchmark: six digits a value, as such files have.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

char* put(char* at, int64_t number) { return std::to_chars(at, at + 24, number).ptr; }
char* put(char* at, float value) {
  return std::to_chars(at, at + 32, double(value), std::chars_format::general, 6).ptr;
}

}  // namespace

// Rows `from` to `to`; "|" stands after the label for Vowpal Wabbit. Returns the bytes written, or -1.
extern "C" int64_t write_rows(const char* path, const float* values, const int32_t* indices, const int32_t* indptr,
                              const int8_t* signs, int64_t n_rows, int vw) {
  std::FILE* file = std::fopen(path, "wb");
  if (!file) return -1;
  std::vector<char> line;
  int64_t bytes = 0;
  for (int64_t row = 0; row < n_rows; ++row) {
    line.resize(size_t(64 * (indptr[row + 1] - indptr[row]) + 64));
    char* at = line.data();
    at = put(at, int64_t(signs[row]));
    if (vw) *at++ = ' ', *at++ = '|';
    for (int32_t i = indptr[row]; i < indptr[row + 1]; ++i) {
      *at++ = ' ';
      at = put(at, int64_t(indices[i]));
      *at++ = ':';
      at = put(at, values[i]);
    }
    *at++ = '\n';
    const size_t length = size_t(at - line.data());
    if (std::fwrite(line.data(), 1, length, file) != length) return std::fclose(file), -1;
    bytes += int64_t(length);
  }
  return std::fclose(file) == 0 ? bytes : -1;
}
