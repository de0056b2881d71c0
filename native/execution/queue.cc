#include "queue.h"

#include <algorithm>
#include <utility>

#include "../base/error.h"
#include "front_end.h"

namespace nt::execution {
namespace {

constexpr std::size_t kMostSpare = 64;       // batches
constexpr std::size_t kMostEmptyGroups = 4;  // kept for what they have learned, and their memory

}  // namespace

Queue::Queue(BatchingOptions batching, std::size_t limit, Allocate allocate, std::size_t limitBytes)
    : batching_(std::move(batching)),
      limit_(limit),
      limitBytes_(limitBytes),
      allocate_(std::move(allocate)),
      waitingOf_(batching_.levels.size() + 1),
      held_(batching_.holdUntil > 0) {
  spare_.reserve(kMostSpare);
}

uint32_t Queue::levelOf(const Part& part) const {
  const uint32_t level = part.level == 0 ? batching_.defaultLevel : part.level;
  if (level >= 1 && level <= batching_.levels.size()) return level;
  throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected a priority from 1 to " + std::to_string(batching_.levels.size()) +
                                              " but received " + std::to_string(level));
}

// A request may wait less long than its level allows, never longer.
Clock::duration Queue::timeoutOf(const Part& part) const {
  const Clock::duration none{0};
  if (part.unlimited) return none;
  const Clock::duration most = batching_.levels[levelOf(part) - 1].timeout;
  if (most == none || part.queueTimeout == none) return std::max(most, part.queueTimeout);
  return std::min(most, part.queueTimeout);
}

bool Queue::isTimed(const Part& part) const { return timeoutOf(part) > Clock::duration(0); }

// The lock is held.
void Queue::checkRoom(const Part& part, uint32_t level) const {
  if (closed_ || (part.front != nullptr && part.front->closed)) throw Error("ERR_TRT_CLOSED", "The engine is closed");
  const std::size_t most = batching_.levels[level - 1].maxQueue;
  if (most > 0 && waitingOf_[level] >= most && !part.unlimited) {
    throw Error("ERR_TRT_QUEUE_FULL", "The engine's queue is full: " + std::to_string(waitingOf_[level]) +
                                          " requests of priority " + std::to_string(level) +
                                          " wait, maxQueue of that level is " + std::to_string(most));
  }
  if (waiting_ < limit_) return checkBytes(part.waitingBytes());
  throw Error("ERR_TRT_QUEUE_FULL", "The engine's queue is full: " + std::to_string(waiting_) +
                                        " requests wait, maxQueue is " + std::to_string(limit_));
}

void Queue::checkBytes(std::size_t bytes) const {
  if (bytes <= limitBytes_ && waitingBytes_ <= limitBytes_ - bytes) return;
  throw Error("ERR_TRT_QUEUE_FULL",
              "The engine's queue is full: " + std::to_string(waitingBytes_) + " bytes wait, maxQueueBytes is " +
                  std::to_string(limitBytes_) + ", the request has " + std::to_string(bytes),
              {{"waiting", std::to_string(waitingBytes_)},
               {"limit", std::to_string(limitBytes_)},
               {"bytes", std::to_string(bytes)}});
}

// The lock is held: one more request, which does not wait yet.
Entry& Queue::enter(const Part& part, uint32_t level, Group& group) {
  Entry& entry = entries_.make();
  entry.group = &group;
  group.expect();
  entry.state = Entry::State::writing;
  entry.asked = part.asked;
  entry.front = part.front;
  entry.rows = batching_.maxBatch > 1 ? part.rows : 1;
  entry.level = level;
  entry.rank = 2 * (level - 1);
  entry.timed = false;
  count(entry, part.waitingBytes());
  return entry;
}

void Queue::count(const Entry& entry, std::size_t bytes) noexcept {
  ++waiting_;
  ++waitingOf_[entry.level];
  waitingBytes_ += bytes;
  if (entry.front != nullptr) ++entry.front->asked;
}

// The lock is held: it does not wait any more.
void Queue::uncount(const Entry& entry, std::size_t bytes) noexcept {
  --waiting_;
  --waitingOf_[entry.level];
  waitingBytes_ -= bytes;
}

// The lock is held: its data is there.
void Queue::line(Entry& entry) {
  entry.arrival = ++arrivals_;
  entry.leaving = entry.front != nullptr && entry.front->closed;
  entry.state = Entry::State::waiting;
  entry.group->add(entry);
  ++ready_;
  if (held_ && ready_ >= batching_.holdUntil) held_ = false;
  limitWait(entry);
}

