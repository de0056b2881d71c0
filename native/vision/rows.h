// Rows of a picture as the passes of a resize read them, each made once while it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "picture.h"

namespace nt::vision {

// The last rows that were made, as many as are asked for in turns.
class RowRing {
 public:
  RowRing(int rows, std::size_t bytes) : bytes_(bytes), memory_(static_cast<std::size_t>(rows) * bytes) {
    held_.assign(static_cast<std::size_t>(rows), -1);
  }

  template <class Make>
  const uint8_t* at(int y, const Make& make) {
    const std::size_t slot = static_cast<std::size_t>(y) % held_.size();
    uint8_t* const place = memory_.data() + slot * bytes_;
    if (held_[slot] != y) make(place);
    held_[slot] = y;
    return place;
  }

 private:
  std::size_t bytes_;
  std::vector<uint8_t> memory_;
  std::vector<int> held_;
};

// `count` pixels from column `from` on as RGB; `rows` of them are read in turns.
class PictureRows {
 public:
  PictureRows(const Picture& picture, int from, int count, int rows)
      : picture_(picture), from_(from), count_(count), ring_(isPlain() ? 1 : rows, isPlain() ? 0 : bytes()) {}

  std::size_t bytes() const { return static_cast<std::size_t>(count_) * 3; }
  const uint8_t* at(int y) {
    if (isPlain()) return rgbRow(picture_, y, from_, count_, nullptr);
    return ring_.at(y, [&](uint8_t* to) { rgbRow(picture_, y, from_, count_, to); });
  }

 private:
  bool isPlain() const { return picture_.format == Format::rgb; }

  const Picture& picture_;
  int from_, count_;
  RowRing ring_;
};

}  // namespace nt::vision
