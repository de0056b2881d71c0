#include "outlines.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace nt::vision {
namespace {

// Right, down, left, up; a turn to the right is the next one.
constexpr int32_t kSteps[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};

class Tracer {
 public:
  Tracer(const int32_t* labels, int32_t width, int32_t height, bool diagonal)
      : labels_(labels), width_(width), height_(height), diagonal_(diagonal), visited_(at(0, height)) {}

  Outlines all() {
    for (int32_t y = 0; y < height_; ++y) {
      for (int32_t x = 0; x < width_; ++x) {
        // each ring has an edge that goes right, along the top of a pixel of its part
        const int32_t label = labels_[at(x, y)];
        if (label != 0 && !isInside(x, y - 1, label) && visited_[at(x, y)] == 0) trace(x, y, label);
      }
    }
    return std::move(found_);
  }

 private:
  std::size_t at(int32_t x, int32_t y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
  }

  bool isInside(int32_t x, int32_t y, int32_t label) const {
    return x >= 0 && x < width_ && y >= 0 && y < height_ && labels_[at(x, y)] == label;
  }

  // From the top edge of a pixel until it is there again. The first point is a corner: the edge before it, if it were
  // in line, would have been found first.
  void trace(int32_t firstX, int32_t firstY, int32_t label) {
    const std::size_t begin = found_.points.size();
    int32_t x = firstX, y = firstY;
    unsigned heading = 0;
    do {
      if (heading == 0) visited_[at(x, y)] = 1;
      const int32_t dx = kSteps[heading][0], dy = kSteps[heading][1];
      x += dx;
      y += dy;
      // the two pixels ahead, to the left and to the right of the way
      const bool left = isInside(x + (dx + dy - 1) / 2, y + (dy - dx - 1) / 2, label);
      const bool right = isInside(x + (dx - dy - 1) / 2, y + (dy + dx - 1) / 2, label);
      const unsigned before = heading;
      if (left && (right || diagonal_)) {
        heading = (heading + 3) % 4;
      } else if (!right) {
        heading = (heading + 1) % 4;
      }
      if (heading != before) found_.points.insert(found_.points.end(), {x, y});
    } while (x != firstX || y != firstY || heading != 0);
    // the last corner is the first point
    std::rotate(found_.points.begin() + static_cast<std::ptrdiff_t>(begin), found_.points.end() - 2,
                found_.points.end());
    found_.rings.insert(found_.rings.end(), {label, static_cast<int32_t>((found_.points.size() - begin) / 2)});
  }

  const int32_t* labels_;
  int32_t width_, height_;
  bool diagonal_;
  std::vector<uint8_t> visited_;
  Outlines found_;
};

}  // namespace

Outlines traceOutlines(const int32_t* labels, int32_t width, int32_t height, bool diagonal) {
  return Tracer(labels, width, height, diagonal).all();
}

}  // namespace nt::vision