// What a large request will need, got without the lock: others go on meanwhile.
std::shared_ptr<HostBlock> Queue::memoryFor(const Part& part, std::size_t inputs) {
  if (part.bytes < kOwnMemory) return nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    expireLocked(part.asked);
    checkRoom(part, levelOf(part));
  }
  return allocate_(part.bytes + kAlignment * inputs);
}

Queue::Place Queue::reserve(const Shapes& shapes, const std::vector<std::size_t>& rowBytes, Part part) {
  const uint32_t level = levelOf(part);
  std::shared_ptr<HostBlock> ready = memoryFor(part, rowBytes.size());
  const Allocate allocate = [&](std::size_t bytes) {
    return ready && bytes <= ready->capacity() ? std::exchange(ready, nullptr) : allocate_(bytes);
  };
  const std::lock_guard<std::mutex> lock(mutex_);
  expireLocked(part.asked);
  checkRoom(part, level);
  Group& group = groupFor(shapes, rowBytes);
  if (batching_.maxBatch == 1) {
    std::shared_ptr<Batch> batch = emptyBatch();
    layOut(*batch, shapes, rowBytes, part, 1, allocate);
    Entry& entry = enter(part, level, group);
    batch->add(std::move(part));
    entry.own = std::move(batch);
    return {&entry, entry.own->memory.front().get(), 0, Entries::ticketOf(entry)};
  }
  std::shared_ptr<Rows> rows = group.place(part, allocate);
  Entry& entry = enter(part, level, group);
  const int64_t row = rows->used;
  rows->used += part.rows;
  ++rows->users;
  part.memory = rows.get();
  part.placed = row;
  entry.part = std::move(part);
  entry.memory = std::move(rows);
  return {&entry, entry.memory.get(), row, Entries::ticketOf(entry)};
}

void Queue::commit(const Place& place) {
  Permit* permit = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    line(*place.entry);
    permit = callAllFor(place.entry->asked);
  }
  if (permit != nullptr) permit->called.notify_one();
}

// The lock is held. Where nothing merges there is one, whatever the shapes.
Group& Queue::groupFor(const Shapes& shapes, const std::vector<std::size_t>& rowBytes) {
  for (const auto& group : groups_) {
    if (group->takes(shapes)) return *group;
  }
  // those that are being written have no place in their group yet
  const auto isIdle = [](const auto& group) { return group->isIdle(); };
  if (std::ranges::count_if(groups_, isIdle) >= static_cast<std::ptrdiff_t>(kMostEmptyGroups)) {
    groups_.erase(std::ranges::find_if(groups_, isIdle));
  }
  groups_.push_back(std::make_unique<Group>(batching_, ++groupsSoFar_, shapes, rowBytes));
  return *groups_.back();
}

std::shared_ptr<Batch> Queue::emptyBatch() {
  if (spare_.empty()) return std::make_shared<Batch>();
  std::shared_ptr<Batch> batch = std::move(spare_.back());
  spare_.pop_back();
  return batch;
}

// The lock is held. Nothing of a batch is under way any more.
void Queue::forgetLocked(Batch& batch) noexcept {
  for (Entry* entry : batch.entries) entries_.free(*entry);
  batch.entries.clear();
  if (batching_.maxBatch == 1) return;
  for (std::shared_ptr<Rows>& rows : batch.memory) release(std::move(rows));
  batch.memory.clear();
}

void Queue::forget(Batch& batch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  forgetLocked(batch);
}

void Queue::keep(std::shared_ptr<Batch> spent) noexcept {
  if (!spent) return;
  forgetLocked(*spent);
  // who cancels one of its requests may hold it still
  if (spent.use_count() > 1 || closed_ || spare_.size() == spare_.capacity()) return;
  // not before: until here its requests could be cancelled, although it was over
  spent->abandoned.store(false, std::memory_order_relaxed);
  spare_.push_back(std::move(spent));
}

// The lock is held: one user fewer.
void Queue::release(std::shared_ptr<Rows> rows) noexcept {
  if (--rows->users > 0 || closed_) return;
  const auto group = std::ranges::find(groups_, rows->group, [](const auto& each) { return each->number(); });
  if (group != groups_.end()) (*group)->keep(std::move(rows));
}

uint64_t Queue::asked(const FrontEnd& front) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return front.asked;
}

std::size_t Queue::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_;
}

std::size_t Queue::waitingBytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waitingBytes_;
}

bool Queue::closed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closed_;
}

}  // namespace nt::execution
