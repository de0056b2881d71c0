#include "counters.h"

#include <algorithm>
#include <new>

namespace nt::execution {
namespace {

uint64_t nanoseconds(TimePoint from, TimePoint to) noexcept {
  return static_cast<uint64_t>(
      std::max<int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count(), 0));
}

uint64_t nanoseconds(float milliseconds) noexcept {
  return milliseconds > 0 ? static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6) : 0;
}

}  // namespace

Counters::Counters(int64_t maxBatch)
    : sizes_(static_cast<std::size_t>(std::min(maxBatch, kMostRows)) / kNeighbours + 1) {}

Counters::~Counters() {
  for (auto& neighbours : sizes_) delete neighbours.load();
}

// Null where it is beyond what is told apart, and where there is no memory for it.
Counters::Size* Counters::sizeOf(int64_t rows) noexcept {
  const auto at = static_cast<std::size_t>(rows);
  if (at / kNeighbours >= sizes_.size()) return nullptr;
  std::atomic<Neighbours*>& place = sizes_[at / kNeighbours];
  Neighbours* there = place.load(std::memory_order_acquire);
  if (there == nullptr) {
    auto* const made = new (std::nothrow) Neighbours();
    if (made == nullptr) return nullptr;
    if (place.compare_exchange_strong(there, made, std::memory_order_acq_rel)) {
      there = made;
    } else {
      delete made;
    }
  }
  return &(*there)[at % kNeighbours];
}

void Counters::ended(const Batch& batch, const std::vector<Completion>& completions) noexcept {
  uint64_t requests = 0, rows = 0, cancelled = 0, failed = 0, queue = 0;
  for (std::size_t i = 0; i < completions.size(); ++i) {
    const Completion& completion = completions[i];
    if (completion.cancelled || completion.abandoned) {
      ++cancelled;
    } else if (completion.failure) {
      ++failed;
    } else {
      ++requests;
      rows += static_cast<uint64_t>(batch.parts[i].rows);
      queue += nanoseconds(batch.parts[i].asked, batch.times.begun);
    }
  }
  const std::lock_guard lock(ending_);
  if (cancelled > 0) addAlone(cancelledRunning_, cancelled);
  if (failed > 0) addAlone(failed_, failed);
  const bool ran = batch.times.ended != TimePoint{};
  if (!ran) return;
  const auto& times = batch.times;
  const uint64_t input = nanoseconds(times.begun, times.placed);
  const uint64_t compute = nanoseconds(times.placed, times.computed);
  const uint64_t output = nanoseconds(times.computed, times.ended);
  const auto sum = [&](AtomicSums& sums, uint64_t count) {
    addAlone(sums.queue, queue);
    addAlone(sums.input, input * count);
    addAlone(sums.compute, compute * count);
    addAlone(sums.output, output * count);
  };
  addAlone(requests_, requests);
  addAlone(rows_, rows);
  addAlone(executions_, 1);
  sum(sums_, requests);
  if (Size* const size = sizeOf(batch.rows)) {
    addAlone(size->executions, 1);
    addAlone(size->requests, requests);
    sum(size->sums, 1);
  }
  if (completions.empty() || completions.front().timing.copyIn < 0) return;
  const Timing& timing = completions.front().timing;  // one for the whole batch
  addAlone(sampled_, 1);
  addAlone(device_.input, nanoseconds(timing.copyIn));
  addAlone(device_.compute, nanoseconds(timing.compute));
  addAlone(device_.output, nanoseconds(timing.copyOut));
}

Counters::Snapshot Counters::snapshot() const {
  Snapshot all{requests_,         rows_,   executions_,  rejected_, timedOut_,      cancelledWaiting_,
               cancelledRunning_, failed_, sums_.read(), sampled_,  device_.read(), {}};
  for (std::size_t chunk = 0; chunk < sizes_.size(); ++chunk) {
    const Neighbours* const there = sizes_[chunk].load(std::memory_order_acquire);
    if (there == nullptr) continue;
    for (std::size_t i = 0; i < kNeighbours; ++i) {
      const Size& size = (*there)[i];
      if (size.executions == 0) continue;
      all.sizes.push_back(
          {static_cast<int64_t>(chunk * kNeighbours + i), size.executions, size.requests, size.sums.read()});
    }
  }
  return all;
}

}  // namespace nt::execution
