#include "dtype.h"

#include <array>

namespace nt::onnxruntime {
namespace {

// In the order of the enumeration: DType's names, and of what it lacks those of ONNX.
constexpr const char* kNames[] = {
    "undefined", "float32",    "uint8",      "int8",       "uint16",         "int16",      "int32",
    "int64",     "string",     "bool",       "float16",    "float64",        "uint32",     "uint64",
    "complex64", "complex128", "bfloat16",   "float8e4m3", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",     "int4",       "float4e2m1", "uint2",      "int2",           "float8e8m0",
};

// By DType: it is asked for with each tensor that is bound.
std::array<ElementType, kDTypes> elementTypes() {
  std::array<ElementType, kDTypes> types{};
  for (std::size_t element = 0; element < std::size(kNames); ++element) {
    if (const auto type = dtypeByName(kNames[element]))
      types[static_cast<std::size_t>(*type)] = static_cast<ElementType>(element);
  }
  return types;
}

}  // namespace

ElementType elementType(DType type) noexcept {
  static const auto types = elementTypes();
  return types[static_cast<std::size_t>(type)];
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

const char* kindName(OnnxType type) noexcept {
  constexpr const char* kKinds[] = {"no tensor", "tensor", "sequence", "map", "opaque", "sparse tensor", "optional"};
  return type > 0 && type < static_cast<OnnxType>(std::size(kKinds)) ? kKinds[type] : kKinds[0];
}

}  // namespace nt::onnxruntime
