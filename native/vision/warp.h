// A turned part of a picture as a model's input: each output pixel is what lies between the four pixels around its
// place.
#pragma once

#include <array>
#include <cstddef>

#include "picture.h"
#include "resample.h"

namespace nt::vision {

struct Warp {
  int width = 0, height = 0;  // of the output
  // From the output to the picture: x' = m0 x + m1 y + m2, y' = m3 x + m4 y + m5; pixel (0, 0) covers 0 to 1.
  std::array<double, 6> matrix{};
  float fill[3] = {0, 0, 0};
};

void warp(const Picture& picture, const Warp& how, const Target& target);

}  // namespace nt::vision
