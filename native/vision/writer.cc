#include "writer.h"

#include <algorithm>

#include "kernels.h"

namespace nt::vision {

std::size_t bytesOf(Number number) {
  if (number == Number::float32) return 4;
  return number == Number::float16 ? 2 : 1;
}

int channelsOf(const Target& target) { return target.channels == Channels::gray ? 1 : 3; }

std::size_t targetBytes(const Target& target, int width, int height) {
  return static_cast<std::size_t>(channelsOf(target)) * static_cast<std::size_t>(width) *
         static_cast<std::size_t>(height) * bytesOf(target.number);
}

Writer::Writer(const Target& target, int width, int height)
    : target_(target), width_(static_cast<std::size_t>(width)), height_(static_cast<std::size_t>(height)) {
  planes_.resize(3 * width_);
  bytes_.resize(width_ * 3 * 4);
}

void Writer::write(int y) {
  const bool gray = target_.channels == Channels::gray;
  if (gray && (target_.rounded || target_.number == Number::uint8))
    toWholeGray();
  else if (gray)
    toGray();
  else if (target_.rounded)
    round();
  const int channels = channelsOf(target_);
  const std::size_t plane = height_ * width_, row = static_cast<std::size_t>(y) * width_;
  for (int place = 0; place < channels; ++place) {
    const auto number = static_cast<std::size_t>(place);
    const int channel = target_.channels == Channels::bgr ? 2 - place : place;
    uint8_t* const to = target_.planar ? output() + (number * plane + row) * bytesOf(target_.number)
                                       : bytes_.data() + number * width_ * 4;
    store(this->plane(channel), target_.scale[channel], target_.mean[channel], to);
  }
  if (!target_.planar) interleave(y, channels);
}

void Writer::toGray() {
  float* const red = plane(0);
  const float *const green = plane(1), *const blue = plane(2);
  for (std::size_t i = 0; i < width_; ++i) red[i] = 0.299f * red[i] + 0.587f * green[i] + 0.114f * blue[i];
}

// As PIL's convert('L').
void Writer::toWholeGray() {
  kernels().toByte(planes_.data(), bytes_.data(), 3 * width_);
  const uint8_t *const red = bytes_.data(), *const green = red + width_, *const blue = green + width_;
  float* const out = plane(0);
  for (std::size_t i = 0; i < width_; ++i) {
    const uint32_t sum = 19595u * red[i] + 38470u * green[i] + 7471u * blue[i] + 32768u;
    out[i] = static_cast<float>(static_cast<int32_t>(sum >> 16));
  }
}

void Writer::round() {
  const std::size_t length = 3 * width_;
  kernels().toByte(planes_.data(), bytes_.data(), length);
  std::copy_n(bytes_.data(), length, planes_.data());
}

void Writer::store(const float* values, float scale, float mean, uint8_t* to) {
  switch (target_.number) {
    case Number::float32:
      return kernels().toFloat(values, scale, mean, reinterpret_cast<float*>(to), width_);
    case Number::float16:
      return kernels().toHalf(values, scale, mean, reinterpret_cast<uint16_t*>(to), width_);
    case Number::uint8:
      return kernels().toByte(values, to, width_);
  }
}

void Writer::interleave(int y, int channels) {
  const std::size_t row = static_cast<std::size_t>(y) * width_ * static_cast<std::size_t>(channels);
  switch (target_.number) {
    case Number::float32:
      return interleaveAs<float>(row, channels);
    case Number::float16:
      return interleaveAs<uint16_t>(row, channels);
    case Number::uint8: {
      if (channels == 1) return interleaveAs<uint8_t>(row, channels);
      const uint8_t* const planes[3] = {bytes_.data(), bytes_.data() + width_ * 4, bytes_.data() + width_ * 8};
      return kernels().interleave(planes, output() + row, width_);
    }
  }
}

template <class T>
void Writer::interleaveAs(std::size_t row, int channels) {
  T* __restrict to = reinterpret_cast<T*>(output()) + row;
  const auto* const first = reinterpret_cast<const T*>(bytes_.data());
  if (channels == 1) {
    std::copy_n(first, width_, to);
    return;
  }
  const auto* const second = reinterpret_cast<const T*>(bytes_.data() + width_ * 4);
  const auto* const third = reinterpret_cast<const T*>(bytes_.data() + width_ * 8);
  for (std::size_t i = 0; i < width_; ++i, to += 3) {
    to[0] = first[i];
    to[1] = second[i];
    to[2] = third[i];
  }
}

}  // namespace nt::vision
