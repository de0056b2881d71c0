// How many bytes of frames there may be: what reads them waits here, so that who writes them waits, too.
#pragma once

#include <cstddef>
#include <mutex>

#include "../base/condition.h"

namespace nt::video {

class FrameBudget {
 public:
  explicit FrameBudget(std::size_t most) : most_(most) {}

  // Waits for room for so many; one frame always has some, and so has one that is wanted. False: it is over.
  bool take(std::size_t bytes) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return over_ || wanted_ || used_ == 0 || (used_ <= most_ && bytes <= most_ - used_); });
    if (over_) return false;
    wanted_ = false;
    used_ += bytes;
    return true;
  }
  void giveBack(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    changed_.notify_all();
  }
  // Somebody waits for a frame and none is there: whoever keeps all that he gets is to go on getting them.
  void want() noexcept {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
    changed_.notify_all();
  }
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  bool over() const noexcept {
    const std::lock_guard lock(mutex_);
    return over_;
  }
  std::size_t used() const noexcept {
    const std::lock_guard lock(mutex_);
    return used_;
  }

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  Condition changed_;
  std::size_t used_ = 0;
  bool wanted_ = false;
  bool over_ = false;
};

}  // namespace nt::video
