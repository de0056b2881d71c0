// Requests that are given up between the queue and a lane.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "lane.h"

namespace nt::execution {

// The requests that were given up last, while a lane may have had them: it is told once it has begun.
class Abandoned {
 public:
  void add(uint64_t request);
  void tell(Lane& lane, const Batch& batch);

 private:
  static constexpr std::size_t kMost = 256;  // older ones have long begun
  std::mutex mutex_;
  std::vector<uint64_t> requests_;
};

}  // namespace nt::execution
