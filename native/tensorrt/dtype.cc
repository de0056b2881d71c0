#include "dtype.h"

#include "../base/error.h"
#include "../base/text.h"
#include "enums.h"

namespace nt::tensorrt {
namespace {

struct Facts {
  const char* name;
  int bits;
  Enumerator enumerator;
};

// In the order of DType.
constexpr Facts kFacts[] = {
    {"float32", 32, Enumerator::DataType_kFLOAT}, {"float16", 16, Enumerator::DataType_kHALF},
    {"bfloat16", 16, Enumerator::DataType_kBF16}, {"int32", 32, Enumerator::DataType_kINT32},
    {"int64", 64, Enumerator::DataType_kINT64},   {"int8", 8, Enumerator::DataType_kINT8},
    {"uint8", 8, Enumerator::DataType_kUINT8},    {"bool", 8, Enumerator::DataType_kBOOL},
    {"fp8", 8, Enumerator::DataType_kFP8},        {"int4", 4, Enumerator::DataType_kINT4},
    {"fp4", 4, Enumerator::DataType_kFP4},
};

const Facts& facts(DType type) noexcept { return kFacts[static_cast<std::size_t>(type)]; }

}  // namespace

const char* dtypeName(DType type) noexcept { return facts(type).name; }
Enumerator dtypeEnumerator(DType type) noexcept { return facts(type).enumerator; }
int dtypeBits(DType type) noexcept { return facts(type).bits; }

std::optional<DType> dtypeByName(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(kFacts); ++i) {
    if (name == kFacts[i].name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<DType> dtypeByNumber(int32_t number, Family family) noexcept {
  for (std::size_t i = 0; i < std::size(kFacts); ++i) {
    if (number == enumNumber(kFacts[i].enumerator, family)) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::size_t byteSize(DType type, const std::vector<int64_t>& shape) {
  std::size_t bits = static_cast<std::size_t>(dtypeBits(type));
  for (int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(bits, static_cast<std::size_t>(dim), &bits)) {
      throw Error("ERR_TRT_SHAPE", "A tensor of shape " + shapeText(shape) + " has no size in memory");
    }
  }
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

}  // namespace nt::tensorrt
