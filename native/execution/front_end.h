// A front-end of a session, as queue and lanes know it: whose a request is, and where its completion goes.
#pragma once

#include <atomic>

#include "completion.h"

namespace nt::execution {

struct FrontEnd {
  explicit FrontEnd(Sink sink) : sink(std::move(sink)) {}

  // What callers write, and queue and lanes hardly read: requests that the queue took, but for those that were taken
  // out of it again; under its lock.
  uint64_t asked = 0;
  // It refuses new ones. Written under the queue's lock.
  std::atomic<bool> closed{false};

  // What lanes use. Requests that have come to their end, and are not touched any more.
  alignas(64) std::atomic<uint64_t> delivered{0};
  // Nobody is there to hear of anything. Set once.
  std::atomic<bool> gone{false};
  const Sink sink;
};

}  // namespace nt::execution
