// The connected parts of a mask.
#pragma once

#include <cstdint>
#include <vector>

namespace nt::vision {

struct Component {
  int64_t area = 0;
  int32_t left = 0, top = 0, right = 0, bottom = 0;  // right and bottom: just beyond the last pixel
  double sumX = 0, sumY = 0;                         // of the pixels' numbers
};

struct MaskPixels {
  const uint8_t* data = nullptr;
  int32_t width = 0, height = 0;
  int32_t only = -1;  // the value that counts; -1: all but 0
};

// Writes the number of its part, from 1, to each pixel of one, in `labels`, which are all 0 before. Parts are numbered
// by their first pixel, row by row. `diagonal`: pixels that touch at a corner are connected, too.
std::vector<Component> labelComponents(const MaskPixels& mask, bool diagonal, int32_t* labels);

}  // namespace nt::vision
