// How what became of inferences reaches JavaScript: as numbers in one shared array, so that a thousand small results
// cost one call.
#pragma once

#include <napi.h>

#include <vector>

#include "../execution/completion.h"

namespace nt::node {

// Per environment; lib/backend/completions.ts is its other side.
//
// `meta` holds, for each completion: request, failed (0 or 1), number of outputs, milliseconds of queue, copy in,
// compute and copy out (negative: not measured), then for each output its place, offset or object number, bytes, rank
// and dimensions.
class CompletionPort {
 public:
  enum Place : int { notWanted = 0, small = 1, buffer = 2, target = 3, resident = 4 };

  // Inputs, or outputs, that the shared arrays have room for.
  static constexpr std::size_t kMostTensors = 1000;

  // `dims` is where lib/ writes the shapes of the inputs before a call.
  CompletionPort(Napi::Float64Array dims, Napi::Float64Array meta, Napi::ArrayBuffer scratch, Napi::Function settle);

  double* dims() const noexcept { return dimsData_; }

  // Calls settle(count, objects) until all is told. `objects` are ArrayBuffers, handles of tensors that stay, and
  // errors, by number.
  void deliver(Napi::Env env, std::vector<execution::Completion>& completions);
  // Writes one completion, for a caller that reads it itself; gives `objects`.
  Napi::Array write(Napi::Env env, execution::Completion& completion);

 private:
  bool append(Napi::Env env, execution::Completion& completion, Napi::Array& objects);
  void appendOutput(Napi::Env env, const execution::Output& output, Napi::Array& objects);
  void put(double value) { values_[used_++] = value; }
  bool fits(const execution::Completion& completion) const;
  void restart() { used_ = scratchUsed_ = 0; }

  // Up to this size a result goes through `scratch`, above it has an ArrayBuffer of its own, and from kExternal on that
  // one is the pinned memory itself: see resultBuffer().
  static constexpr std::size_t kSmall = std::size_t{32} << 10;

  Napi::Reference<Napi::Float64Array> dims_;
  Napi::Reference<Napi::Float64Array> meta_;
  Napi::Reference<Napi::ArrayBuffer> scratch_;
  Napi::FunctionReference settle_;
  double* dimsData_;
  double* values_;
  std::size_t capacity_;
  uint8_t* scratchData_;
  std::size_t scratchCapacity_;
  std::size_t used_ = 0;
  std::size_t scratchUsed_ = 0;
};

// An ArrayBuffer with these bytes: over the memory itself, which `owner` keeps, where that pays and JavaScript does not
// hold much already, else a copy. `ordinary`: it is not scarce, and its owner may keep it as long as it wants.
Napi::ArrayBuffer resultBuffer(Napi::Env env, std::shared_ptr<void> owner, uint8_t* data, std::size_t size,
                               bool ordinary = false);

}  // namespace nt::node
