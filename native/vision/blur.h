// What makes a part of a picture unrecognizable: a gaussian, large blocks, or a colour.
#pragma once

#include <cstdint>
#include <vector>

#include "surface.h"

namespace nt::vision {

// A grid of blocks of `factor` by `factor` pixels, whose first begins at (left, top); those at the edges may reach out
// of the picture, but each has a pixel of it.
struct Blocks {
  int64_t left, top, factor, columns, rows;
};

// A gaussian of a picture of columns * rows * 3 numbers, in place; beyond its edges it goes on as it is there.
void gaussian(std::vector<float>& pixels, int64_t columns, int64_t rows, double sigma);

enum class Method : uint8_t { blur, pixelate, fill };

// What is laid over a part of a picture, by rows. Made before anything is written there: it is made of what was there.
class Cover {
 public:
  // `sigma` of `blur` and `block` of `pixelate` are pixels; blocks begin at (x, y).
  template <class Surface>
  static Cover blurred(const Surface& surface, const Area& area, double sigma);
  template <class Surface>
  static Cover pixelated(const Surface& surface, const Area& area, double x, double y, double block);
  // In the surface's own terms.
  static Cover filled(const Color& color);

  // The pixels from left to below right of a row of the area; `out` is that of `left`.
  void row(int64_t y, int64_t left, int64_t right, uint8_t* out);

 private:
  void flatRow(int64_t left, int64_t right, uint8_t* out);
  void smoothRow(int64_t left, int64_t right, uint8_t* out);
  void lineAt(int64_t y);

  Method method_ = Method::fill;
  Color color_{};
  Blocks blocks_{};
  std::vector<float> means_;
  std::vector<float> line_;  // the means as they are at the row that is made
};

}  // namespace nt::vision
