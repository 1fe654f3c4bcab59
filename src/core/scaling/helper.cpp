#include "scaling/helper.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace sureline {

namespace {

bool has_two_cores() {
#if defined(__linux__)
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores) > 1;
#endif
  return std::thread::hardware_concurrency() > 1;
}

}  // namespace

class Helper::Thread {
 public:
  Thread(bool (*work)(void*, int), void* context) : thread_([this, work, context] { run(work, context); }) {}
  ~Thread() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  int next() {
    std::unique_lock lock(mutex_);
    if (taken_ > 0) {
      ++free_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return done_ > taken_; });
    return int(taken_++ % kPlaces);
  }

 private:
  void run(bool (*work)(void*, int), void* context) {
    for (bool more = true; more;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || done_ < free_; });
        if (stop_) return;
      }
      more = work(context, int(done_ % kPlaces));  // no other thread changes it
      {
        const std::lock_guard lock(mutex_);
        ++done_;
      }
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t done_ = 0, taken_ = 0, free_ = kPlaces;  // pieces, and how many there may be so far
  bool stop_ = false;
  std::thread thread_;  // after all that it uses
};

Helper::Helper(std::unique_ptr<Thread> thread) : thread_(std::move(thread)) {}
Helper::~Helper() = default;
int Helper::next() { return thread_->next(); }

Helper* Helper::started(bool (*work)(void*, int), void* context) {
  if (!has_two_cores()) return nullptr;
  try {
    return new Helper(std::make_unique<Thread>(work, context));
  } catch (const std::system_error&) {
    return nullptr;
  }
}

}  // namespace sureline
