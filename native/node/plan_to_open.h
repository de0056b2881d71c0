// A plan that JavaScript gives, and what it says of where it is to run.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <vector>

#include "../cuda/device.h"
#include "../finding/origin.h"
#include "../gpu/deserialize.h"

namespace nt::node {

struct PlanToOpen {
  // one of them
  std::shared_ptr<const std::vector<uint8_t>> bytes;
  std::shared_ptr<const gpu::PlanFile> file;
  std::string path;  // of the TensorRT library, when it was given
  int device = 0;
  finding::PlanOrigin origin;
  gpu::PlanNeeds needs;
  bool stripped = false;  // as was noted when it was built
  bool allowPlaceholderRanges = false;
  // Says something to the user as a warning of the process; from any thread.
  std::function<void(const std::string&)> warn;

  struct Place {
    const tensorrt::Library& library;
    const cuda::DeviceContext& device;
  };
  // The library and the GPU that it runs on; a GPU that is not quite the plan's is warned of. Throws ERR_TRT_PLAN,
  // ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU.
  Place place() const;
  gpu::PlanSource source() const;
};

// (plan: Uint8Array or the descriptor of an open file, { tensorrt, device, origin?, hostCode?, plugins?, stripped?, …
// })
PlanToOpen planToOpen(const Napi::CallbackInfo& info);

}  // namespace nt::node
