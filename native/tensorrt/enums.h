// enums.def as constants: an enumerator's number in the loaded library.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "methods.h"

namespace nt::tensorrt {

enum class Enumerator : std::size_t {
#define TRT_ENUM(enumeration, enumerator, ...) enumeration##_##enumerator,
#include "enums.def"
#undef TRT_ENUM
  count_
};
inline constexpr std::size_t kEnumerators = static_cast<std::size_t>(Enumerator::count_);

struct EnumRow {
  const char* enumeration;
  const char* enumerator;
  std::array<Slot, kFamilies> slots;
};

std::span<const EnumRow, kEnumerators> enumRows() noexcept;

// The number of an enumerator in a family, or -1 where it has none.
int32_t enumNumber(Enumerator enumerator, Family family) noexcept;
// The same for one version of the family: -1 where the enumerator came later.
int32_t enumNumber(Enumerator enumerator, Family family, const Version& version) noexcept;

// "MATRIX_MULTIPLY": the enumerator of that number without its k; empty where the table has none.
std::string_view enumName(std::string_view enumeration, int32_t number, Family family) noexcept;

}  // namespace nt::tensorrt
