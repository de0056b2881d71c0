#include "queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "../base/error.h"
#include "front.h"

namespace nt::execution {
namespace {

constexpr std::size_t kMostSpare = 64;  // batches

// Whether requests of these shapes may share a batch: all dimensions but the first are equal.
bool mergeable(const Shapes& a, const Shapes& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size() || !std::equal(a[i].begin() + 1, a[i].end(), b[i].begin() + 1)) return false;
  }
  return true;
}

}  // namespace

Queue::Queue(BatchingOptions batching, std::size_t limit, Allocate allocate, std::size_t limitBytes)
    : batching_(std::move(batching)), limit_(limit), limitBytes_(limitBytes), allocate_(std::move(allocate)) {
  spare_.reserve(kMostSpare);
}

// The lock is held.
void Queue::checkRoom(const Part& part) const {
  if (closed_ || (part.front != nullptr && part.front->closed)) throw Error("ERR_TRT_CLOSED", "The engine is closed");
  if (waiting_ < limit_) return checkBytes(part.bytes);
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

// The lock is held: one more request waits.
void Queue::count(const Part& part) noexcept {
  ++waiting_;
  waitingBytes_ += part.bytes;
  if (part.front != nullptr) ++part.front->asked;
}

// The lock is held: it was never asked for.
void Queue::uncount(const Part& part) noexcept {
  --waiting_;
  waitingBytes_ -= part.bytes;
  if (part.front != nullptr) --part.front->asked;
}

// The lock is held: these requests do not wait any more.
void Queue::forget(const Batch& batch) noexcept {
  waiting_ -= batch.parts.size();
  for (const Part& part : batch.parts) waitingBytes_ -= part.bytes;
}

void Queue::push(std::shared_ptr<Batch>& batch) {
  Seat* seat = nullptr;
  batch->full = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    checkRoom(batch->parts.front());
    count(batch->parts.front());
    const TimePoint now = batch->oldest();
    batches_.push_back(batch);
    batch = spare_.empty() ? nullptr : emptyBatch();
    ++news_;
    seat = callAllFor(now);
  }
  if (seat != nullptr) seat->called.notify_one();  // after the lock, which who wakes wants at once
}

// What a large request will need, got without the lock: others go on meanwhile.
std::shared_ptr<HostBlock> Queue::memoryFor(const Part& part, std::size_t inputs) {
  if (part.bytes < kOwnMemory) return nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    checkRoom(part);
  }
  return allocate_(part.bytes + kAlignment * inputs);
}

Queue::Place Queue::reserve(const Shapes& shapes, const std::vector<std::size_t>& rowBytes, Part part) {
  const bool merging = batching_.maxBatch > 1;
  std::shared_ptr<HostBlock> ready = memoryFor(part, rowBytes.size());
  const Allocate allocate = [&](std::size_t bytes) {
    return ready && bytes <= ready->capacity() ? std::exchange(ready, nullptr) : allocate_(bytes);
  };
  const std::lock_guard<std::mutex> lock(mutex_);
  checkRoom(part);
  std::shared_ptr<Batch> batch = openFor(shapes, part.rows);
  if (batch) {
    makeRoom(*batch, part, batching_.maxBatch, allocate);
  } else {
    batch = emptyBatch();
    const int64_t rows = merging ? rowsAtOnce(part, rowBytes, batching_.maxBatch - part.rows) : 1;
    layOut(*batch, shapes, rowBytes, part, rows, merging, allocate);
    batches_.push_back(batch);
  }
  const int64_t row = batch->rows;
  count(part);
  batch->add(std::move(part));
  batch->full = batch->rows >= batching_.maxBatch;
  ++batch->writers;
  return {std::move(batch), row};
}

std::shared_ptr<Batch> Queue::emptyBatch() {
  if (spare_.empty()) return std::make_shared<Batch>();
  std::shared_ptr<Batch> batch = std::move(spare_.back());
  spare_.pop_back();
  return batch;
}

// The lock is held.
void Queue::keep(std::shared_ptr<Batch> spent) noexcept {
  // a caller that has just committed its request may still hold its place
  if (!spent || spent.use_count() > 1 || closed_ || spare_.size() == spare_.capacity()) return;
  spare_.push_back(std::move(spent));
}

std::shared_ptr<Batch> Queue::openFor(const Shapes& shapes, int64_t rows) const {
  if (batching_.maxBatch == 1) return nullptr;
  for (const auto& batch : batches_) {
    if (batch->full || !mergeable(batch->shapes, shapes)) continue;
    if (batch->rows + rows <= batching_.maxBatch) return batch;
    batch->full = true;  // it will not be overtaken by later, smaller requests
  }
  return nullptr;
}

void Queue::commit(const Place& place) {
  Seat* seat = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    --place.batch->writers;
    ++news_;
    seat = callAllFor(place.batch->parts.back().asked);
  }
  if (seat != nullptr) seat->called.notify_one();
}

// The lock is held. The batch, or the next one where that was all of it.
Queue::Batches::iterator Queue::takeOut(Batches::iterator batch, std::vector<Part>::iterator part) {
  uncount(*part);
  if ((*batch)->parts.size() == 1) {
    batch = batches_.erase(batch);
    if (closed_ && batches_.empty()) callAll();  // all may go
    return batch;
  }
  (*batch)->remove(part);
  (*batch)->full = (*batch)->leaving;
  return batch;
}

bool Queue::cancel(const Front* front, uint64_t request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto each = batches_.begin(); each != batches_.end(); ++each) {
    Batch& batch = **each;
    const auto part = std::ranges::find_if(
        batch.parts, [&](const Part& part) { return part.request == request && part.front == front; });
    if (part == batch.parts.end()) continue;
    if (batch.writers > 0) return false;  // its data is on its way; it will run, and its result is dropped
    takeOut(each, part);
    return true;
  }
  return false;
}

std::size_t Queue::cancelAll(Front& front) {
  const std::lock_guard<std::mutex> lock(mutex_);
  front.closed = true;
  std::size_t cancelled = 0;
  for (auto each = batches_.begin(); each != batches_.end();) {
    std::vector<Part>& parts = (*each)->parts;
    const auto part = std::ranges::find(parts, &front, &Part::front);
    if (part == parts.end() || (*each)->writers > 0) {
      ++each;
      continue;
    }
    each = takeOut(each, part);
    ++cancelled;
  }
  return cancelled;
}

void Queue::closeFor(Front& front) {
  Seat* seat = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    front.closed = true;
    for (const auto& batch : batches_) {
      if (std::ranges::find(batch->parts, &front, &Part::front) == batch->parts.end()) continue;
      batch->full = batch->leaving = true;
    }
    ++news_;
    seat = callAllFor(Clock::now());
  }
  if (seat != nullptr) seat->called.notify_one();
}

uint64_t Queue::asked(const Front& front) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return front.asked;
}

void Queue::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  ++news_;
  spare_.clear();
  callAll();
  for (Borrower* borrower : borrowers_) borrower->given.notify_one();
}

std::vector<std::shared_ptr<Batch>> Queue::drain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Batch>> all(batches_.begin(), batches_.end());
  for (const auto& batch : all) std::ranges::for_each(batch->parts, [this](const Part& part) { uncount(part); });
  batches_.clear();
  if (closed_) callAll();
  return all;
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
