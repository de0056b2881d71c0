// Data types as onnxruntime numbers them: ONNXTensorElementDataType.
#pragma once

#include <optional>
#include <string>

#include "../base/dtype.h"
#include "types.h"

namespace nt::onnxruntime {

// The number of a data type; onnxruntime has all of them.
ElementType elementType(DType type) noexcept;
// nothing for a number that this package has no tensors for (complex64)
std::optional<DType> dtypeByElement(ElementType element) noexcept;
// "float32", "string", "float8e4m3fnuz"; "element type 99" for a number that is not known here
std::string elementName(ElementType element);

// What an input or output is that is no tensor: "sequence", "map", "optional"; "no tensor" for what is not known here
const char* kindName(OnnxType type) noexcept;

}  // namespace nt::onnxruntime
