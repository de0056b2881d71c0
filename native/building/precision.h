// Precisions that were asked for: flags of a weakly typed network, or found in a strongly typed one, or an error.
#pragma once

#include "../tensorrt/interfaces.h"
#include "options.h"

namespace nt::building {

// Whether the network's types are the model's, as they always are from 11 on. Throws ERR_TRT_UNSUPPORTED.
bool isStronglyTyped(const tensorrt::Library& library, const Options& options);

// Sets a weakly typed network's flags. Throws ERR_TRT_UNSUPPORTED, ERR_TRT_PRECISION.
void configurePrecision(tensorrt::BuilderConfig& config, const Options& options, bool stronglyTyped);

// Holds what was asked for against the parsed network, and a calibrator, too. Throws ERR_TRT_PRECISION.
void checkPrecision(const tensorrt::NetworkDefinition& network, const Options& options, bool stronglyTyped,
                    bool calibrated);

// The precisions that the configuration's flags allow, or that a strongly typed network has; and how it is typed.
void readPrecision(const tensorrt::BuilderConfig& config, const tensorrt::NetworkDefinition& network,
                   bool stronglyTyped, Options& settings);

}  // namespace nt::building
