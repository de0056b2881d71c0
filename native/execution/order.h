// Completions in the order in which batches left the queue.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "completion.h"

namespace nt::execution {

class Order {
 public:
  // Tells what a batch's completions are once those of all before it were told. `tell` must not throw.
  template <class Deliver>
  void add(uint64_t batch, std::vector<Completion> completions, Deliver deliver) {
    const std::lock_guard lock(mutex_);
    held_.emplace(batch, std::move(completions));
    while (!held_.empty() && held_.begin()->first == next_) {
      deliver(std::move(held_.begin()->second));
      held_.erase(held_.begin());
      ++next_;
    }
  }

 private:
  std::mutex mutex_;
  uint64_t next_ = 0;
  std::map<uint64_t, std::vector<Completion>> held_;
};

}  // namespace nt::execution
