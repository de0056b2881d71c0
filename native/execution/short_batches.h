// When results are held back for a moment.
#pragma once

#include <chrono>

#include "request.h"

namespace nt::execution {

// Whether a lane's batches take so little time that waking JavaScript for each would cost more than they do: then
// results are held until a few have come, but only while the next batch is of the same shapes, and so expected to be as
// short.
class ShortBatches {
 public:
  static constexpr std::chrono::microseconds kShort{20};
  static constexpr std::size_t kMostHeld = 8;

  void begin(TimePoint now) noexcept { begun_ = now; }
  // A batch of these shapes is done, of a lane whose batch before ended at `last`; the next one begins.
  void end(TimePoint now, TimePoint last, const Shapes& shapes);
  TimePoint begun() const noexcept { return begun_; }
  explicit operator bool() const noexcept { return short_; }
  bool isAlike(const Shapes& shapes) const { return short_ && shapes_ == shapes; }

 private:
  TimePoint begun_;
  bool short_ = false;
  Shapes shapes_;
};

}  // namespace nt::execution
