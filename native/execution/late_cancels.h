// Requests that were cancelled while neither queue nor lane had them: they were on their way from one to the other, or
// at their end.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_set>

#include "batch.h"

namespace nt::execution {

class LateCancels {
 public:
  void add(uint64_t request) {
    const std::lock_guard lock(mutex_);
    // those that were at their end are never taken; to forget one that was not costs a run that nobody waits for
    if (requests_.size() == kMost) requests_.clear();
    requests_.insert(request);
    any_ = true;
  }
  void remove(uint64_t request) {
    const std::lock_guard lock(mutex_);
    requests_.erase(request);
    any_ = !requests_.empty();
  }
  // Those of a batch that a lane has by now.
  std::vector<uint64_t> take(const Batch& batch) {
    std::vector<uint64_t> taken;
    if (!any_) return taken;
    const std::lock_guard lock(mutex_);
    for (const Part& part : batch.parts) {
      if (requests_.erase(part.request) > 0) taken.push_back(part.request);
    }
    any_ = !requests_.empty();
    return taken;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::unordered_set<uint64_t> requests_;
};

}  // namespace nt::execution
