// Work on pixels that are JavaScript's: read and written where they lie, on a thread of its own or at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "functions.h"

namespace nt::node {

// Of pixels, or anything else, along a side of what a job is about.
inline constexpr int64_t kMostAlong = int64_t{1} << 24;

class PixelWork {
 public:
  explicit PixelWork(Napi::Env env) : env_(env) {}

  struct View {
    uint8_t* data = nullptr;
    std::size_t size = 0;  // bytes
  };
  // A typed array's bytes. The array is kept until the work is done; whoever transfers its buffer meanwhile takes the
  // memory away, as with Node's own asynchronous calls; a video's frame may be closed. Throws ERR_TRT_INVALID_ARGUMENT,
  // of a detached one too.
  View view(const Napi::Value& value, const char* name);

  // As many elements of an object's typed array as are asked for, at least. Throws the same.
  template <class T>
  T* array(const Napi::Object& object, const char* key, std::size_t count) {
    const View bytes = view(object.Get(key), key);
    if (bytes.size / sizeof(T) < count) throwExpected(std::to_string(count) + " elements in " + key);
    return reinterpret_cast<T*>(bytes.data);
  }

  // The promise of what `finish` makes of it, which may be empty: undefined.
  Napi::Value run(std::function<void()> work, std::function<Napi::Value(Napi::Env)> finish = {});
  // The same at once, without a promise, where `sync`.
  Napi::Value run(bool sync, std::function<void()> work, std::function<Napi::Value(Napi::Env)> finish = {});

 private:
  Napi::Env env_;
  std::vector<Napi::Object> views_;
  std::vector<std::shared_ptr<void>> frames_;
};

}  // namespace nt::node
