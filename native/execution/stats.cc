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

void Stats::finished(const std::vector<Completion>& completions) noexcept {
  const std::lock_guard lock(mutex_);
  const auto measured = [&](Duration duration, float milliseconds) {
    if (milliseconds >= 0) durations_[static_cast<std::size_t>(duration)].add(milliseconds);
  };
  for (const Completion& completion : completions) {
    add(completion.abandoned ? Count::cancelled : completion.failure ? Count::failed : Count::completed);
    if (!completion.failure) measured(Duration::queue, completion.timing.queue);
  }
  if (completions.empty()) return;
  const Timing& timing = completions.front().timing;  // one for the whole batch
  measured(Duration::copyIn, timing.copyIn);
  measured(Duration::compute, timing.compute);
  measured(Duration::copyOut, timing.copyOut);
}

Stats::Snapshot Stats::snapshot() const {
  const std::lock_guard lock(mutex_);
  Snapshot all;
  std::ranges::transform(counts_, all.counts.begin(), [](const Counted& count) { return count.value.load(); });
  std::ranges::transform(durations_, all.durations.begin(), &Samples::percentiles);
  return all;
}

}  // namespace nt::execution
