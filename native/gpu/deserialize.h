// A plan → an engine of TensorRT.
#pragma once

#include <string>
#include <vector>

#include "../cuda/device.h"
#include "../tensorrt/interfaces.h"
#include "../tensorrt/plan.h"
#include "plan_file.h"

namespace nt::gpu {

// What a plan may need of whoever loads it.
struct PlanNeeds {
  // Code that the plan brings along may run in this process.
  bool hostCode = false;
  // Paths of plugin libraries.
  std::vector<std::string> plugins;
};

// A plan: its bytes, or a file of which they are read.
struct PlanSource {
  const void* bytes = nullptr;
  std::size_t size = 0;
  const PlanFile* file = nullptr;

  PlanSource(const void* plan, std::size_t planSize) noexcept : bytes(plan), size(planSize) {}
  explicit PlanSource(const PlanFile& plan) noexcept : size(plan.size()), file(&plan) {}
  // The beginning, as much as it takes to know what it is.
  std::optional<tensorrt::PlanHeader> header() const noexcept {
    return file == nullptr ? tensorrt::readPlanHeader(bytes, size)
                           : tensorrt::readPlanHeader(file->head().data(), file->head().size());
  }
};

// Throws ERR_TRT_PLAN, with the option that is missing where that is why, ERR_TRT_FILE for a plugin library,
// ERR_TRT_OUT_OF_MEMORY, ERR_TRT_EXECUTION, and the errors of cuda/.
std::shared_ptr<tensorrt::CudaEngine> deserialize(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                                  const PlanSource& plan, const PlanNeeds& needs = {});

}  // namespace nt::gpu
