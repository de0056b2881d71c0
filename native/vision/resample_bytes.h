// Resizes of bytes to bytes, to the last one as PIL makes them.
#pragma once

#include <cstdint>

#include "resample.h"

namespace nt::vision {

// Weights in units of 2^-kWholeBits.
using WholeAxis = AxisOf<int32_t>;

struct WholeResize {
  WholeAxis columns, rows;
  uint8_t fill[3] = {0, 0, 0};  // red, green, blue
};

// Every tap of the axes lies in the picture.
void resampleBytes(const Picture& picture, const WholeResize& resize, const Target& target);

}  // namespace nt::vision
