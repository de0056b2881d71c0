#include "dtype.h"

#include <algorithm>

#include "error.h"
#include "text.h"

namespace nt {
namespace {

struct Facts {
  const char* name;
  int bits;
};

// In the order of DType.
constexpr Facts kFacts[] = {
    {"float32", 32}, {"float16", 16}, {"bfloat16", 16},  {"int32", 32},  {"int64", 64},     {"int8", 8},
    {"uint8", 8},    {"bool", 8},     {"float8e4m3", 8}, {"int4", 4},    {"float4e2m1", 4}, {"float64", 64},
    {"int16", 16},   {"uint16", 16},  {"uint32", 32},    {"uint64", 64},
};
static_assert(std::size(kFacts) == kDTypes);

const Facts& facts(DType type) noexcept { return kFacts[static_cast<std::size_t>(type)]; }

}  // namespace

const char* dtypeName(DType type) noexcept { return facts(type).name; }
int dtypeBits(DType type) noexcept { return facts(type).bits; }

std::optional<DType> dtypeByName(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kDTypes; ++i) {
    if (name == kFacts[i].name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool isDynamic(const std::vector<int64_t>& shape) noexcept {
  return std::ranges::any_of(shape, [](int64_t dim) { return dim < 0; });
}

std::size_t byteSize(DType type, const std::vector<int64_t>& shape) {
  const auto isEmpty = [&] { return std::ranges::find(shape, 0) != shape.end(); };  // wherever the 0 stands
  std::size_t bits = static_cast<std::size_t>(dtypeBits(type));
  if (!isDynamic(shape) && isEmpty()) return 0;
  for (int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(bits, static_cast<std::size_t>(dim), &bits)) {
      throw Error("ERR_TRT_SHAPE", "A tensor of shape " + shapeText(shape) + " has no size in memory");
    }
  }
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

}  // namespace nt
