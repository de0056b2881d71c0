// A model of the batcher, written from Triton's documents and not from the queue's code: plain lists and walks. What it
// does is what the queue must do; see histories.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace model {

using Time = std::chrono::nanoseconds;  // since the start of a history
using Ids = std::vector<uint64_t>;

struct Policy {
  std::size_t maxQueue = 0;  // 0: no limit
  Time timeout{0};           // 0: none
  bool delays = false;       // the action of the timeout: delay, or else reject
};

struct Options {
  int64_t maxBatch = 1;
  Time maxDelay{0};
  std::vector<int64_t> preferred;
  std::vector<Policy> levels = {{}};
  uint32_t defaultLevel = 1;
  std::size_t holdUntil = 0;
  std::size_t maxQueue = 1000;  // of the engine
};

struct Request {
  uint64_t id = 0;
  int64_t rows = 1;
  int group = 0;       // requests of one group have equal shapes
  uint32_t level = 0;  // 0: the default level
  Time timeout{0};     // of the call; 0: none
  int front = 0;
};

enum class Refusal : uint8_t { none, queueFull, closed };

class Batcher {
 public:
  explicit Batcher(Options options) : options_(std::move(options)) {}

  Refusal arrive(Time now, const Request& request);
  // Whether the request waited, and is taken out.
  bool cancel(uint64_t id);
  // Those that were rejected by `now` and were not told yet, in order.
  Ids expire(Time now);
  // The batch that a lane with nothing to do gets; empty: there is none. What a busy one takes early is no matter of
  // Triton's, and not of this model: its lanes have one slot each. See dispatch.cc.
  Ids take(Time now);
  void closeFront(int front);
  void close() { closed_ = true; }
  // All that waits.
  Ids drain();

  std::size_t waiting() const { return waiting_.size(); }
  bool held() const { return options_.holdUntil > 0 && !released_ && !closed_; }
  // When a batch may leave if nothing else happens, for the case that none may at present and no request has a timeout.
  std::optional<Time> nextDue() const;
  bool anyTimed() const;

 private:
  struct Waiting {
    Request request;  // its level is set
    Time arrival{0};
    uint64_t order = 0;            // of arrivals
    std::optional<Time> deadline;  // none: it has no timeout, or not any more
    uint64_t delayed = 0;          // 0: it was not delayed; else the how-manieth that was
  };
  struct Form {
    std::size_t count = 0;  // requests of the group's order
    bool mayLeave = false;
    Time due{0};  // when it may leave for its delay
  };
  void applyTimeouts(Time now);
  std::vector<const Waiting*> inOrder(int group) const;
  Form form(const std::vector<const Waiting*>& order, Time now) const;
  std::set<int> groups() const;

  const Options options_;
  std::vector<Waiting> waiting_;
  Ids rejected_;  // and not told
  std::set<int> closedFronts_;
  bool closed_ = false;
  bool released_ = false;
  uint64_t arrivals_ = 0;
  uint64_t delays_ = 0;
};

}  // namespace model
