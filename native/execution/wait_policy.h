// How long a lane's threads ask whether a batch has ended before they sleep until it has.
#pragma once

#include <atomic>

#include "lane.h"

namespace nt::execution {

// How many cores this process may use.
int cores();

// For a loop that asks again and again.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

enum class WaitMode : uint8_t { spin, block, adaptive };

// Of one lane. To be woken takes as long as a short batch does; a thread that asks takes a core from those who have
// work. inferSync of 200 µs of device time (bench core, `a lone request`) takes 274 µs where its caller asks and 286
// where it sleeps, and has all of a core instead of a fifth.
class WaitPolicy {
 public:
  explicit WaitPolicy(WaitMode mode) : mode_(mode) {}

  // One wait; in its time the thread counts among those of this process that ask.
  class CountedWait {
   public:
    CountedWait(const CountedWait&) = delete;
    CountedWait& operator=(const CountedWait&) = delete;
    ~CountedWait();
    Wait wait() const noexcept { return wait_; }

   private:
    friend class WaitPolicy;
    CountedWait(Wait wait, bool counted) : wait_(wait), counted_(counted) {}
    Wait wait_;
    bool counted_;
  };
  CountedWait beginLane();
  // For a caller of Session::run, whose core nobody else wants meanwhile.
  CountedWait beginCaller();
  // A batch took so long.
  void note(Clock::duration took) noexcept;

 private:
  Clock::duration patience() const noexcept;

  const WaitMode mode_;
  std::atomic<Clock::rep> average_{0};  // of the last batches
};

}  // namespace nt::execution
