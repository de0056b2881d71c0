// Data types by the names that lib/tensor.ts has for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "enums.h"

namespace nt::tensorrt {

enum class DType : uint8_t { float32, float16, bfloat16, int32, int64, int8, uint8, boolean, fp8, int4, fp4 };

const char* dtypeName(DType type) noexcept;
Enumerator dtypeEnumerator(DType type) noexcept;
std::optional<DType> dtypeByName(std::string_view name) noexcept;
// Bits of one element; below 8 the elements are packed.
int dtypeBits(DType type) noexcept;
// nothing for a number that this package has no tensors for (E8M0)
std::optional<DType> dtypeByNumber(int32_t number, Family family) noexcept;

// The bytes that `elements` elements take. Throws ERR_TRT_SHAPE where that overflows.
std::size_t byteSize(DType type, const std::vector<int64_t>& shape);

}  // namespace nt::tensorrt
