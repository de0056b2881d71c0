#include "enums.h"

#include "slots.h"

namespace nt::tensorrt {
namespace {

constexpr std::array<EnumRow, kEnumerators> kEnumRows{{
#define TRT_ENUM(enumeration, enumerator, ...) {#enumeration, #enumerator, {{__VA_ARGS__}}},
#include "enums.def"
#undef TRT_ENUM
}};

}  // namespace

std::span<const EnumRow, kEnumerators> enumRows() noexcept { return kEnumRows; }

int32_t enumNumber(Enumerator enumerator, Family family) noexcept {
  return kEnumRows[static_cast<std::size_t>(enumerator)].slots[static_cast<std::size_t>(family)].index;
}

int32_t enumNumber(Enumerator enumerator, Family family, const Version& version) noexcept {
  const Slot slot = kEnumRows[static_cast<std::size_t>(enumerator)].slots[static_cast<std::size_t>(family)];
  return hasSlot(slot, family, version) ? slot.index : -1;
}

std::string_view enumName(std::string_view enumeration, int32_t number, Family family) noexcept {
  for (const EnumRow& row : kEnumRows) {
    if (enumeration != row.enumeration || row.slots[static_cast<std::size_t>(family)].index != number) continue;
    return std::string_view(row.enumerator).substr(1);
  }
  return {};
}

}  // namespace nt::tensorrt
