// Which of the libraries that were found does a job. No fallback that the user did not ask for: an explicit path is
// used or refused, and a plan runs only on the library that it was built for.
#pragma once

#include <string>

#include "library.h"
#include "origin.h"

namespace nt::tensorrt {

// The first library that can build on this machine; `toRun`: and run there what it built, for which TensorRT-RTX needs
// a GPU too. Throws ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU.
const Library& chooseForBuilding(const std::string& explicitPath, int device, bool toRun = false);

// The library for a plan. Throws ERR_TRT_NO_LIBRARY, ERR_TRT_PLAN.
const Library& chooseForPlan(const std::string& explicitPath, const void* plan, std::size_t size,
                             const PlanOrigin& origin);

}  // namespace nt::tensorrt
