// The ONNX parser's answer as one error that names operator, node and reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../tensorrt/interfaces.h"

namespace nt::building {

// `path` may be empty. Throws ERR_TRT_ONNX_PARSE, ERR_TRT_UNSUPPORTED_OPERATOR.
void parseModel(tensorrt::Parser& parser, const tensorrt::NetworkDefinition& network, const std::vector<uint8_t>& model,
                const std::string& path);

}  // namespace nt::building
