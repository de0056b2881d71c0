// Bytes that come in pieces, read one by one or many at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nt::video {

class Bytes {
 public:
  virtual ~Bytes() = default;

  // -1 at the end.
  int next() {
    if (at_ == end_ && !fill(nullptr, 0)) return -1;
    return buffer_[at_++];
  }

  // How many there were: fewer than asked for at the end only.
  std::size_t read(uint8_t* into, std::size_t size) {
    std::size_t had = size < end_ - at_ ? size : end_ - at_;
    if (had > 0) std::memcpy(into, buffer_.data() + at_, had);
    at_ += had;
    while (had < size) {
      const std::size_t got = fill(into + had, size - had);
      if (got == 0) break;
      had += got;
    }
    return had;
  }

 protected:
  // Waits for some bytes, into `first` and, once that is full, into `second`: how many; 0 at the end. Throws what it
  // likes.
  virtual std::size_t some(uint8_t* first, std::size_t firstSize, uint8_t* second, std::size_t secondSize) = 0;

 private:
  // What is read beyond `into` is kept. How many bytes are in `into`, or of none that was asked for, in the buffer.
  std::size_t fill(uint8_t* into, std::size_t size) {
    const std::size_t got = some(into, size, buffer_.data(), buffer_.size());
    at_ = 0;
    end_ = got > size ? got - size : 0;
    return size == 0 || got < size ? got : size;
  }

  // A frame's header takes some fifty: what is read of its pixels with it is copied once more.
  std::array<uint8_t, 256> buffer_{};
  std::size_t at_ = 0, end_ = 0;
};

}  // namespace nt::video
