// Data types as TensorRT numbers them.
#pragma once

#include <cstdint>
#include <optional>

#include "../base/dtype.h"
#include "enums.h"

namespace nt::tensorrt {

// nothing for a type that TensorRT has no tensors of, in any version (float64)
std::optional<Enumerator> dtypeEnumerator(DType type) noexcept;
// nothing for a number that this package has no tensors for (E8M0)
std::optional<DType> dtypeByNumber(int32_t number, Family family) noexcept;

}  // namespace nt::tensorrt
