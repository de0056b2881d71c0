// Optimization profiles from shapes that a user gave, without TensorRT's silent guesses.
#pragma once

#include "build.h"

namespace nt::building {

// Throws ERR_TRT_UNKNOWN_INPUT, ERR_TRT_SHAPES_REQUIRED, ERR_TRT_SHAPE, ERR_TRT_UNSUPPORTED.
void addProfiles(tensorrt::Builder& builder, tensorrt::BuilderConfig& config,
                 const tensorrt::NetworkDefinition& network, const std::vector<ProfileShapes>& profiles);

}  // namespace nt::building
