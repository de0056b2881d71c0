#include "queue.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "../base/error.h"

namespace nt::execution {
namespace {

constexpr std::size_t kMostSpare = 64;  // batches
constexpr std::size_t kMostBytes = SIZE_MAX / 2;
constexpr std::size_t kAlignment = 256;  // as cudaMalloc's: every element type, and whole cache lines

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// The memory that an input of a batch takes. Throws ERR_TRT_OUT_OF_MEMORY.
std::size_t batchBytes(std::size_t rowBytes, int64_t rows, std::size_t before) {
  std::size_t bytes = 0;
  const bool none = __builtin_mul_overflow(rowBytes, static_cast<std::size_t>(rows), &bytes) ||
                    __builtin_add_overflow(bytes, kAlignment, &bytes) ||
                    __builtin_add_overflow(bytes, before, &bytes) || bytes > kMostBytes;
  if (!none) return aligned(rowBytes * static_cast<std::size_t>(rows));
  throw Error("ERR_TRT_OUT_OF_MEMORY", "There is no memory for a batch of " + std::to_string(rows) + " rows of " +
                                           std::to_string(rowBytes) + " bytes");
}

// Whether requests of these shapes may share a batch: all dimensions but the first are equal.
bool mergeable(const Shapes& a, const Shapes& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size() || !std::equal(a[i].begin() + 1, a[i].end(), b[i].begin() + 1)) return false;
  }
  return true;
}

}  // namespace

void layOut(Batch& batch, const Shapes& shapes, const std::vector<std::size_t>& rowBytes, const Part& first,
            int64_t rows, bool merging, const Allocate& allocate) {
  // what is as it was is not written again: the lane has read it, and would have to fetch it once more
  const bool same =
      batch.memory && !batch.leased && first.leases.empty() && batch.shapes == shapes && batch.rowBytes == rowBytes;
  if (!same) {
    batch.shapes.clear();  // unlike any other, until all of it is as it is to be
    batch.rowBytes = rowBytes;
    batch.leased = !first.leases.empty();
    batch.offsets.clear();
    std::size_t bytes = 0;
    for (std::size_t input = 0; input < rowBytes.size(); ++input) {
      batch.offsets.push_back(bytes);
      const bool elsewhere = !merging && first.lease(input) != nullptr;
      bytes += elsewhere ? 0 : batchBytes(rowBytes[input], merging ? rows : 1, bytes);
    }
    if (!batch.memory || batch.memory->capacity() < bytes) batch.memory = allocate(bytes);
    batch.shapes = shapes;
  }
  batch.memory->rest(false);
}

void Batch::clear() noexcept {
  parts.clear();
  rows = 0;
  full = false;
  if (memory && memory->capacity() > kKept) memory.reset();
  if (memory) memory->rest(true);
}

void Batch::add(Part part) {
  part.row = rows;
  rows += part.rows;
  parts.push_back(std::move(part));
}

Queue::Queue(BatchingOptions batching, std::size_t limit, Allocate allocate)
    : batching_(std::move(batching)), limit_(limit), allocate_(std::move(allocate)) {
  spare_.reserve(kMostSpare);
}

void Queue::checkRoom() const {
  if (closed_) throw Error("ERR_TRT_CLOSED", "The engine is closed");
  if (waiting_ < limit_) return;
  throw Error("ERR_TRT_QUEUE_FULL", "The engine's queue is full: " + std::to_string(waiting_) +
                                        " requests wait, maxQueue is " + std::to_string(limit_));
}

void Queue::push(std::shared_ptr<Batch>& batch) {
  bool wake = false;
  batch->full = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    checkRoom();
    batches_.push_back(batch);
    batch = spare_.empty() ? nullptr : emptyBatch();
    ++waiting_;
    ++news_;
    wake = sleepers_ > 0;
  }
  if (wake) changed_.notify_one();  // after the lock, which who wakes wants at once
}

Queue::Place Queue::reserve(const Shapes& shapes, const std::vector<std::size_t>& rowBytes, Part part) {
  const std::lock_guard<std::mutex> lock(mutex_);
  checkRoom();
  std::shared_ptr<Batch> batch = openFor(shapes, part.rows);
  if (!batch) {
    batch = emptyBatch();
    layOut(*batch, shapes, rowBytes, part, batching_.maxBatch, batching_.maxBatch > 1, allocate_);
    batches_.push_back(batch);
  }
  const int64_t row = batch->rows;
  batch->add(std::move(part));
  batch->full = batch->rows >= batching_.maxBatch;
  ++batch->writers;
  ++waiting_;
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
  bool wake = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    --place.batch->writers;
    ++news_;
    wake = sleepers_ > 0;
  }
  if (wake) changed_.notify_one();
}

