#include "dtype.h"

namespace nt::tensorrt {
namespace {

// By DType; TensorRT has none of the last ones.
constexpr Enumerator kTypes[] = {
#define DTYPE(id, name, bits, tensorrt) Enumerator::tensorrt,
#define CPU_DTYPE(id, name, bits)
#include "../base/dtype.def"
};

}  // namespace

std::optional<Enumerator> dtypeEnumerator(DType type) noexcept {
  const auto i = static_cast<std::size_t>(type);
  return i < std::size(kTypes) ? std::optional(kTypes[i]) : std::nullopt;
}

std::optional<DType> dtypeByNumber(int32_t number, Family family) noexcept {
  for (std::size_t i = 0; i < std::size(kTypes); ++i) {
    if (number == enumNumber(kTypes[i], family)) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace nt::tensorrt
