// Pinned host memory: what copies to and from the device read and write while the CPU goes on.
#pragma once

#include "../base/host_pool.h"
#include "device.h"

namespace nt::cuda {

// Page-locked memory is taken from all of the machine: little is kept for later, and nothing while much is in use.
inline constexpr std::size_t kKeepPinned = std::size_t{32} << 20;
inline constexpr std::size_t kPinnedWithKept = std::size_t{64} << 20;

// One per device and process. What it throws are the errors of cuda/.
HostPool& pinnedPool(const DeviceContext& device);

}  // namespace nt::cuda