bool Queue::cancel(uint64_t request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto each = batches_.begin(); each != batches_.end(); ++each) {
    Batch& batch = **each;
    const auto part = std::ranges::find(batch.parts, request, &Part::request);
    if (part == batch.parts.end()) continue;
    if (batch.writers > 0) return false;  // its data is on its way; it will run, and its result is dropped
    --waiting_;
    if (batch.parts.size() == 1) {
      batches_.erase(each);
      return true;
    }
    // close the gap, so that the others' rows stay together
    for (std::size_t input = 0; input < batch.offsets.size(); ++input) {
      const int64_t behind = part->row + part->rows;
      std::memmove(batch.row(input, part->row), batch.row(input, behind),
                   batch.rowBytes[input] * static_cast<std::size_t>(batch.rows - behind));
    }
    for (auto later = part + 1; later != batch.parts.end(); ++later) later->row -= part->rows;
    batch.rows -= part->rows;
    batch.parts.erase(part);
    batch.full = false;
    return true;
  }
  return false;
}

bool Queue::due(const Batch& batch, TimePoint now) const {
  if (batch.writers > 0) return false;
  return batch.full || closed_ || now >= batch.oldest() + batching_.maxDelay ||
         std::ranges::binary_search(batching_.preferred, batch.rows);
}

std::shared_ptr<Batch> Queue::takeLocked(TimePoint now) {
  for (auto each = batches_.begin(); each != batches_.end(); ++each) {
    if (!due(**each, now)) continue;
    std::shared_ptr<Batch> batch = std::move(*each);
    batches_.erase(each);
    waiting_ -= batch->parts.size();
    return batch;
  }
  return nullptr;
}

std::shared_ptr<Batch> Queue::take(TimePoint now, std::shared_ptr<Batch> spent) {
  const std::lock_guard<std::mutex> lock(mutex_);
  keep(std::move(spent));
  return takeLocked(now);
}

std::optional<TimePoint> Queue::nextDueLocked() const {
  std::optional<TimePoint> next;
  for (const auto& batch : batches_) {
    if (batch->writers > 0) continue;  // commit() wakes
    const TimePoint due = batch->oldest() + batching_.maxDelay;
    if (!next || due < *next) next = due;
  }
  return next;
}

std::optional<TimePoint> Queue::nextDue() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return nextDueLocked();
}

// Until something happens, but no longer than it takes to be woken: to wake a thread costs a caller more than the rest
// of his call.
void Queue::look(uint32_t seen, std::optional<TimePoint> due) const {
  constexpr std::chrono::microseconds kPatience{20};
  static const bool oneCore = [] {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) == 1;
  }();
  if (oneCore) return;
  TimePoint end = Clock::now() + kPatience;
  if (due) end = std::min(end, *due);
  while (news_ == seen && Clock::now() < end) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

std::shared_ptr<Batch> Queue::waitAndTake(std::shared_ptr<Batch> spent, bool alert) {
  std::unique_lock<std::mutex> lock(mutex_);
  keep(std::move(spent));
  for (;;) {
    if (std::shared_ptr<Batch> batch = takeLocked(Clock::now())) {
      // another batch may be due for a lane that sleeps; and after the last one, all may go
      if (closed_ && batches_.empty()) {
        changed_.notify_all();
      } else if (!batches_.empty() && sleepers_ > 0) {
        changed_.notify_one();
      }
      return batch;
    }
    if (closed_ && batches_.empty()) return nullptr;
    const std::optional<TimePoint> due = nextDueLocked();
    if (std::exchange(alert, false)) {
      const uint32_t seen = news_;
      lock.unlock();
      look(seen, due);
      lock.lock();
      continue;
    }
    ++sleepers_;
    if (due) {
      changed_.wait_until(lock, *due);
    } else {
      changed_.wait(lock);
    }
    --sleepers_;
  }
}

void Queue::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  ++news_;
  spare_.clear();
  changed_.notify_all();
}

std::vector<std::shared_ptr<Batch>> Queue::drain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Batch>> all(batches_.begin(), batches_.end());
  batches_.clear();
  waiting_ = 0;
  changed_.notify_all();
  return all;
}

std::size_t Queue::waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_;
}

bool Queue::closed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return closed_;
}

}  // namespace nt::execution
