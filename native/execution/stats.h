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

// What is counted and measured: EngineStats of lib/backend/backend.ts, by its names.
enum class Count : uint8_t { completed, failed, cancelled, batches, bytesCopied };
inline constexpr std::array kCountNames = {"completed", "failed", "cancelled", "batches", "bytesCopied"};
enum class Duration : uint8_t { queue, copyIn, compute, copyOut };
inline constexpr std::array kDurationNames = {"queueMs", "copyInMs", "computeMs", "copyOutMs"};

class Stats {
 public:
  // By whoever does it, without a wait.
  void add(Count count, std::size_t more = 1) noexcept {
    counts_[static_cast<std::size_t>(count)].value.fetch_add(more, std::memory_order_relaxed);
  }
  void finished(const std::vector<Completion>& completions) noexcept;

  struct Snapshot {
    std::array<uint64_t, kCountNames.size()> counts;
    std::array<Samples::Percentiles, kDurationNames.size()> durations;
    uint64_t operator[](Count count) const { return counts[static_cast<std::size_t>(count)]; }
    const Samples::Percentiles& operator[](Duration duration) const {
      return durations[static_cast<std::size_t>(duration)];
    }
  };
  Snapshot snapshot() const;

 private:
  struct alignas(64) Counted {
    std::atomic<uint64_t> value{0};
  };
  std::array<Counted, kCountNames.size()> counts_;
  alignas(64) mutable std::mutex mutex_;
  std::array<Samples, kDurationNames.size()> durations_;
};

}  // namespace nt::execution
