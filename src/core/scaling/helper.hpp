// A second thread that works ahead of the first.
#pragma once

#include <memory>

namespace sureline {

// Does pieces of work in order, up to two ahead of their consumer. Compiled once, for the loops of all instruction
// sets.
class Helper {
 public:
  static constexpr int kPlaces = 2;

  // work(context, place) does the next piece in that place, and returns false if no other follows. Null if there is no
  // core for a second thread, or no thread. The caller deletes it: a smart pointer's code would be shared between the
  // instruction sets.
  static Helper* started(bool (*work)(void* context, int place), void* context);

  // Stops after the piece at hand.
  ~Helper();

  // Waits for the next piece, and returns its place. That of the piece before may be used again.
  int next();

 private:
  class Thread;
  explicit Helper(std::unique_ptr<Thread> thread);
  std::unique_ptr<Thread> thread_;
};

}  // namespace sureline
