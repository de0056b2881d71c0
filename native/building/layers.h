// Types of single layers, by name: TensorRT 10's weakly typed networks only.
#pragma once

#include "../tensorrt/interfaces.h"
#include "options.h"

namespace nt::building {

// Sets them, and puts what each layer then reports into `settings`. Throws ERR_TRT_INVALID_ARGUMENT,
// ERR_TRT_UNSUPPORTED.
void applyLayerTypes(const tensorrt::NetworkDefinition& network, const Options& options, Options& settings);

}  // namespace nt::building
