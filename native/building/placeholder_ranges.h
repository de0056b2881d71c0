// Ranges of INT8 that nobody measured, as trtexec sets them: for the times of a plan, whose outputs then mean nothing.
#pragma once

#include "../tensorrt/interfaces.h"
#include "options.h"

namespace nt::building {

bool wantsPlaceholderRanges(const Options& options);

// Before anything is built. Throws ERR_TRT_UNSUPPORTED where this version has no ranges of tensors.
void requirePlaceholderRanges(const tensorrt::Library& library, const Options& options);

// Gives a range to each tensor of the parsed network that has none, and marks the network by its name. Throws
// ERR_TRT_PRECISION where the model has ranges of its own.
void applyPlaceholderRanges(tensorrt::NetworkDefinition& network, const Options& options, Options& settings);

// Whether an engine comes from a network that was marked so, whatever else is known of it.
bool hasPlaceholderRanges(const tensorrt::CudaEngine& engine);

}  // namespace nt::building
