#include "gate.hpp"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

#include "bindings.hpp"

namespace nb = nanobind;

namespace sureline::bindings {

namespace {

std::atomic<int> g_forks{0};
const bool g_counts_forks = pthread_atfork(nullptr, nullptr, [] { ++g_forks; }) == 0;

// Gates that this thread reads, once per nested read.
thread_local std::vector<const Gate*> t_reads;

int32_t n_reads_here(const Gate* gate) { return int32_t(std::count(t_reads.begin(), t_reads.end(), gate)); }

[[noreturn]] void refuse(const char* message) { throw std::runtime_error(message); }

constexpr const char* kLearnsHere =
    "This model is learning, and was asked by the call that it learns in: a rule, a kernel or a signal handler can "
    "neither ask nor teach the model that is calling it.";

}  // namespace

Gate::Gate() : forks_(g_forks), waiting_(std::make_unique<Waiting>()) { static_cast<void>(g_counts_forks); }

bool Gate::try_read() {
  int32_t users = users_.load();
  while (users >= 0)
    if (users_.compare_exchange_weak(users, users + 1)) return true;
  return false;
}

bool Gate::try_change() {
  int32_t nobody = 0;
  if (!users_.compare_exchange_strong(nobody, kChanging)) return false;
  owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  return true;
}

void Gate::read() {
  look_for_fork();
  // Who waits to change it comes first, or might wait for ever; not before a read within a read, or both would.
  const bool first = waiting_->writers.load() == 0 || n_reads_here(this) > 0;
  if (!first || !try_read()) {
    if (is_changed_here()) refuse(kLearnsHere);
    wait(waiting_->readers, [&] { return waiting_->writers.load() == 0 && try_read(); });
  }
  t_reads.push_back(this);
}

void Gate::end_read() {
  t_reads.erase(std::find(t_reads.rbegin(), t_reads.rend(), this).base() - 1);
  users_.fetch_sub(1);
  wake();
}

void Gate::change() {
  look_for_fork();
  if (try_change()) return;
  if (is_changed_here()) refuse(kLearnsHere);
  if (n_reads_here(this) > 0)
    refuse("This model is answering, and cannot learn before it has: a kernel or a signal handler asked it to.");
  wait(waiting_->writers, [&] { return try_change(); });
}

void Gate::end_change() {
  owner_.store({}, std::memory_order_relaxed);
  users_.store(0);
  wake();
}

template <class Try>
void Gate::wait(std::atomic<int>& waiting, const Try& try_it) {
  ++waiting;
  for (bool done = false; !done;) {
    {
      nb::gil_scoped_release release;
      std::unique_lock lock(waiting_->mutex);
      done = waiting_->freed.wait_for(lock, std::chrono::milliseconds(50), try_it);
    }
    if (!done && PyErr_CheckSignals() != 0) {
      --waiting;
      wake();
      throw nb::python_error();
    }
  }
  --waiting;
  wake();  // readers may have waited for this writer, too
}

void Gate::wake() {
  if (waiting_->readers.load() == 0 && waiting_->writers.load() == 0) return;
  const std::lock_guard lock(waiting_->mutex);
  waiting_->freed.notify_all();
}

// In a process that was forked off there are no other threads: nobody else reads the model, and if somebody was
// changing it, nobody will complete that.
void Gate::look_for_fork() {
  if (const int forks = g_forks.load(std::memory_order_relaxed); forks != forks_) [[unlikely]] {
    forks_ = forks;
    static_cast<void>(waiting_.release());  // somebody may have held its mutex
    waiting_ = std::make_unique<Waiting>();
    if (users_.load() != kChanging)
      users_.store(n_reads_here(this));
    else if (!is_changed_here())
      broken_ = true;
  }
  if (broken_) [[unlikely]]
    refuse("Another thread was changing this model when the process was forked: this copy of it is of no use.");
}

Gate::Change::Change(Gate& gate) : gate_(gate), within_(gate.is_changed_here()) {
  if (!within_)
    gate_.change();
  else if (gate_.in_core_)
    refuse(kLearnsHere);
  gate_.in_core_ = true;
}

Gate::Change::~Change() {
  gate_.in_core_ = false;
  if (!within_) gate_.end_change();
}

}  // namespace sureline::bindings

namespace {

using namespace nb::literals;
using sureline::bindings::Gate;

// The context manager for `with`. The interpreter handles no signal between its beginning and the block.
template <void (Gate::*begin)(), void (Gate::*end)()>
struct Passage {
  nb::object owner;
  Gate* gate;
  void enter() { (gate->*begin)(); }
  void exit(const nb::args&) { (gate->*end)(); }
};
using Reading = Passage<&Gate::read, &Gate::end_read>;
using Changing = Passage<&Gate::change, &Gate::end_change>;

template <class P>
P passage(nb::pointer_and_handle<Gate> gate) {
  return {nb::borrow(gate.h), gate.p};
}

}  // namespace

void bind_gate(nb::module_& m) {
  const auto signature = nb::sig("def __exit__(self, *raised: object) -> None");
  nb::class_<Reading>(m, "Reading").def("__enter__", &Reading::enter).def("__exit__", &Reading::exit, signature);
  nb::class_<Changing>(m, "Changing")
      .def("__enter__",
           [](Changing& changing) {
             changing.enter();
             changing.gate->begin_generation();
           })
      .def("__exit__", &Changing::exit, signature);
  nb::class_<Gate>(m, "Gate", "Who uses a model: any number of threads that read it, or one that changes it.")
      .def(nb::init<>())
      .def_prop_ro("reading", &passage<Reading>, "For `with`: wait until nobody changes it, and let nobody.")
      .def_prop_ro("changing", &passage<Changing>, "For `with`: wait until nobody uses it, and let nobody.");
}
