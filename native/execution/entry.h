// One request that the queue knows, from the call until the lane has given its batch back.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "batch.h"

namespace nt::execution {

// Names a request to its queue; never 0, and whole as a JavaScript number.
using Ticket = uint64_t;

struct alignas(64) Entry {
  enum class State : uint8_t {
    none,
    writing,  // its data is being copied; not among those that wait yet
    waiting,
    running,
  };

  // what each request needs comes first: callers and lanes take turns with it, a cache line at a time
  std::shared_ptr<Batch> own;  // its batch, where requests do not merge
  TimePoint asked;
  FrontEnd* front = nullptr;
  Entry* before = nullptr;
  Entry* next = nullptr;
  uint64_t arrival = 0;
  uint32_t level = 1;
  uint32_t rank = 0;  // order within a group: by level, those that were delayed last
  int64_t rows = 1;
  class Group* group = nullptr;
  Batch* batch = nullptr;  // that it runs in
  State state = State::none;
  bool timed = false;    // it has a deadline
  bool leaving = false;  // its front-end closes
  // nobody waits for its result; read by the lane that ends its batch
  std::atomic<bool> cancelled{false};
  // of Entries
  uint32_t index = 0;
  uint32_t generation = 1;
  std::shared_ptr<Rows> memory;
  Part part;           // while it waits, where requests merge
  TimePoint deadline;  // of its wait

  const Part& asPart() const { return own ? own->parts.front() : part; }
};

// All entries of a queue, under its lock; those that are free are used again.
class Entries {
 public:
  Entry& make() {
    if (free_.empty()) {
      // so that free() never allocates
      if (free_.capacity() <= all_.size()) free_.reserve(2 * (all_.size() + 1));
      Entry& made = all_.emplace_back();
      made.index = static_cast<uint32_t>(all_.size());
      return made;
    }
    Entry& entry = *free_.back();
    free_.pop_back();
    return entry;
  }
  void free(Entry& entry) noexcept {
    entry.state = Entry::State::none;
    entry.own.reset();
    entry.memory.reset();
    entry.batch = nullptr;
    entry.group = nullptr;
    entry.leaving = entry.timed = false;
    if (entry.cancelled.load(std::memory_order_relaxed)) entry.cancelled.store(false, std::memory_order_relaxed);
    entry.generation = (entry.generation + 1) % kGenerations;
    free_.push_back(&entry);
  }
  static Ticket ticketOf(const Entry& entry) noexcept {
    return static_cast<Ticket>(entry.generation) * kMost + entry.index;
  }
  // Null where there is no such request any more.
  Entry* find(Ticket ticket) noexcept {
    const uint64_t index = ticket % kMost;
    if (index == 0 || index > all_.size()) return nullptr;
    Entry& entry = all_[index - 1];
    return entry.state != Entry::State::none && ticketOf(entry) == ticket ? &entry : nullptr;
  }
  template <class Visit>
  void each(Visit visit) {
    for (Entry& entry : all_) {
      if (entry.state != Entry::State::none) visit(entry);
    }
  }

 private:
  static constexpr uint64_t kMost = uint64_t{1} << 25;
  static constexpr uint32_t kGenerations = uint32_t{1} << 27;  // with the index no more than 2^52
  std::deque<Entry> all_;
  std::vector<Entry*> free_;
};

}  // namespace nt::execution
