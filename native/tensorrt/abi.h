// TensorRT's binary interface: the few types that cross it, laid out as the library has them.
#pragma once

#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "TensorRT is called through Itanium C++ virtual tables: Linux on x64 or arm64 only"
#endif

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nt::tensorrt {

// nvinfer1::Dims64
struct Dims {
  static constexpr int32_t kMax = 8;
  int32_t count = 0;
  int64_t d[kMax] = {};

  Dims() = default;
  explicit Dims(const std::vector<int64_t>& shape) : count(static_cast<int32_t>(shape.size())) {
    for (std::size_t i = 0; i < shape.size() && i < kMax; ++i) d[i] = shape[i];
  }
  // A negative count is the library's way to say "no such tensor".
  bool valid() const noexcept { return count >= 0 && count <= kMax; }
  std::vector<int64_t> vector() const { return valid() ? std::vector<int64_t>(d, d + count) : std::vector<int64_t>(); }
};
static_assert(sizeof(Dims) == 72 && offsetof(Dims, d) == 8);

// nvinfer1::Weights: elements of a DataType's number that somebody else owns
struct Weights {
  int32_t type = 0;
  const void* values = nullptr;
  int64_t count = 0;
};
static_assert(sizeof(Weights) == 24 && offsetof(Weights, count) == 16);

// nvinfer1::InterfaceInfo
struct InterfaceInfo {
  const char* kind;
  int32_t major;
  int32_t minor;
};

// Libraries of one family lay their virtual tables out alike. TensorRT-RTX does not keep its tables from minor to
// minor.
enum class Family : uint8_t { trt10, trt11, rtx15, rtx16, rtx17 };
inline constexpr std::size_t kFamilies = 5;
inline constexpr std::array<const char*, kFamilies> kFamilyNames{"trt10", "trt11", "rtx1.5", "rtx1.6", "rtx1.7"};

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;

  // getInferLibVersion() of every library read here: major · 10000 + minor · 100 + patch.
  static Version fromNumber(int number) { return {number / 10000, number / 100 % 100, number % 100}; }
  auto operator<=>(const Version&) const = default;
  std::string text() const { return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch); }
};

}  // namespace nt::tensorrt
