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

constexpr Facts kFacts[] = {
#define DTYPE(id, name, bits, tensorrt) {name, bits},
#include "dtype.def"
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

bool fitsBytes(DType type, const std::vector<int64_t>& shape, std::size_t bytes) {
  return dtypeBits(type) == 0 || byteSize(type, shape) == bytes;
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
