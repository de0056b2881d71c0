#include "wait_policy.h"

#include <sched.h>

#include <algorithm>

namespace nt::execution {
namespace {

using std::chrono::microseconds;

constexpr Clock::duration kLeast = microseconds(50);     // that is asked for
constexpr Clock::duration kMost = microseconds(500);     // that batches may take on average, if they are asked for
constexpr Clock::duration kCounts = microseconds(2000);  // what one batch counts for at most

// Lanes' threads of this process that ask.
std::atomic<int> asking{0};

}  // namespace

int cores() {
  static const int count = [] {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 2;
  }();
  return count;
}

WaitPolicy::CountedWait::~CountedWait() {
  if (counted_) --asking;
}

Clock::duration WaitPolicy::patience() const noexcept {
  const Clock::duration average{average_.load(std::memory_order_relaxed)};
  return average > kMost ? Clock::duration(0) : std::max(2 * average, kLeast);
}

WaitPolicy::CountedWait WaitPolicy::beginLane() {
  if (mode_ == WaitMode::spin) return {Wait::spin, false};
  const Clock::duration patience = this->patience();
  // half of the cores are for those who have work; of two, JavaScript and the driver's own threads want both
  if (mode_ == WaitMode::block || patience == Clock::duration(0) || cores() <= 2) return {Wait::block, false};
  if (asking.fetch_add(1) < cores() / 2) return {Wait{patience}, true};
  --asking;
  return {Wait::block, false};
}

WaitPolicy::CountedWait WaitPolicy::beginCaller() {
  if (mode_ == WaitMode::spin) return {Wait::spin, false};
  if (mode_ == WaitMode::block || cores() == 1) return {Wait::block, false};
  return {Wait{patience()}, false};
}

void WaitPolicy::note(Clock::duration took) noexcept {
  const Clock::rep average = average_.load(std::memory_order_relaxed);
  const Clock::rep now = std::min(took, kCounts).count();
  average_.store(average + (now - average) / 8, std::memory_order_relaxed);
}

}  // namespace nt::execution
