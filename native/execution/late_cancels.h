// Requests that were cancelled while neither queue nor lane had them: they were on their way from one to the other, or
// at their end.
#pragma once

#include <atomic>
#include <mutex>
#include <set>

#include "batch.h"

namespace nt::execution {

class LateCancels {
 public:
  void add(const Front& front, uint64_t request) {
    const std::lock_guard lock(mutex_);
    // those that were at their end are never taken; to forget one that was not costs a run that nobody waits for
    if (requests_.size() == kMost) requests_.clear();
    requests_.emplace(&front, request);
    any_ = true;
  }
  void remove(const Front& front, uint64_t request) {
    const std::lock_guard lock(mutex_);
    requests_.erase({&front, request});
    any_ = !requests_.empty();
  }
  // All of a front-end that ends: the next one may lie at the same place.
  void forget(const Front& front) {
    const std::lock_guard lock(mutex_);
    std::erase_if(requests_, [&](const auto& request) { return request.first == &front; });
    any_ = !requests_.empty();
  }
  // Those of a batch that a lane has by now.
  std::vector<const Part*> take(const Batch& batch) {
    std::vector<const Part*> taken;
    if (!any_) return taken;
    const std::lock_guard lock(mutex_);
    for (const Part& part : batch.parts) {
      if (requests_.erase({part.front, part.request}) > 0) taken.push_back(&part);
    }
    any_ = !requests_.empty();
    return taken;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::set<std::pair<const Front*, uint64_t>> requests_;
};

}  // namespace nt::execution
