// Where an ONNX model keeps weights outside of itself. TensorRT's parser opens whatever path stands there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nt::building {

// The files of external data as the model names them, in its graphs, subgraphs and functions. Throws ERR_TRT_ONNX_PARSE
// for bytes that are no protobuf message, or nested too deep.
std::vector<std::string> externalFiles(const std::vector<uint8_t>& model);

// Nothing outside of the folder of the model's file may be read, neither by "..", an absolute path nor through a link;
// a model without a file (`path` is empty) has no folder at all. Throws ERR_TRT_ONNX_PARSE.
void checkExternalFiles(const std::vector<uint8_t>& model, const std::string& path);

}  // namespace nt::building
