// The registry of plugins that a runtime and a builder have, each its own.
#pragma once
#include <set>

#include "common.h"

namespace fake {

class PluginRegistry final : public IPluginRegistry {
 public:
  explicit PluginRegistry(const Journal& journal);
  ~PluginRegistry();
  void* loadLibrary(char const* path) noexcept;
  bool has(const std::string& plugin) const;
  int loaded() const { return static_cast<int>(libraries_.size()); }

 private:
  const Journal journal_;
  std::map<void*, std::set<std::string>> libraries_;  // and the names of their plugins
};

}  // namespace fake
