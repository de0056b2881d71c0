// Where an ONNX model keeps weights outside of itself. TensorRT's parser opens whatever path stands there.
#pragma once

#include <string>

namespace nt::building {

// Nothing outside of the folder of the model's file may be read, neither by "..", an absolute path nor through a link;
// a model without a file (`modelPath` is empty) has no folder at all. Throws ERR_TRT_ONNX_PARSE.
void checkExternalFile(const std::string& file, const std::string& modelPath);

}  // namespace nt::building
