// What a session has done, and how long it took.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "completion.h"

namespace nt::execution {

// The last few hundred measurements of one duration, in milliseconds.
class Samples {
 public:
  void add(float milliseconds) noexcept;
  struct Percentiles {
    float p50 = 0, p95 = 0, p99 = 0;
    std::size_t count = 0;
  };
  Percentiles percentiles() const;

 private:
  static constexpr std::size_t kKeep = 1024;
  std::array<float, kKeep> values_{};
  std::size_t count_ = 0;
};

struct Counts {
  uint64_t requests = 0;  // finished well
  uint64_t failures = 0;
  uint64_t cancelled = 0;    // taken out of the queue, or ended
  uint64_t batches = 0;      // enqueued
  uint64_t bytesCopied = 0;  // of inputs, by the CPU
};

class Stats {
 public:
  void enqueued() noexcept;
  void cancelled(std::size_t requests) noexcept;
  void copied(std::size_t bytes) noexcept;
  void finished(const std::vector<Completion>& completions) noexcept;

  struct Snapshot {
    Counts counts;
    Samples::Percentiles queue, copyIn, compute, copyOut;
  };
  Snapshot snapshot() const;

 private:
  // counted by whoever does it, without a wait: these by callers, those below by lanes
  alignas(64) std::atomic<uint64_t> cancelled_{0};
  std::atomic<uint64_t> bytesCopied_{0};
  alignas(64) mutable std::mutex mutex_;
  std::atomic<uint64_t> batches_{0};
  uint64_t requests_ = 0;
  uint64_t failures_ = 0;
  Samples queue_, copyIn_, compute_, copyOut_;
};

}  // namespace nt::execution
