// What a library cannot do on a GPU, as far as that is known before it is tried. TensorRT has the last word.
#pragma once

#include "../cuda/driver.h"
#include "identify.h"

namespace nt::finding {

// Why it does not run plans on the GPU; empty where nothing is known to be in the way.
std::string whyNotRun(const Identity& library, const cuda::DeviceFacts& gpu);

// Why it most likely cannot build for the GPU: of its builder's resources, those for the GPU's architecture are
// missing; empty where they are there, and where none is found at all, since they may lie elsewhere. TensorRT-RTX has
// none.
std::string whyNotBuild(const Identity& library, const cuda::DeviceFacts& gpu);

}  // namespace nt::finding
