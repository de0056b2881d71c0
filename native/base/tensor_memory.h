// Tensors that stay where they were computed: on a GPU, or on the CPU in memory of the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "host_pool.h"

namespace nt {

// The memory of one device for such tensors. Leaked on purpose: finalizers give back to it at any time.
class TensorMemory {
 public:
  virtual ~TensorMemory() = default;
  // Of the CPU.
  static TensorMemory& ordinary();

  // The number of the GPU; -1 for the CPU.
  virtual int device() const noexcept = 0;
  // At least `bytes`, given back when the last owner lets go, on any thread. May wait for the device: not for
  // JavaScript's thread. Throws ERR_TRT_OUT_OF_MEMORY, ERR_TRT_DEVICE_LOST.
  virtual std::shared_ptr<uint8_t> acquire(std::size_t bytes) = 0;
  // Copies that have ended when they return; the fastest where `host` is memory of hostPool(). Throw
  // ERR_TRT_DEVICE_LOST.
  virtual void read(uint8_t* host, const uint8_t* data, std::size_t bytes) = 0;
  virtual void write(uint8_t* data, const uint8_t* host, std::size_t bytes) = 0;
  virtual HostPool& hostPool() const noexcept = 0;

  // Bytes of tensors that are there, and of memory that is kept for later ones.
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  virtual std::size_t kept() const noexcept { return 0; }

  // More is kept than should be, and nobody is about to give it back: whoever gets true calls trim() soon, on a thread
  // that may wait.
  virtual bool mayTrim() noexcept { return false; }
  virtual void trim() noexcept {}

  // What keeps memory for an engine that may want it again. Without one nothing is kept.
  class User {
   public:
    explicit User(TensorMemory& memory) : memory_(memory) { memory_.join(); }
    ~User() { memory_.leave(); }
    User(const User&) = delete;
    User& operator=(const User&) = delete;

   private:
    TensorMemory& memory_;
  };

 private:
  friend class Resident;
  virtual void join() noexcept {}
  virtual void leave() noexcept {}
  std::atomic<std::size_t> used_{0};
};

// The bytes of one tensor that stays. Shared by all who use them; who writes them does so alone.
class Resident {
 public:
  // `data` is kept by `owner`.
  Resident(TensorMemory& memory, std::shared_ptr<void> owner, uint8_t* data, std::size_t size) noexcept;
  ~Resident();
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;
  // In memory of its own, as acquire() throws.
  static std::shared_ptr<Resident> make(TensorMemory& memory, std::size_t size);

  TensorMemory& memory() const noexcept { return memory_; }
  bool onGpu() const noexcept { return memory_.device() >= 0; }
  uint8_t* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

  // Keep it until they are let go: any number reads, or one writes. Throw ERR_TRT_BUFFER_IN_USE.
  static std::shared_ptr<void> leaseToRead(const std::shared_ptr<Resident>& resident);
  static std::shared_ptr<void> leaseToWrite(const std::shared_ptr<Resident>& resident);

 private:
  TensorMemory& memory_;
  const std::shared_ptr<void> owner_;
  uint8_t* const data_;
  const std::size_t size_;
  std::atomic<int> readers_{0};  // -1: one writes
};

}  // namespace nt
