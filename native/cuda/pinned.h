// Pinned host memory: what copies to and from the device read and write while the CPU goes on.
#pragma once

#include "../base/host_pool.h"
#include "device.h"

namespace nt::cuda {

// One per device and process. What it throws are the errors of cuda/.
HostPool& pinnedPool(const DeviceContext& device);

}  // namespace nt::cuda
