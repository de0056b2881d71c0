// A copy of a picture that is drawn on: 8 bit, tight rows, memory of its own. And rectangles of pixels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nt::vision {

class Canvas {
 public:
  // Width and height are at least 1, channels 3 or 4. Without memory until allocate().
  Canvas(int64_t width, int64_t height, int channels = 3) : width_(width), height_(height), channels_(channels) {}
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  // Once, on the thread that fills it: whoever touches fresh pages first pays for them. Throws std::bad_alloc.
  void allocate();
  void copyFrom(const uint8_t* pixels);

  int64_t width() const noexcept { return width_; }
  int64_t height() const noexcept { return height_; }
  int channels() const noexcept { return channels_; }
  std::size_t stride() const noexcept { return static_cast<std::size_t>(width_) * channels_; }
  std::size_t size() const noexcept { return stride() * static_cast<std::size_t>(height_); }
  uint8_t* data() const noexcept { return data_; }
  uint8_t* at(int64_t x, int64_t y) const noexcept { return data_ + (y * width_ + x) * channels_; }

 private:
  const int64_t width_;
  const int64_t height_;
  const int channels_;
  uint8_t* data_ = nullptr;
};

// A rectangle of a picture's coordinates: x grows to the right and y downwards, pixel (0, 0) covers 0 to 1. What is
// called a box is finite, and within a billion of the picture: lib/ sees to that.
struct Bounds {
  double left, top, right, bottom;
};

// Whole pixels: left and top within, right and bottom just beyond.
struct Area {
  int64_t left, top, right, bottom;
  int64_t width() const noexcept { return right - left; }
  int64_t height() const noexcept { return bottom - top; }
  bool empty() const noexcept { return right <= left || bottom <= top; }
};

// A mask over a part of the picture; T is uint8_t, or float for an opacity from 0 to 1.
template <class T>
struct Placed {
  const T* data;
  Area area;  // within the picture
  const T* row(int64_t y) const noexcept { return data + (y - area.top) * area.width(); }
};

// The pixels of a picture of this size that the rectangle touches.
Area touched(const Bounds& bounds, int64_t width, int64_t height);

}  // namespace nt::vision
