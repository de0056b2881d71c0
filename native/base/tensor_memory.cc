#include "tensor_memory.h"

#include <algorithm>
#include <cstring>

#include "error.h"

namespace nt {
namespace {

class HostTensorMemory : public TensorMemory {
 public:
  int device() const noexcept override { return -1; }
  std::shared_ptr<uint8_t> acquire(std::size_t bytes) override {
    std::shared_ptr<HostBlock> block = hostPool().acquire(bytes);
    uint8_t* data = block->data();
    return {std::move(block), data};
  }
  void read(uint8_t* host, const uint8_t* data, std::size_t bytes) override { std::copy_n(data, bytes, host); }
  void write(uint8_t* data, const uint8_t* host, std::size_t bytes) override { std::copy_n(host, bytes, data); }
  HostPool& hostPool() const noexcept override { return HostPool::ordinary(); }
};

}  // namespace

TensorMemory& TensorMemory::ordinary() {
  static auto& memory = *new HostTensorMemory;
  return memory;
}

Resident::Resident(TensorMemory& memory, std::shared_ptr<void> owner, uint8_t* data, std::size_t size) noexcept
    : memory_(memory), owner_(std::move(owner)), data_(data), size_(size) {
  memory_.used_ += size_;
}

Resident::~Resident() { memory_.used_ -= size_; }

std::shared_ptr<Resident> Resident::make(TensorMemory& memory, std::size_t size) {
  std::shared_ptr<uint8_t> owner = memory.acquire(size);
  uint8_t* data = owner.get();
  return std::make_shared<Resident>(memory, std::move(owner), data, size);
}

std::shared_ptr<void> Resident::leaseToRead(const std::shared_ptr<Resident>& resident) {
  int readers = resident->readers_.load();
  do {
    if (readers < 0) {
      throw Error("ERR_TRT_BUFFER_IN_USE",
                  "A tensor on a device is the target (into) of an inference under way: await that first");
    }
  } while (!resident->readers_.compare_exchange_weak(readers, readers + 1));
  return {resident->data_, [resident](void*) { --resident->readers_; }};
}

std::shared_ptr<void> Resident::leaseToWrite(const std::shared_ptr<Resident>& resident) {
  int none = 0;
  if (!resident->readers_.compare_exchange_strong(none, -1)) {
    throw Error("ERR_TRT_BUFFER_IN_USE",
                "A tensor on a device that is to be written (into) is in use by another inference or by toHost(): "
                "await that first");
  }
  return {resident->data_, [resident](void*) { resident->readers_ = 0; }};
}

}  // namespace nt
