// Bytes of a plan → an engine of TensorRT.
#pragma once

#include "../cuda/device.h"
#include "interfaces.h"

namespace nt::tensorrt {

// Makes `device` current on the calling thread. Throws ERR_TRT_PLAN, ERR_TRT_EXECUTION, and the errors of cuda/.
std::shared_ptr<CudaEngine> deserialize(const Library& library, const cuda::DeviceContext& device, const void* plan,
                                        std::size_t size);

}  // namespace nt::tensorrt
