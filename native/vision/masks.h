// What a segmentation model gives, as a mask of the picture: resized, and decided at each pixel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nt::vision {

// One axis of a mask. Output i lies between first[i], which never falls, and the one after it, at most `last`.
struct MaskAxis {
  int32_t count = 0;
  int32_t last = 0;
  const int32_t* first = nullptr;
  const double* weights = nullptr;  // of the second, 0 to 1
};

// The values of one picture, and where they are.
struct MaskValues {
  const float* data = nullptr;
  int32_t width = 0, height = 0, channels = 0;
  std::size_t columnStep = 0, rowStep = 0, channelStep = 0;
};

// Of one channel 1 where it is above the threshold, else 0; of several the number of the greatest, of equal ones the
// lowest.
struct MaskRule {
  bool byThreshold = false;
  double threshold = 0;
};

// Writes columns.count x rows.count pixels, whose rows are `stride` apart: the values are interpolated (bilinear), then
// decided.
void makeMask(const MaskValues& values, const MaskAxis& columns, const MaskAxis& rows, const MaskRule& rule,
              uint8_t* out, std::size_t stride);

// The part of a model's prototypes that an instance's mask is made of: planes of `width` pixels a row.
struct Prototypes {
  const float* data = nullptr;
  int32_t width = 0, height = 0, count = 0;
  int32_t left = 0, top = 0, across = 0, down = 0;
};

// The sum of them, each times its coefficient: across x down values.
void combine(const Prototypes& prototypes, const float* coefficients, float* out);

}  // namespace nt::vision
