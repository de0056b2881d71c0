// How contexts are made; of TensorRT-RTX also what it compiled for them.
#pragma once
#include <set>

#include "engine.h"

namespace fake {

// What a runtime cache holds. Contexts and configurations only refer to the cache, as those of the real one do, so its
// content stays, and whether they may still use it is counted.
struct Kernels {
  std::mutex mutex;
  std::set<std::uint64_t> known;
  std::atomic<int> contexts{0};
  std::atomic<bool> freed{false};

  bool has(std::uint64_t kernel) {
    std::lock_guard lock(mutex);
    return known.count(kernel) > 0;
  }
  void add(std::uint64_t kernel) {
    std::lock_guard lock(mutex);
    known.insert(kernel);
  }
};

// What a context has of its configuration.
struct Jit {
  const std::shared_ptr<Kernels> kernels;  // null: without a cache
  const std::shared_ptr<std::atomic<int>> configContexts;

  Jit(std::shared_ptr<Kernels> k, std::shared_ptr<std::atomic<int>> c)
      : kernels(std::move(k)), configContexts(std::move(c)) {
    ++*configContexts;
    if (kernels) ++kernels->contexts;
  }
  Jit(const Jit&) = delete;
  ~Jit() {
    --*configContexts;
    if (kernels) --kernels->contexts;
  }
  // What is compiled besides once new shapes are enqueued: nobody waits for it.
  void specialize(const std::string& plan, const Shapes& inputs);
};

// Waits as long as it takes to compile for a context of that plan, unless its cache has that already.
void compileFor(const std::string& plan, Jit* jit);

}  // namespace fake
