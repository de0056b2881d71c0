// The types and memory layouts of a network's inputs and outputs.
#pragma once

#include "../tensorrt/interfaces.h"
#include "options.h"

namespace nt::building {

// Throws ERR_TRT_UNKNOWN_INPUT, ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE, ERR_TRT_UNSUPPORTED.
void applyFormats(const tensorrt::NetworkDefinition& network, const Options& options, bool stronglyTyped);

// Those that were asked for, as the network reports them.
void readFormats(const tensorrt::NetworkDefinition& network, const Options& options, Options& settings);

}  // namespace nt::building
