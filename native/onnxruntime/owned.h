// Owners of onnxruntime's objects.
#pragma once

#include <utility>

#include "library.h"

namespace nt::onnxruntime {

// One object, or none; released at the end through the library's own function.
template <class T, void (*Library::*Release)(T*)>
class Owned {
 public:
  explicit Owned(const Library& library, T* object = nullptr) noexcept : library_(&library), object_(object) {}
  Owned(Owned&& other) noexcept : library_(other.library_), object_(other.release()) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset(other.release());
      library_ = other.library_;
    }
    return *this;
  }
  ~Owned() { reset(); }

  T* get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  // For the parameter that a call writes its result to; what was there is released.
  T** out() noexcept {
    reset();
    return &object_;
  }
  // The object, which the caller owns from here on.
  T* release() noexcept { return std::exchange(object_, nullptr); }
  void reset(T* object = nullptr) noexcept {
    T* old = std::exchange(object_, object);
    if (old != nullptr) (library_->*Release)(old);
  }

 private:
  const Library* library_;
  T* object_;
};

using OwnedSession = Owned<OrtSession, &Library::ReleaseSession>;
using OwnedSessionOptions = Owned<OrtSessionOptions, &Library::ReleaseSessionOptions>;
using OwnedRunOptions = Owned<OrtRunOptions, &Library::ReleaseRunOptions>;
using OwnedValue = Owned<OrtValue, &Library::ReleaseValue>;
using OwnedTypeInfo = Owned<OrtTypeInfo, &Library::ReleaseTypeInfo>;
using OwnedModelMetadata = Owned<OrtModelMetadata, &Library::ReleaseModelMetadata>;
// Of GetTensorTypeAndShape; that of CastTypeInfoToTensorInfo belongs to its OrtTypeInfo.
using OwnedTensorInfo = Owned<OrtTensorTypeAndShapeInfo, &Library::ReleaseTensorTypeAndShapeInfo>;

}  // namespace nt::onnxruntime
