// A library of plugins as IPluginRegistry::loadLibrary looks for it, with one creator (IPluginCreatorV3One, laid out as
// the facts say for every family) that nobody asks for a plugin.
#include <cstddef>
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct InterfaceInfo {
  char const* kind;
  std::int32_t major, minor;
};
struct Fields {
  std::int32_t count;
  void const* fields;
};

class Creator {
 public:
  virtual std::int32_t getAPILanguage() const noexcept { return 0; }
  virtual InterfaceInfo getInterfaceInfo() const noexcept { return {"PLUGIN CREATOR_V3ONE", 1, 0}; }
  virtual ~Creator() = default;
  virtual void* createPlugin(char const*, Fields const*, std::int32_t) noexcept { return nullptr; }
  virtual Fields const* getFieldNames() noexcept { return &none; }
  virtual char const* getPluginName() const noexcept { return "NodeTensorRTNone"; }
  virtual char const* getPluginVersion() const noexcept { return "1"; }
  virtual char const* getPluginNamespace() const noexcept { return ""; }

 private:
  Fields none{0, nullptr};
};

}  // namespace

EXPORT void* const* getCreators(std::int32_t& count) {
  static auto* creator = new Creator;
  static void* const creators[] = {creator};
  count = 1;
  return creators;
}

EXPORT void setLoggerFinder(void*) {}
