// The bytes of an ONNX model, in memory or in a file. Of a file only what is looked at is read: weights are passed
// over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../base/descriptor.h"

namespace nt::building {

class ModelBytes {
 public:
  // They live longer.
  ModelBytes(const uint8_t* data, std::size_t size) noexcept : window_(data), length_(size), size_(size) {}
  // Throws ERR_TRT_FILE, later too.
  explicit ModelBytes(const std::string& path);
  ModelBytes(const ModelBytes&) = delete;
  ModelBytes& operator=(const ModelBytes&) = delete;

  uint64_t size() const noexcept { return size_; }

  // The byte at a place below size().
  uint8_t at(uint64_t place) {
    if (place - from_ >= length_) look(place);
    return window_[place - from_];
  }
  std::string text(uint64_t place, uint64_t size);

 private:
  void look(uint64_t place);

  const Descriptor file_{-1};
  const std::string path_;
  std::vector<uint8_t> buffer_;
  // what is in memory: so many bytes from a place on
  const uint8_t* window_ = nullptr;
  uint64_t from_ = 0;
  uint64_t length_ = 0;
  uint64_t size_ = 0;
};

// All bytes of a model's file. Throws ERR_TRT_FILE.
std::vector<uint8_t> readModel(const std::string& path);

}  // namespace nt::building
