// Device memory that one engine holds, and how much it may hold.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace nt::cuda {

// What an engine may take, as its options say.
struct Limits {
  Limits(std::size_t memory = 0) noexcept : memory(memory) {}
  std::size_t memory;  // bytes of device memory; 0: as much as there is
};

class Account {
 public:
  // `whole`: the account of which this is a part, and which is charged too.
  explicit Account(Limits limits = {}, std::shared_ptr<Account> whole = nullptr) noexcept
      : limits_(limits), whole_(std::move(whole)) {}
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  // Throws ERR_TRT_OUT_OF_MEMORY, which says what would be needed, where that is more than the limit; then nothing is
  // charged.
  void charge(std::size_t bytes);
  // The same, and false where charge() throws.
  bool tryCharge(std::size_t bytes) noexcept;
  void release(std::size_t bytes) noexcept {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    if (whole_) whole_->release(bytes);
  }
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::size_t limit() const noexcept { return limits_.memory; }

 private:
  bool tryChargeAlone(std::size_t bytes) noexcept;

  const Limits limits_;
  const std::shared_ptr<Account> whole_;
  std::atomic<std::size_t> used_{0};
};

// For whom the calling thread works: what TensorRT allocates meanwhile is charged to this account.
class AccountScope {
 public:
  explicit AccountScope(std::shared_ptr<Account> account) noexcept;
  ~AccountScope();
  AccountScope(const AccountScope&) = delete;
  AccountScope& operator=(const AccountScope&) = delete;
  // Of the innermost scope of this thread; null outside of all.
  static std::shared_ptr<Account> current() noexcept;

 private:
  const std::shared_ptr<Account> own_;
  const std::shared_ptr<Account>* const before_;
};

}  // namespace nt::cuda
