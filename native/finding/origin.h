// Where a plan came from, and whether it runs here. lib/plan/origin.ts tells it from the plan's sidecar.
#pragma once

#include <string>

#include "../cuda/driver.h"
#include "../tensorrt/library.h"
#include "../tensorrt/plan.h"
#include "identify.h"

namespace nt::finding {

// What a plan runs on: `model`, what it was built for (and, with a warning, GPUs of the same compute capability);
// `any`: what TensorRT itself accepts.
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
  std::string text(const tensorrt::PlanHeader& header) const;
};

Reach reachByName(const std::string& name);

// How well a library fits a plan, best first. A plan runs on the version that built it; one that is version-compatible,
// which a plan without a sidecar may be, on newer ones too; none on an older one. `unknown`: its version has to be
// known first. Where this cannot decide, TensorRT itself does.
enum class Fit : uint8_t { exact, exactRuntime, unknown, newer, newerRuntime, none };
Fit fitOf(const Identity& library, const tensorrt::PlanHeader& plan, const PlanOrigin& origin);

// What is to be said where the GPU is another model of the same compute capability than the plan was built for, which
// TensorRT runs; empty where it fits. Throws ERR_TRT_PLAN with both sides where the plan was built for a GPU that this
// one is not like.
std::string checkGpu(const PlanOrigin& origin, const tensorrt::Library& library, const cuda::DeviceFacts& gpu);

}  // namespace nt::finding
