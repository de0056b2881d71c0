// Data types by the names that lib/tensor.ts has for them: the rows of dtype.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace nt {

enum class DType : uint8_t {
#define DTYPE(id, name, bits, tensorrt) id,
#include "dtype.def"
  count_
};
inline constexpr std::size_t kDTypes = static_cast<std::size_t>(DType::count_);

const char* dtypeName(DType type) noexcept;
std::optional<DType> dtypeByName(std::string_view name) noexcept;
// Bits of one element; below 8 the elements are packed, and with 0 they are of no fixed size.
int dtypeBits(DType type) noexcept;
// Whether a tensor of the shape may have so many bytes: any number where elements are of no fixed size (string).
bool fitsBytes(DType type, const std::vector<int64_t>& shape, std::size_t bytes);

// What a dynamic shape may be: each dimension from that of `min` to that of `max`, and at its best as in `opt`.
struct ShapeRange {
  std::vector<int64_t> min, opt, max;
};

// Whether some dimension is -1: only a request has a number for it, or only its result.
bool isDynamic(const std::vector<int64_t>& shape) noexcept;

// The bytes that a tensor of the shape takes: none where a dimension is 0, whatever the others are. Throws
// ERR_TRT_SHAPE where it overflows, or a dimension is negative.
std::size_t byteSize(DType type, const std::vector<int64_t>& shape);

}  // namespace nt
