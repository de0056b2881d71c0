// Builder configuration, optimization profile: they remember what they were told, for tests to read.
#pragma once
#include <cstring>
#include <set>
#include <sstream>

#include "engine.h"
#include "timing.h"

namespace fake {

struct OptimizationProfile final : apiv::VOptimizationProfile {
  ILogger* logger;
  std::map<std::string, std::map<int, Shape>> dims, values;
  std::map<std::string, std::vector<std::int32_t>> narrow;
  float target = 1;
  explicit OptimizationProfile(ILogger* l) : logger(l) {}

  bool setDimensions(char const* name, OptProfileSelector select, Dims const& d) noexcept {
    METHOD("VOptimizationProfile.setDimensions");
    if (fail_ || !name || d.nbDims < 0 || d.nbDims > 8) return false;
    for (int i = 0; i < d.nbDims; ++i)
      if (d.d[i] < 0)
        return logError(logger, std::string("IOptimizationProfile::setDimensions: Error Code 3: API Usage Error "
                                            "(Parameter check failed, condition: dims >= 0 for ") +
                                    name + ")"),
               false;
    dims[name][static_cast<int>(select)] = fromDims(d);
    const auto& all = dims[name];
    // The order must be kept as soon as two are known.
    for (auto low = all.begin(); low != all.end(); ++low)
      for (auto high = std::next(low); high != all.end(); ++high)
        for (std::size_t i = 0; i < low->second.size() && i < high->second.size(); ++i)
          if (low->second[i] > high->second[i] || low->second.size() != high->second.size()) {
            logError(logger,
                     std::string("IOptimizationProfile::setDimensions: Error Code 3: API Usage Error (Parameter check "
                                 "failed, condition: std::all_of(minDims <= optDims <= maxDims) for ") +
                         name + ")");
            dims[name].erase(static_cast<int>(select));
            return false;
          }
    return true;
  }
  Dims getDimensions(char const* name, OptProfileSelector select) noexcept {
    const auto found = dims.find(name);
    if (found == dims.end() || !found->second.count(static_cast<int>(select))) return {-1, {}};
    return toDims(found->second[static_cast<int>(select)]);
  }
  bool setShapeValues(char const* name, OptProfileSelector select, int32_t const* v, int32_t n) noexcept {
    METHOD("VOptimizationProfile.setShapeValues");
    if (fail_ || !name || !v || n < 1) return false;
    values[name][static_cast<int>(select)] = Shape(v, v + n);
    return true;
  }
  int32_t getNbShapeValues(char const* name) noexcept {
    const auto found = values.find(name);
    return found == values.end() ? -1 : static_cast<int32_t>(found->second.begin()->second.size());
  }
  int32_t const* getShapeValues(char const* name, OptProfileSelector select) noexcept {
    const Shape& from = values[name][static_cast<int>(select)];
    auto& kept = narrow[std::string(name) + std::to_string(static_cast<int>(select))];
    kept.assign(from.begin(), from.end());
    return kept.data();
  }
  bool setExtraMemoryTarget(float t) noexcept { return target = t, true; }
  float getExtraMemoryTarget() noexcept { return target; }
  bool isValid() noexcept {
    METHOD("VOptimizationProfile.isValid");
    for (const auto& [name, all] : dims)
      if (all.size() != 3) return false;
    for (const auto& [name, all] : values)
      if (all.size() != 3) return false;
    return !fail_;
  }
  bool setShapeValuesV2(char const* name, OptProfileSelector select, int64_t const* v, int32_t n) noexcept {
    METHOD("VOptimizationProfile.setShapeValuesV2");
    if (fail_ || !name || !v || n < 1) return false;
    values[name][static_cast<int>(select)] = Shape(v, v + n);
    return true;
  }
  int64_t const* getShapeValuesV2(char const* name, OptProfileSelector select) noexcept {
    return values[name][static_cast<int>(select)].data();
  }
};

#define REMEMBER(TYPE, NAME, START)                     \
  TYPE NAME##_ = START;                                 \
  void set##NAME(TYPE value) noexcept {                 \
    METHOD("VBuilderConfig.set" #NAME);                 \
    NAME##_ = value;                                    \
    record("set" #NAME, static_cast<long long>(value)); \
  }                                                     \
  TYPE get##NAME() noexcept { return NAME##_; }
#define REMEMBER_OK(TYPE, NAME, START)                  \
  TYPE NAME##_ = START;                                 \
  bool set##NAME(TYPE value) noexcept {                 \
    METHOD("VBuilderConfig.set" #NAME);                 \
    NAME##_ = value;                                    \
    record("set" #NAME, static_cast<long long>(value)); \
    return !fail_;                                      \
  }                                                     \
  TYPE get##NAME() noexcept { return NAME##_; }

// As above, for numbers of an enumeration: those that the version lacks are refused, and the old value stays.
#define REMEMBER_ENUM(TYPE, START)                                                 \
  TYPE TYPE##_ = START;                                                            \
  void set##TYPE(TYPE value) noexcept {                                            \
    METHOD("VBuilderConfig.set" #TYPE);                                            \
    if (!knows(#TYPE, static_cast<int>(value)))                                    \
      return logError(logger, "IBuilderConfig::set" #TYPE ": no such enumerator"); \
    TYPE##_ = value;                                                               \
    record("set" #TYPE, static_cast<long long>(value));                            \
  }                                                                                \
  TYPE get##TYPE() noexcept { return TYPE##_; }
// And for counts that have a least value.
#define REMEMBER_COUNT(RESULT, NAME, START, LEAST)                              \
  int32_t NAME##_ = START;                                                      \
  RESULT set##NAME(int32_t value) noexcept {                                    \
    METHOD("VBuilderConfig.set" #NAME);                                         \
    const bool fits = value >= (LEAST) && !fail_;                               \
    if (fits)                                                                   \
      NAME##_ = value, record("set" #NAME, value);                              \
    else                                                                        \
      logError(logger, "IBuilderConfig::set" #NAME ": Parameter check failed"); \
    return static_cast<RESULT>(fits);                                           \
  }                                                                             \
  int32_t get##NAME() noexcept { return NAME##_; }

struct Config final : apiv::VBuilderConfig, Counted {
  ILogger* logger;
  std::map<std::string, std::string> recorded;  // setter → its last argument
  std::vector<IOptimizationProfile const*> profiles;
  BuilderFlags flags = 1u << static_cast<int>(BuilderFlag::kTF32);  // as in the real one
  std::map<int, std::size_t> pools;
#if FAMILY == 17
  std::map<int, bool> previews{{ static_cast<int>(PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10), true }};
#else
  std::map<int, bool> previews;
#endif
  IProgressMonitor* monitor = nullptr;
  ITimingCache const* cache = nullptr;
  IInt8Calibrator* calibrator = nullptr;
  IOptimizationProfile const* calibration = nullptr;
  cudaStream_t stream = nullptr;
  std::shared_ptr<void> builder;  // lives as long as the builder that made this, at least

  explicit Config(ILogger* l) : Counted(kConfigs), logger(l) {}
  void record(const std::string& name, long long value) { recorded[name] = std::to_string(value); }
  std::string json(const std::map<std::string, long long>& more) const {
    std::ostringstream out;
    out << "{\"flags\":" << flags << ",\"profiles\":" << profiles.size();
    for (const auto& [name, value] : more) out << ',' << quoted(name) << ':' << value;
    for (const auto& [name, value] : recorded) out << ',' << quoted(name) << ':' << value;
    out << '}';
    return out.str();
  }

  REMEMBER_COUNT(void, AvgTimingIterations, 1, 1)
  REMEMBER(EngineCapability, EngineCapability, nvinfer1::EngineCapability::kSTANDARD)
  REMEMBER(int32_t, DLACore, 0)
  REMEMBER(DeviceType, DefaultDeviceType, DeviceType::kGPU)
  REMEMBER_ENUM(ProfilingVerbosity, nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY)
  REMEMBER_COUNT(void, BuilderOptimizationLevel, 3, 0)
  REMEMBER_ENUM(HardwareCompatibilityLevel, nvinfer1::HardwareCompatibilityLevel::kNONE)
#if FAMILY == 17
  // TensorRT-RTX builds for the system that it is on, and does not say that it takes no other
  void setRuntimePlatform(RuntimePlatform) noexcept { METHOD("VBuilderConfig.setRuntimePlatform"); }
  RuntimePlatform getRuntimePlatform() noexcept { return nvinfer1::RuntimePlatform::kSAME_AS_BUILD; }
#else
  REMEMBER_ENUM(RuntimePlatform, nvinfer1::RuntimePlatform::kSAME_AS_BUILD)
#endif
  REMEMBER_COUNT(void, MaxNbTactics, -1, -1)
  REMEMBER_OK(TilingOptimizationLevel, TilingOptimizationLevel, nvinfer1::TilingOptimizationLevel::kNONE)
  REMEMBER_OK(int64_t, L2LimitForTiling, 0)
#if FAMILY == 10
  REMEMBER_COUNT(void, MaxAuxStreams, -1, 0)
#else
  REMEMBER_COUNT(bool, MaxAuxStreams, -1, 0)
#endif

#if FAMILY == 17
  std::vector<ComputeCapability> capabilities;
  bool setNbComputeCapabilities(int32_t count) noexcept {
    METHOD("VBuilderConfig.setNbComputeCapabilities");
    return !fail_ && count >= 0 && (capabilities.resize(static_cast<std::size_t>(count)), true);
  }
  int32_t getNbComputeCapabilities() noexcept { return static_cast<int32_t>(capabilities.size()); }
  bool setComputeCapability(ComputeCapability capability, int32_t i) noexcept {
    METHOD("VBuilderConfig.setComputeCapability");
    return !fail_ && i >= 0 && i < getNbComputeCapabilities() &&
           (capabilities[static_cast<std::size_t>(i)] = capability, true);
  }
  ComputeCapability getComputeCapability(int32_t i) noexcept { return capabilities[static_cast<std::size_t>(i)]; }
#endif

  // By default those that load no library.
  static constexpr TacticSources standardSources() {
    return 1u << static_cast<int>(TacticSource::kEDGE_MASK_CONVOLUTIONS) |
           1u << static_cast<int>(TacticSource::kJIT_CONVOLUTIONS);
  }
  TacticSources sources = standardSources();
  bool setTacticSources(TacticSources wanted) noexcept {
    METHOD("VBuilderConfig.setTacticSources");
    for (int bit = 0; bit < 32; ++bit)
      if ((wanted >> bit & 1) && !knows("TacticSource", bit)) return false;
    if (fail_) return false;
    sources = wanted;
    record("setTacticSources", wanted);
    return true;
  }
  TacticSources getTacticSources() noexcept { return sources; }
  std::vector<std::string> plugins;
  void setPluginsToSerialize(char const* const* paths, int32_t count) noexcept {
    METHOD("VBuilderConfig.setPluginsToSerialize");
    plugins.assign(paths, paths + count);
    record("setPluginsToSerialize", count);
  }
  char const* getPluginToSerialize(int32_t i) noexcept { return plugins[static_cast<std::size_t>(i)].c_str(); }
  int32_t getNbPluginsToSerialize() noexcept { return static_cast<int32_t>(plugins.size()); }

  void setFlags(BuilderFlags f) noexcept {
    METHOD("VBuilderConfig.setFlags");
    flags = f;
  }
  BuilderFlags getFlags() noexcept { return flags; }
  void setFlag(BuilderFlag f) noexcept {
    METHOD("VBuilderConfig.setFlag");
    if (fail_ || !knows("BuilderFlag", static_cast<int>(f)))
      return logError(logger, "IBuilderConfig::setFlag: Parameter check failed");
    flags |= 1u << static_cast<int>(f);
  }
  void clearFlag(BuilderFlag f) noexcept {
    METHOD("VBuilderConfig.clearFlag");
    flags &= ~(1u << static_cast<int>(f));
  }
  bool getFlag(BuilderFlag f) noexcept {
    METHOD("VBuilderConfig.getFlag");
    return flags >> static_cast<int>(f) & 1;
  }
  bool has(BuilderFlag f) const { return flags >> static_cast<int>(f) & 1; }
  // Those that change what is measured.
  BuilderFlags tacticFlags() const {
    return flags & ~(1u << static_cast<int>(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS) |
                     1u << static_cast<int>(BuilderFlag::kEDITABLE_TIMING_CACHE));
  }
  void reset() noexcept { recorded.clear(), profiles.clear(), flags = 0; }
  void setInt8Calibrator(IInt8Calibrator* c) noexcept {
    METHOD("VBuilderConfig.setInt8Calibrator");
    calibrator = c, record("setInt8Calibrator", c != nullptr);
  }
  IInt8Calibrator* getInt8Calibrator() noexcept { return calibrator; }
  void setProfileStream(cudaStream_t s) noexcept { stream = s; }
  cudaStream_t getProfileStream() noexcept { return stream; }
  int32_t addOptimizationProfile(IOptimizationProfile const* profile) noexcept {
    METHOD("VBuilderConfig.addOptimizationProfile");
    if (fail_ || !profile) return -1;
    profiles.push_back(profile);
    return static_cast<int32_t>(profiles.size()) - 1;
  }
  int32_t getNbOptimizationProfiles() noexcept { return static_cast<int32_t>(profiles.size()); }
  bool setCalibrationProfile(IOptimizationProfile const* profile) noexcept {
    METHOD("VBuilderConfig.setCalibrationProfile");
    if (fail_) return false;
    calibration = profile;
    return true;
  }
  IOptimizationProfile const* getCalibrationProfile() noexcept { return calibration; }
  ITimingCache* createTimingCache(void const* blob, std::size_t size) noexcept {
    METHOD("VBuilderConfig.createTimingCache");
    auto made = std::make_unique<TimingCache>(logger);
    if (fail_ || (size > 0 && !made->read(std::string(static_cast<const char*>(blob), size)))) {
      logError(logger, "IBuilderConfig::createTimingCache: Error Code 4: Internal Error (the timing cache is damaged)");
      return nullptr;
    }
    return new Public<ITimingCache>(made.release(), "VTimingCache");
  }
  bool setTimingCache(ITimingCache const& c, bool ignoreMismatch) noexcept {
    METHOD("VBuilderConfig.setTimingCache");
    TimingCache* given = timingCache(&c);
    if (const auto wrong = TimingCache(logger).against(*given, ignoreMismatch); fail_ || !wrong.empty())
      return logError(logger, "IBuilderConfig::setTimingCache: Error Code 4: Internal Error (" + wrong + ")"), false;
    given->users.push_back(builder);
    cache = &c;
    record("setTimingCache", ignoreMismatch ? 2 : 1);
    return true;
  }
  static TimingCache* timingCache(ITimingCache const* c) {
    return c ? implementation<ITimingCache const, TimingCache>(c) : nullptr;
  }
  ITimingCache const* getTimingCache() noexcept { return cache; }
  void setMemoryPoolLimit(MemoryPoolType pool, std::size_t size) noexcept {
    METHOD("VBuilderConfig.setMemoryPoolLimit");
    if (fail_ || !knows("MemoryPoolType", static_cast<int>(pool)))
      return logError(logger, "IBuilderConfig::setMemoryPoolLimit: Parameter check failed");
    pools[static_cast<int>(pool)] = size;
    record("setMemoryPoolLimit." + std::to_string(static_cast<int>(pool)), static_cast<long long>(size));
  }
  std::size_t getMemoryPoolLimit(MemoryPoolType pool) noexcept {
    const auto found = pools.find(static_cast<int>(pool));
    return found == pools.end() ? std::size_t{1} << 30 : found->second;
  }
  void setPreviewFeature(PreviewFeature feature, bool on) noexcept {
    METHOD("VBuilderConfig.setPreviewFeature");
    if (fail_ || !knows("PreviewFeature", static_cast<int>(feature)))
      return logError(logger, "IBuilderConfig::setPreviewFeature: Parameter check failed");
    previews[static_cast<int>(feature)] = on;
    record("setPreviewFeature." + std::to_string(static_cast<int>(feature)), on);
  }
  bool getPreviewFeature(PreviewFeature feature) noexcept { return previews[static_cast<int>(feature)]; }
  void setProgressMonitor(IProgressMonitor* m) noexcept {
    METHOD("VBuilderConfig.setProgressMonitor");
    if (m && std::strcmp(m->getInterfaceInfo().kind, "IProgressMonitor")) misused("wrongInterface");
    monitor = m;
  }
  IProgressMonitor* getProgressMonitor() noexcept { return monitor; }
};

}  // namespace fake
