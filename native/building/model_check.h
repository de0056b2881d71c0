// What TensorRT's parser takes without a look, and crashes or reads foreign memory over. Each rule was found by
// test/builder/fuzz.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nt::building {

// Looks at graphs, subgraphs and functions: stored tensors have as many bytes as their shape says, nodes have outputs,
// and weights are kept nowhere outside of the folder of `path`, which may be empty. Throws ERR_TRT_ONNX_PARSE.
void checkModel(const std::vector<uint8_t>& model, const std::string& path);

}  // namespace nt::building
