// Which of the libraries that were found does a job. No fallback that the user did not ask for: an explicit path is
// used or refused, and a plan runs only on the library that it was built for.
#pragma once

#include <string>

#include "../tensorrt/library.h"
#include "origin.h"

namespace nt::finding {

struct BuilderChoice {
  const tensorrt::Library& library;
  // Why it may not be able to build for the GPU; empty where nothing says so.
  std::string doubt;
};

// The first library that can build on this machine, those that may not be able to for this GPU last; `toRun`: and run
// there what it built, for which TensorRT-RTX needs a GPU too. What is known of a library before it is loaded decides,
// so that others are not. Throws ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU.
BuilderChoice chooseForBuilding(const std::string& explicitPath, int device, bool toRun = false);

// The library for a plan. Throws ERR_TRT_NO_LIBRARY, ERR_TRT_PLAN.
const tensorrt::Library& chooseForPlan(const std::string& explicitPath, const void* plan, std::size_t size,
                                       const PlanOrigin& origin);

}  // namespace nt::finding
