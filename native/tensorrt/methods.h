// methods.def as types: a typed call by row, and the table itself for checks.
#pragma once

#include <cstdint>
#include <span>

#include "abi.h"

namespace nt::tensorrt {

// Where a method stands in one family's virtual table.
struct Slot {
  int16_t index;
  // First minor version of the family that has it.
  uint8_t since;
};

struct MethodRow {
  const char* interface;
  const char* method;
  const char* parameters;
  // V… interfaces: the object is {its own table, pointer to the implementation}, and calls go to the implementation.
  bool throughImplementation;
  std::array<Slot, kFamilies> slots;
};

enum class Method : std::size_t {
#define TRT_METHOD(interface, method, ...) interface##_##method,
#include "methods.def"
#undef TRT_METHOD
  count_
};
inline constexpr std::size_t kMethods = static_cast<std::size_t>(Method::count_);

// The C signature of a row, without the object.
template <Method M>
struct SignatureOf;
#define TRT_METHOD(interface, method, parameters, signature, ...) \
  template <>                                                     \
  struct SignatureOf<Method::interface##_##method> {              \
    using type = signature;                                       \
  };
#include "methods.def"
#undef TRT_METHOD

std::span<const MethodRow, kMethods> methodRows() noexcept;

// The row's index in the given library's virtual table, or -1 where this version lacks it.
int methodIndex(const MethodRow& row, Family family, const Version& version) noexcept;

// Whether the version has what the slot is about.
bool hasSlot(const Slot& slot, Family family, const Version& version) noexcept;

// "TensorRT 10.8", or "TensorRT 10 or TensorRT-RTX" where the family never has it: what it takes, for the message.
std::string requirement(const std::array<Slot, kFamilies>& slots, Family family);

}  // namespace nt::tensorrt
