// Another system's knowledge of the pages of a process: loaded before libc, it takes away what PAGEMAP names.
//   no_scan      the ioctl that looks for pages, as before Linux 6.7
//   no_file      the file
//   cut_short    all of the file but the first 16 entries that are asked for
//   only_zeros   what is in the file
//   no_mincore   the file and mincore
//   swap         the file, on a machine that swaps
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/types.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int g_fd = -1;

static int is(const char* what) {
  const char* chosen = getenv("PAGEMAP");
  return chosen && strcmp(chosen, what) == 0;
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = flags & O_CREAT ? va_arg(more, int) : 0;
  va_end(more);
  const int ours = strcmp(path, "/proc/self/pagemap") == 0;
  if (ours && (is("no_file") || is("no_mincore") || is("swap"))) {
    errno = EACCES;
    return -1;
  }
  const int fd = REAL(open)(path, flags, mode);
  if (ours) g_fd = fd;
  return fd;
}

int ioctl(int fd, unsigned long request, ...) {
  va_list more;
  va_start(more, request);
  void* argument = va_arg(more, void*);
  va_end(more);
  if (fd == g_fd && getenv("PAGEMAP")) {
    errno = ENOTTY;
    return -1;
  }
  return REAL(ioctl)(fd, request, argument);
}

static ssize_t changed(int fd, void* to, size_t n, ssize_t got) {
  if (fd != g_fd || got < 0) return got;
  if (is("only_zeros")) memset(to, 0, n);
  if (is("cut_short") && got > 8) return got < 128 ? got : 128;
  return got;
}

ssize_t pread(int fd, void* to, size_t n, off_t at) {
  static size_t left = 16;
  if (fd == g_fd && is("cut_short") && n > 8) {
    if (left == 0) return 0;
    left = 0;
  }
  return changed(fd, to, n, REAL(pread)(fd, to, n, at));
}

int mincore(void* start, size_t n, unsigned char* here) {
  if (is("no_mincore")) {
    errno = ENOSYS;
    return -1;
  }
  return REAL(mincore)(start, n, here);
}

int sysinfo(struct sysinfo* system) {
  const int failed = REAL(sysinfo)(system);
  if (!failed) system->totalswap = is("swap") ? 1 << 20 : 0;
  return failed;
}
