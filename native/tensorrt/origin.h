// Where a plan came from, and whether it runs here. lib/plan/origin.ts tells it from the plan's sidecar.
#pragma once

#include <string>

#include "../cuda/driver.h"
#include "library.h"
#include "plan.h"

namespace nt::tensorrt {

// What a plan runs on beside the GPU model that it was built for; `any`: what TensorRT itself accepts.
enum class Reach { model, computeCapability, ampere, any };

struct PlanOrigin {
  // "model.plan was built by TensorRT 10.15.1 for NVIDIA A10 (8.6) on linux-x64"; empty: only the header is known
  std::string description;
  // a plan that is not version-compatible runs on the version that built it, and on no lean or dispatch runtime
  bool exactVersion = false;
  // empty where it is not known, or where no GPU was needed
  std::string gpu, computeCapability;
  Reach reach = Reach::any;

  // The description, or what the header says.
  std::string text(const PlanHeader& header) const;
};

Reach reachByName(const std::string& name);

// Whether a library may run the plan: TensorRT itself decides where this cannot.
bool accepts(const Library& library, const PlanHeader& plan, const PlanOrigin& origin);

// Throws ERR_TRT_PLAN with both sides where the plan was built for another GPU.
void checkGpu(const PlanOrigin& origin, const Library& library, const cuda::DeviceFacts& gpu);

}  // namespace nt::tensorrt
