#include "dtype.h"

#include <string_view>

namespace nt::onnxruntime {
namespace {

// In the order of the enumeration: DType's names, and of what it lacks those of ONNX.
constexpr const char* kNames[] = {
    "undefined", "float32",    "uint8",    "int8",    "uint16",         "int16",      "int32",
    "int64",     "string",     "bool",     "float16", "float64",        "uint32",     "uint64",
    "complex64", "complex128", "bfloat16", "fp8",     "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",     "int4",       "fp4",      "uint2",   "int2",           "float8e8m0",
};

}  // namespace

ElementType elementType(DType type) noexcept {
  const std::string_view name = dtypeName(type);
  ElementType element = 0;
  while (element < static_cast<ElementType>(std::size(kNames)) && name != kNames[element]) ++element;
  return element;
}

std::optional<DType> dtypeByElement(ElementType element) noexcept {
  if (element < 0 || element >= static_cast<ElementType>(std::size(kNames))) return std::nullopt;
  return dtypeByName(kNames[element]);
}

std::string elementName(ElementType element) {
  if (element < 0 || element >= static_cast<ElementType>(std::size(kNames)))
    return "element type " + std::to_string(element);
  return kNames[element];
}

}  // namespace nt::onnxruntime
