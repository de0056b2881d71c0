#include "dtype.h"

namespace nt::tensorrt {
namespace {

// Of the first types of DType, in its order; TensorRT has none of those behind them.
constexpr Enumerator kTypes[] = {
    Enumerator::DataType_kFLOAT, Enumerator::DataType_kHALF, Enumerator::DataType_kBF16,  Enumerator::DataType_kINT32,
    Enumerator::DataType_kINT64, Enumerator::DataType_kINT8, Enumerator::DataType_kUINT8, Enumerator::DataType_kBOOL,
    Enumerator::DataType_kFP8,   Enumerator::DataType_kINT4, Enumerator::DataType_kFP4,
};
static_assert(std::size(kTypes) == static_cast<std::size_t>(DType::float64));

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
