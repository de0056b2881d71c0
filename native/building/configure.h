// Options → IBuilderConfig, and back as the library itself reports them.
#pragma once

#include "../tensorrt/interfaces.h"
#include "options.h"

namespace nt::building {

// Loads the plugins that the options name. Throws ERR_TRT_FILE.
void loadPlugins(tensorrt::Builder& builder, const Options& options);

// Options of the ONNX parser. Throws ERR_TRT_UNSUPPORTED.
void configureParser(tensorrt::Parser& parser, const Options& options);

// Throws ERR_TRT_UNSUPPORTED where this version lacks what is asked for, or does not take a value.
void configure(tensorrt::BuilderConfig& config, const Options& options);

// Marks the weights that option refittableWeights names. Throws ERR_TRT_INVALID_ARGUMENT, ERR_TRT_UNSUPPORTED.
void markRefittable(tensorrt::NetworkDefinition& network, const Options& options);

// Everything that this version can say about its configuration, by the options' names.
void readConfiguration(const tensorrt::BuilderConfig& config, const tensorrt::Parser& parser, Options& settings);

}  // namespace nt::building
