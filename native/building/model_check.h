// What TensorRT's parser takes without a look, and crashes or reads foreign memory over. Each rule was found by
// test/builder/fuzz.
#pragma once

#include <set>
#include <string>

#include "model_bytes.h"

namespace nt::building {

// What of a model matters to who reads its weights.
struct ModelParts {
  // The files that it keeps weights in, as it names them: paths from its folder; external_data.h says which may be.
  std::set<std::string> used;
  std::set<std::string> named;  // those too that no tensor is taken from
  // The names of its stored tensors, and those that its constants have as outputs of their nodes.
  std::set<std::string> tensors;
};

// Looks at graphs, subgraphs and functions: stored tensors have as many bytes as their shape says, and nodes have
// outputs. The path, which may be empty, is for messages. Throws ERR_TRT_ONNX_PARSE, and ERR_TRT_FILE where it is none
// of ONNX but what Git LFS left in its place.
ModelParts checkModel(ModelBytes& model, const std::string& path);

// The same of a model that TensorRT is to read, and the files that it names: see checkExternalFile().
ModelParts checkForParser(const std::vector<uint8_t>& model, const std::string& path);

}  // namespace nt::building
