// An open file of the system, closed with its owner.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace nt {

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  operator int() const noexcept { return number_; }

 private:
  int number_;
};

// Reads on until that much is there or the file ends: how much it is; -1 (errno says why) where it can't be read.
inline ssize_t readAll(int file, void* into, std::size_t size) noexcept {
  std::size_t had = 0;
  while (had < size) {
    const ssize_t got = ::read(file, static_cast<char*>(into) + had, size - had);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) return -1;
    if (got > 0) had += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(had);
}

}  // namespace nt
