// The fake timing cache, and the choice of tactics that fills it.
//
// Serialized: "ftrt-cache VERSION DEVICE HASH\n", then a line "LAYER TACTIC MILLISECONDS" for each that was measured,
// in order; HASH is the FNV-1a of those lines. As with the real one: what is damaged cannot be read, another version's
// cannot be used, another device's can only where the mismatch is ignored.
#pragma once
#include <chrono>
#include <sstream>
#include <thread>

#include "engine.h"

namespace fake {

struct TimingCache final : apiv::VTimingCache, Counted {
  ILogger* logger;
  std::string version, device;
  std::mutex mutex;
  std::map<std::string, std::string> entries;  // layer → "TACTIC MILLISECONDS"
  std::vector<std::weak_ptr<void>> users;      // the builders that were given it

  explicit TimingCache(ILogger* l) : Counted(kTimingCaches), logger(l) {
    std::lock_guard lock(library().mutex);
    const Version& own = library().version;
    version = std::to_string(own.major) + "." + std::to_string(own.minor) + "." + std::to_string(own.patch);
    device = library().settings.device;
  }
  ~TimingCache() {
    for (const auto& user : users)
      if (!user.expired()) misused("timingCacheDestroyedBeforeBuilder");
  }

  static std::string hash(const std::string& text) {
    std::uint64_t value = 14695981039346656037ull;
    for (const unsigned char c : text) value = (value ^ c) * 1099511628211ull;
    std::ostringstream out;
    out << std::hex << value;
    return out.str();
  }
  std::string lines() const {
    std::string out;
    for (const auto& [layer, value] : entries) out += layer + ' ' + value + '\n';
    return out;
  }
  bool read(const std::string& bytes) {
    std::istringstream in(bytes);
    std::string head, magic, expected, layer, value;
    std::getline(in, head);
    std::istringstream words(head);
    if (!(words >> magic >> version >> device >> expected) || magic != "ftrt-cache") return false;
    const std::string body = bytes.substr(std::min(bytes.size(), head.size() + 1));
    if (hash(body) != expected) return false;
    while (in >> layer && std::getline(in >> std::ws, value)) entries[layer] = value;
    return true;
  }
  // Empty, or why this cannot be used together with the other.
  std::string against(const TimingCache& other, bool ignoreMismatch) const {
    if (version != other.version) return "the timing cache is of TensorRT " + other.version + ", this is " + version;
    if (device != other.device && !ignoreMismatch)
      return "the timing cache is of the device " + other.device + ", this is " + device;
    return "";
  }

  IHostMemory* serialize() noexcept {
    METHOD("VTimingCache.serialize");
    std::lock_guard lock(mutex);
    const std::string body = lines();
    return fail_ ? nullptr : hostMemory("ftrt-cache " + version + ' ' + device + ' ' + hash(body) + '\n' + body);
  }
  bool combine(ITimingCache const& from, bool ignoreMismatch) noexcept {
    METHOD("VTimingCache.combine");
    TimingCache& other = *implementation<ITimingCache const, TimingCache>(&from);
    if (const auto wrong = against(other, ignoreMismatch); fail_ || !wrong.empty())
      return logError(logger, "ITimingCache::combine: Error Code 4: Internal Error (" + wrong + ")"), false;
    if (&other == this) return true;
    std::scoped_lock lock(mutex, other.mutex);
    entries.insert(other.entries.begin(), other.entries.end());  // what is here already stays
    return true;
  }
  bool reset() noexcept {
    std::lock_guard lock(mutex);
    return entries.clear(), true;
  }
};

// Looks up each layer at each profile's best shapes; what is missing is measured, which takes its time. Empty, or why
// not.
inline std::string chooseTactics(const Program& program, const std::string& settings, TimingCache* cache,
                                 bool errorOnMiss) {
  double milliseconds;
  {
    std::lock_guard lock(library().mutex);
    milliseconds = library().settings.timingMs;
  }
  std::map<std::string, std::string> local;
  for (const auto& profile : program.profiles) {
    Shapes inputs, all;
    for (const auto& port : program.ports)
      if (port.input) inputs[port.name] = profile.dims.count(port.name) ? profile.dims.at(port.name).opt : port.shape;
    inferShapes(program, inputs, {}, &all);
    for (const auto& op : program.ops) {
      std::string layer = op.type + ";" + settings;
      for (const auto& [key, value] : op.attributes) layer += ";" + key + ":" + value;
      for (const auto& name : op.inputs) {
        layer += ";";
        for (const auto extent : all[name]) layer += std::to_string(extent) + "x";
      }
      layer = encodeName(layer);
      {
        std::unique_lock lock = cache ? std::unique_lock(cache->mutex) : std::unique_lock<std::mutex>();
        auto& entries = cache ? cache->entries : local;
        if (entries.count(layer)) {
          ++library().timingHits;
          continue;
        }
      }
      ++library().timingMisses;
      if (errorOnMiss) return "the timing cache has no entry for " + layer + ", and that is an error here";
      if (milliseconds > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
      const std::string tactic = TimingCache::hash(layer);
      std::unique_lock lock = cache ? std::unique_lock(cache->mutex) : std::unique_lock<std::mutex>();
      (cache ? cache->entries : local)[layer] = tactic + " 0." + std::to_string(tactic.back() % 10);
    }
  }
  return "";
}

}  // namespace fake
