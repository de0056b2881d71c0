#include "memory.h"

#include <algorithm>

namespace nt::execution {
namespace {

constexpr std::size_t kMostStaging = std::size_t{8} << 20;
constexpr std::size_t kLeastFirst = std::size_t{1} << 20, kMostFirst = std::size_t{16} << 20;

// What the inputs of a request take at the sizes that the model says are usual; 0 where it does not say.
std::size_t usualBytes(const Engine& engine, int32_t profile) {
  std::size_t bytes = 0;
  for (const IoTensor& tensor : engine.inputs()) {
    const auto wanted = static_cast<std::size_t>(std::max(profile, 0));
    const Shape& shape = wanted < tensor.profiles.size() ? tensor.profiles[wanted].opt : tensor.shape;
    if (!isDynamic(shape)) bytes += byteSize(tensor.dtype, shape);
  }
  return bytes;
}

}  // namespace

void giveMemory(const Engine& engine, int lanes, LaneOptions& options) {
  if (!engine.pool().pinned()) return;
  // a few requests with their results
  const std::size_t usual = std::min(usualBytes(engine, options.profile), kMostFirst);
  options.ring = std::make_shared<HostRing>(engine.pool(), kPinned / 2, std::clamp(usual * 8, kLeastFirst, kMostFirst));
  const auto shares = static_cast<std::size_t>(lanes) * static_cast<std::size_t>(std::max(options.slots, 1)) * 2;
  options.staging = std::min(kPinned / 2 / shares, kMostStaging);
  options.graphMemory = std::max(options.graphMemory, engine.deviceBytes() / static_cast<std::size_t>(lanes));
}

std::shared_ptr<HostBlock> requestMemory(const LaneOptions& options, std::size_t bytes) {
  if (options.ring) {
    if (auto block = options.ring->take(bytes, HostRing::For::input)) return block;
  }
  return HostPool::ordinary().acquire(bytes);
}

}  // namespace nt::execution
