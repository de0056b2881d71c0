// nvinfer1::IVersionedInterface, as far as we are the ones who are called.
#pragma once

#include "abi.h"

namespace nt::tensorrt {

// Its entries come first in the tables of the interfaces that derive from it: kind "IName", version 1.0, written in
// C++.
class Versioned {
 public:
  explicit Versioned(const char* kind) : kind_(kind) {}
  virtual int32_t getAPILanguage() const noexcept { return 0; }
  virtual InterfaceInfo getInterfaceInfo() const noexcept { return {kind_, 1, 0}; }
  virtual ~Versioned() = default;

 private:
  const char* kind_;
};

// Instead of it, for an interface that has no version: TensorRT 10's.
struct Unversioned {
  explicit Unversioned(const char*) {}
};

}  // namespace nt::tensorrt
