// Who uses a model: any number of threads that read it, or one that changes it. The others wait, without the lock of
// the interpreter. A thread that would wait for itself gets an error instead: a rule written in Python that asks its
// own model, say.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace sureline::bindings {

class Gate {
 public:
  Gate();
  Gate(const Gate&) = delete;

  // Each of these is called with the lock of the interpreter, and raises RuntimeError if the thread would wait for
  // itself, or whatever a signal handler raises while it waits.
  void read();
  void end_read();
  void change();
  void end_change();

  // The number of changes that may have replaced the model, to which a `OneByOne` refers.
  int64_t generation() const { return generation_; }
  void begin_generation() { ++generation_; }

  bool is_changed_here() const {
    return users_.load(std::memory_order_relaxed) == kChanging &&
           owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  // A change made by the core, nested in a change of this thread or alone.
  class Change {
   public:
    explicit Change(Gate& gate);
    ~Change();
    Change(const Change&) = delete;

   private:
    Gate& gate_;
    const bool within_;
  };
  class Read {
   public:
    explicit Read(Gate& gate) : gate_(gate) { gate_.read(); }
    ~Read() { gate_.end_read(); }
    Read(const Read&) = delete;

   private:
    Gate& gate_;
  };

 private:
  static constexpr int32_t kChanging = -1;
  struct Waiting {  // made again in a forked process
    std::mutex mutex;
    std::condition_variable freed;
    std::atomic<int> readers{0}, writers{0};
  };

  bool try_read();
  bool try_change();
  template <class Try>
  void wait(std::atomic<int>& waiting, const Try& try_it);
  void wake();
  void look_for_fork();

  std::atomic<int32_t> users_{0};  // how many read it, or kChanging
  std::atomic<std::thread::id> owner_{};
  bool in_core_ = false;  // the changing thread is in the middle of a row
  int64_t generation_ = 0;
  int forks_;
  bool broken_ = false;
  std::unique_ptr<Waiting> waiting_;
};

}  // namespace sureline::bindings
