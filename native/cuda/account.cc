#include "account.h"

#include <string>
#include <utility>

#include "../base/error.h"

namespace nt::cuda {
namespace {

// A pointer without a destructor: the last threads of a process may end after all else did.
thread_local const std::shared_ptr<Account>* innermost = nullptr;

}  // namespace

bool Account::tryCharge(std::size_t bytes) noexcept {
  if (whole_ && !whole_->tryCharge(bytes)) return false;
  if (tryChargeAlone(bytes)) return true;
  if (whole_) whole_->release(bytes);
  return false;
}

bool Account::tryChargeAlone(std::size_t bytes) noexcept {
  std::size_t used = this->used();
  do {
    if (limits_.memory > 0 && (used > limits_.memory || bytes > limits_.memory - used)) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void Account::charge(std::size_t bytes) {
  if (whole_) whole_->charge(bytes);
  if (tryChargeAlone(bytes)) return;
  if (whole_) whole_->release(bytes);
  const std::size_t used = this->used();
  throw Error("ERR_TRT_OUT_OF_MEMORY",
              "The engine may hold " + std::to_string(limits_.memory) +
                  " bytes of device memory (memoryLimit), holds " + std::to_string(used) + " and would need " +
                  std::to_string(used + bytes),
              {{"bytes", std::to_string(bytes)}, {"needed", std::to_string(used + bytes)}});
}

AccountScope::AccountScope(std::shared_ptr<Account> account) noexcept
    : own_(std::move(account)), before_(std::exchange(innermost, &own_)) {}

AccountScope::~AccountScope() { innermost = before_; }

std::shared_ptr<Account> AccountScope::current() noexcept { return innermost == nullptr ? nullptr : *innermost; }

}  // namespace nt::cuda
