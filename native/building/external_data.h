// Where an ONNX model keeps weights outside of itself. TensorRT's parser opens whatever path stands there.
#pragma once

#include <string>

namespace nt::building {

// Nothing outside of the folder of the model's file may be named, neither by ".." nor by an absolute path; a model
// without a file (`modelPath` is empty) has no folder at all. Throws ERR_TRT_ONNX_PARSE.
void checkExternalName(const std::string& file, const std::string& modelPath);

// The same, and nothing there may be a link to outside of it: what TensorRT is to read.
void checkExternalFile(const std::string& file, const std::string& modelPath);

}  // namespace nt::building
