// An open file of the system, closed with its owner.
#pragma once

#include <unistd.h>

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

}  // namespace nt
