#include "observer.h"

namespace nt::cpu {

Observer::Observer(std::vector<execution::IoTensor> outputs)
    : outputs_(std::move(outputs)), watched_(outputs_.size()) {}

void Observer::note(std::size_t output, const execution::Shape& shape, std::span<const float> values,
                    Histogram::Scratch& scratch) {
  Watched& watched = watched_[output];
  const std::lock_guard lock(watched.mutex);
  if (!watched.seen.any) watched.seen.shape = shape;
  watched.seen.any = true;
  watched.seen.histogram.add(values, scratch);
}

Observer::Seen Observer::seen(std::size_t output) const {
  const Watched& watched = watched_[output];
  const std::lock_guard lock(watched.mutex);
  return watched.seen;
}

}  // namespace nt::cpu
