#include "abandoned.h"

#include <algorithm>

namespace nt::execution {

void Abandoned::add(uint64_t request) {
  const std::lock_guard lock(mutex_);
  if (requests_.size() == kMost) requests_.erase(requests_.begin());
  requests_.push_back(request);
}

void Abandoned::tell(Lane& lane, const Batch& batch) {
  const std::lock_guard lock(mutex_);
  if (requests_.empty()) return;
  for (const Part& part : batch.parts) {
    if (std::ranges::find(requests_, part.request) != requests_.end()) lane.abandon(part.request);
  }
}

}  // namespace nt::execution
