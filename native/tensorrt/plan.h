// What the first bytes of a plan say, before TensorRT sees it.
#pragma once

#include <cstddef>
#include <optional>

#include "abi.h"

namespace nt::tensorrt {

struct PlanHeader {
  // built by TensorRT-RTX ("vtrt") rather than TensorRT ("ftrt")
  bool rtx = false;
  // where the header tells it: trtexec --getPlanVersionOnly reads the same bytes; lib/plan/header.ts says what was seen
  std::optional<Version> version;
  std::string name() const;
};

// nothing when the bytes do not begin as a plan does
std::optional<PlanHeader> readPlanHeader(const void* plan, std::size_t size) noexcept;

}  // namespace nt::tensorrt
