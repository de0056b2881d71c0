// A plan that JavaScript gives, and what it says of where it is to run.
#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "../cuda/device.h"
#include "../tensorrt/origin.h"

namespace nt::node {

struct PlanToOpen {
  std::shared_ptr<const std::vector<uint8_t>> bytes;
  std::string path;  // of the TensorRT library, when it was given
  int device = 0;
  tensorrt::PlanOrigin origin;

  struct Place {
    const tensorrt::Library& library;
    const cuda::DeviceContext& device;
  };
  // The library and the GPU that it runs on. Throws ERR_TRT_PLAN, ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER,
  // ERR_TRT_NO_GPU.
  Place place() const;
};

// (plan: Uint8Array, { tensorrt, device, origin?, … })
PlanToOpen planToOpen(const Napi::CallbackInfo& info);

}  // namespace nt::node
