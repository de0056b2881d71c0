// One object for each key, made when it is first asked for. None is freed: threads may need them to the very end of the
// process, so a OnePer itself is leaked too.
#pragma once

#include <map>
#include <mutex>

namespace nt {

template <class Key, class Value>
class OnePer {
 public:
  // `make` gives a pointer with new. Threads that ask at once get the same.
  template <class Make>
  Value& of(const Key& key, Make make) {
    const std::lock_guard lock(mutex_);
    Value*& value = values_[key];
    if (value == nullptr) value = make();
    return *value;
  }

 private:
  std::mutex mutex_;
  std::map<Key, Value*> values_;
};

}  // namespace nt
