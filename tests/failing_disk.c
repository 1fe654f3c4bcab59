// A disk that fails when it is told to: loaded before libc, it makes one chosen call on files under a folder fail, or
// all such calls from there on, or ends the process right before or after it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { FAIL = 0, FAIL_FROM_HERE_ON = 1, KILL_BEFORE = 2, KILL_AFTER = 3, WRITE_HALF = 4 };

static int g_at = 0, g_how = 0, g_errno = 0, g_count = 0;
static const char* g_fired = "";

// The n-th call from now on (n = 0: none) fails with that error, or whatever else `how` says.
void failing_disk_arm(int n, int how, int error) { g_at = n, g_how = how, g_errno = error, g_count = 0, g_fired = ""; }
// The name of the call that failed, or nothing.
const char* failing_disk_fired(void) { return g_fired; }
int failing_disk_count(void) { return g_count; }

static int is_under(const char* path) {
  static const char* folder = NULL;
  if (!folder) folder = getenv("FAILING_DISK_UNDER");
  return folder && *folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_open_under(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return is_under(path);
}

// Whether this call is the one.
static int is_due(const char* name, int concerns_us) {
  if (!concerns_us || g_at == 0) return 0;
  ++g_count;
  const int goes_on = g_how == FAIL_FROM_HERE_ON && g_count > g_at && strcmp(name, "unlink") && strcmp(name, "close");
  if (g_count != g_at && !goes_on) return 0;
  if (!*g_fired) g_fired = name;
  if (g_how == KILL_BEFORE) kill(getpid(), SIGKILL);
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// What a function does instead of, or around, the real call.
#define CALL(result, label, concerns_us, real)          \
  do {                                                  \
    if (!is_due(label, concerns_us)) return real;       \
    if (g_how == KILL_AFTER || g_how == WRITE_HALF) {   \
      const result outcome = real;                      \
      if (g_how == KILL_AFTER) kill(getpid(), SIGKILL); \
      return outcome;                                   \
    }                                                   \
    errno = g_errno;                                    \
    return (result) - 1;                                \
  } while (0)

#define MODE_OF(flags)           \
  mode_t mode = 0;               \
  if ((flags) & O_CREAT) {       \
    va_list more;                \
    va_start(more, flags);       \
    mode = va_arg(more, mode_t); \
    va_end(more);                \
  }

int open(const char* path, int flags, ...) {
  MODE_OF(flags)
  CALL(int, "open", is_under(path), REAL(open)(path, flags, mode));
}
int open64(const char* path, int flags, ...) {
  MODE_OF(flags)
  CALL(int, "open", is_under(path), REAL(open64)(path, flags, mode));
}
int openat(int at, const char* path, int flags, ...) {
  MODE_OF(flags)
  CALL(int, "open", is_under(path), REAL(openat)(at, path, flags, mode));
}
int openat64(int at, const char* path, int flags, ...) {
  MODE_OF(flags)
  CALL(int, "open", is_under(path), REAL(openat64)(at, path, flags, mode));
}
// Only a write can come to half its end, which is no error.
static size_t part(size_t n) { return g_how == WRITE_HALF && g_count + 1 == g_at && n > 1 ? n / 2 : n; }
ssize_t write(int fd, const void* data, size_t n) {
  const int ours = is_open_under(fd);
  const size_t m = ours ? part(n) : n;
  CALL(ssize_t, "write", ours, REAL(write)(fd, data, m));
}
ssize_t pwrite64(int fd, const void* data, size_t n, off64_t offset) {
  const int ours = is_open_under(fd);
  const size_t m = ours ? part(n) : n;
  CALL(ssize_t, "write", ours, REAL(pwrite64)(fd, data, m, offset));
}
ssize_t pwrite(int fd, const void* data, size_t n, off_t offset) { return pwrite64(fd, data, n, offset); }
int fsync(int fd) { CALL(int, "fsync", is_open_under(fd), REAL(fsync)(fd)); }
int fdatasync(int fd) { CALL(int, "fsync", is_open_under(fd), REAL(fdatasync)(fd)); }
int fchmod(int fd, mode_t mode) { CALL(int, "fchmod", is_open_under(fd), REAL(fchmod)(fd, mode)); }
int fchown(int fd, uid_t user, gid_t group) { CALL(int, "fchown", is_open_under(fd), REAL(fchown)(fd, user, group)); }
int flock(int fd, int how) { CALL(int, "flock", is_open_under(fd), REAL(flock)(fd, how)); }
int rename(const char* from, const char* to) { CALL(int, "rename", is_under(to), REAL(rename)(from, to)); }
int renameat(int a, const char* from, int b, const char* to) {
  CALL(int, "rename", is_under(to), REAL(renameat)(a, from, b, to));
}
int link(const char* from, const char* to) { CALL(int, "link", is_under(to), REAL(link)(from, to)); }
int linkat(int a, const char* from, int b, const char* to, int flags) {
  CALL(int, "link", is_under(to), REAL(linkat)(a, from, b, to, flags));
}
int unlink(const char* path) { CALL(int, "unlink", is_under(path), REAL(unlink)(path)); }
int unlinkat(int at, const char* path, int flags) {
  CALL(int, "unlink", is_under(path), REAL(unlinkat)(at, path, flags));
}
// A file is closed even if close says that it failed.
int close(int fd) {
  if (!is_due("close", g_at != 0 && is_open_under(fd))) return REAL(close)(fd);
  REAL(close)(fd);
  if (g_how == KILL_AFTER) kill(getpid(), SIGKILL);
  if (g_how == WRITE_HALF) return 0;
  errno = g_errno;
  return -1;
}
