// How requests merge, and in which order they leave.
#pragma once

#include <cstdint>
#include <vector>

#include "request.h"

namespace nt::execution {

// Of the requests of one level of priority that wait.
struct QueuePolicy {
  std::size_t maxQueue = 0;    // how many may; 0: as many as the queue takes
  Clock::duration timeout{0};  // how long; 0: for ever
  bool delays = false;         // after that: it waits on, behind the others of its level, or else it is rejected
};

struct BatchingOptions {
  // 1: requests do not merge
  int64_t maxBatch = 1;
  // how long a request may wait for others; 0: a batch leaves as soon as a lane is free
  Clock::duration maxDelay{0};
  // sizes at which a batch leaves without waiting; sorted
  std::vector<int64_t> preferred;
  // rows that a batch is filled up to, so that it meets a captured graph; sorted; empty: no padding
  std::vector<int64_t> pad;
  // levels of priority; the first is served first
  std::vector<QueuePolicy> levels = {{}};
  uint32_t defaultLevel = 1;
  // completions come in the order in which requests left the queue
  bool preserveOrder = false;
  // nothing leaves before so many requests have waited at one time; for tests
  std::size_t holdUntil = 0;
};

}  // namespace nt::execution
