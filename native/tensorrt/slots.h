// The words of methods.def and enums.def. Included only where those tables are expanded.
#pragma once

#include "methods.h"

namespace nt::tensorrt {

constexpr Slot AT(int number) { return {static_cast<int16_t>(number), 0}; }
constexpr Slot SINCE(int minor, int number) { return {static_cast<int16_t>(number), static_cast<uint8_t>(minor)}; }
inline constexpr Slot NO{-1, 0};

}  // namespace nt::tensorrt
