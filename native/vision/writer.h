// One row of a model's input at a time, from planes of floats to where and how it is to lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "resample.h"

namespace nt::vision {

std::size_t bytesOf(Number number);
int channelsOf(const Target& target);

class Writer {
 public:
  Writer(const Target& target, int width, int height);

  // Where the next row's values of a channel go: red, green, blue, of 0 to 255.
  float* plane(int channel) { return planes_.data() + static_cast<std::size_t>(channel) * width_; }
  // Writes what the planes hold, which they do not any more after that.
  void write(int y);

 private:
  uint8_t* output() const { return static_cast<uint8_t*>(target_.data); }
  void toGray();
  void toWholeGray();
  void round();
  void store(const float* values, float scale, float mean, uint8_t* to);
  void interleave(int y, int channels);
  template <class T>
  void interleaveAs(std::size_t row, int channels);

  const Target& target_;
  std::size_t width_, height_;
  std::vector<float> planes_;
  std::vector<uint8_t> bytes_;
};

// Row after row of a resize; `make` puts what sees the picture into the writer's planes, the rest is the fill.
template <class Resize, class Make>
void writeRows(Writer& writer, const Resize& resize, const Make& make) {
  const auto &columns = resize.columns, &rows = resize.rows;
  const auto fill = [&](int from, int to) {
    for (int channel = 0; channel < 3; ++channel) {
      float* const plane = writer.plane(channel);
      std::fill(plane + from, plane + to, static_cast<float>(resize.fill[channel]));
    }
  };
  for (int y = 0; y < rows.outputs; ++y) {
    const bool isSeen = y >= rows.begin && y < rows.end && columns.begin < columns.end;
    fill(0, isSeen ? columns.begin : columns.outputs);
    if (isSeen) {
      fill(columns.end, columns.outputs);
      make(y);
    }
    writer.write(y);
  }
}

}  // namespace nt::vision
