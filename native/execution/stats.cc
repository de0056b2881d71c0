#include "stats.h"

#include <algorithm>

namespace nt::execution {

void Samples::add(float milliseconds) noexcept {
  values_[count_ % kKeep] = milliseconds;
  ++count_;
}

Samples::Percentiles Samples::percentiles() const {
  std::vector<float> sorted(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, kKeep)));
  if (sorted.empty()) return {};
  std::ranges::sort(sorted);
  // nearest rank, as trtexec
  const auto at = [&](double p) {
    const auto above = static_cast<std::size_t>((1 - p) * static_cast<double>(sorted.size()));
    return sorted[sorted.size() - 1 - std::min(above, sorted.size() - 1)];
  };
  return {at(0.5), at(0.95), at(0.99), count_};
}

void Stats::enqueued() noexcept { batches_.fetch_add(1, std::memory_order_relaxed); }
void Stats::cancelled(std::size_t requests) noexcept { cancelled_.fetch_add(requests, std::memory_order_relaxed); }
void Stats::copied(std::size_t bytes) noexcept { bytesCopied_.fetch_add(bytes, std::memory_order_relaxed); }

void Stats::finished(const std::vector<Completion>& completions) noexcept {
  const std::lock_guard lock(mutex_);
  for (const Completion& completion : completions) {
    if (completion.abandoned) {
      cancelled(1);
    } else {
      ++(completion.failure ? failures_ : requests_);
    }
    if (!completion.failure) queue_.add(completion.timing.queue);
  }
  if (completions.empty()) return;
  const Timing& timing = completions.front().timing;  // one for the whole batch
  const auto add = [](Samples& samples, float milliseconds) {
    if (milliseconds >= 0) samples.add(milliseconds);
  };
  add(copyIn_, timing.copyIn);
  add(compute_, timing.compute);
  add(copyOut_, timing.copyOut);
}

Stats::Snapshot Stats::snapshot() const {
  const std::lock_guard lock(mutex_);
  const Counts counts{requests_, failures_, cancelled_, batches_, bytesCopied_};
  return {counts, queue_.percentiles(), copyIn_.percentiles(), compute_.percentiles(), copyOut_.percentiles()};
}

}  // namespace nt::execution
